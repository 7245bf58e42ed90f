"""The check of answers, by libxml2 behind a pipe."""
