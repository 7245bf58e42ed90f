"""Use cases of conversion."""
