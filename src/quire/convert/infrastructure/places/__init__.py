"""Over other adapters of the same port."""
