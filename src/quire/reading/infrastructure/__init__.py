"""Adapters: PDFium, the jail."""
