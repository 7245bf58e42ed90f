"""What rendering needs from outside, as Protocols with their guarantees."""
