"""Measurements of Quire beside its peers: `python -m bench.NAME [--quick]`, table first, one JSON line last."""
