"""One module a peer, all behind the contract in `contract.py`. Runs in the peers' own environment; never imports Quire."""
