"""What conversion shows of itself."""
