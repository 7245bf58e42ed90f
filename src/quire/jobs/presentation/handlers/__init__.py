"""Handlers of the engine's own kinds."""
