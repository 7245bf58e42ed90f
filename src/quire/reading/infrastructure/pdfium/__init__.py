"""PDF through PDFium. Runs in the jail only."""
