"""Messages by RQ, over Redis."""
