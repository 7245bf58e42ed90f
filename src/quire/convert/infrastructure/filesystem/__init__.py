"""On plain directories."""
