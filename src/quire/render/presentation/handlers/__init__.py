"""Job handlers of rendering."""
