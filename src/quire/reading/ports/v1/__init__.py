"""Version 1 of the ports."""
