"""Version 1 of the render ports."""
