"""Other readers of PDF. They run in the peers' environment, without Quire."""
