"""Version 1 of the engine's ports. An incompatible change becomes v2 beside it."""
