"""PDF through qpdf. Runs in the jail only."""
