"""Template packs on disk."""
