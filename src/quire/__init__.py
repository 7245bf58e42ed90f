"""Quire: document work that must finish exactly once."""

__version__ = "0.1.0"
