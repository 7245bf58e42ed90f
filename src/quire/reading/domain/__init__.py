"""The page model and what is read out of it. Pure."""
