"""Quire measured beside its peers: `python -m bench.NAME [--quick]`; a table, then one JSON line."""
