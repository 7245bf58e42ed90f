"""What reading needs from outside."""
