"""Adapters of conversion."""
