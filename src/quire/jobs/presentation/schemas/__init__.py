"""Shapes of the engine's HTTP API."""
