"""How the engine is met from outside: HTTP routes and its own job handlers."""
