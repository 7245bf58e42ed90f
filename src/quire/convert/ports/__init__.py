"""What conversion needs from outside."""
