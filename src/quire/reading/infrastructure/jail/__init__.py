"""The jail: every document is read in a process of its own that can reach nothing and outlast nothing."""
