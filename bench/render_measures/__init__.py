"""One measure of rendering a file, each `rows(field)`."""
