"""Structured invoices inside PDFs: Factur-X."""
