"""Templates filled by Jinja, in a child process."""
