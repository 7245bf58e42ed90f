"""Mapping in reading's jail."""
