"""By the word of a gateway that is trusted."""
