"""Routes of conversion."""
