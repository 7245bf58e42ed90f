"""Adapters of the engine, one folder a technology."""
