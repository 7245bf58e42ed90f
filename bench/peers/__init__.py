"""One module a peer behind `contract.py`. Runs in the peers' own environment; never imports Quire."""
