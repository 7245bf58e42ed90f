"""Job handlers of conversion."""
