"""Adapters that speak HTTP to the world outside."""
