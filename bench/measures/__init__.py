"""One measure a file: what is done to each contestant, and the rows it becomes."""
