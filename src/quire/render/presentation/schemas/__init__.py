"""What rendering takes and answers over HTTP."""
