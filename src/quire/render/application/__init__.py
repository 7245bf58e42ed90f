"""Use cases of rendering."""
