"""What the message systems over Redis have in common."""
