"""Other ways to print the same HTML; each is one process that prints as many documents as it is told to."""
