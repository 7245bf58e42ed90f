"""How rendering is met from outside."""
