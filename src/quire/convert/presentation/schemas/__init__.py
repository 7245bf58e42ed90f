"""What conversion takes and answers over HTTP."""
