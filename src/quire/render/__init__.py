"""HTML template → PDF. Other contexts import from here only."""
