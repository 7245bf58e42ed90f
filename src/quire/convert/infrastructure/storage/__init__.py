"""On the storage backend."""
