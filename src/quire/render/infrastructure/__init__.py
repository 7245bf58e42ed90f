"""Adapters of rendering, one folder a technology."""
