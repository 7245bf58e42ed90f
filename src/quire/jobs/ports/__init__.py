"""What the engine needs from outside, as Protocols with their guarantees."""
