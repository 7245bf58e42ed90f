"""Use cases (`verb_noun.py`) and the loops of a worker (agent nouns)."""
