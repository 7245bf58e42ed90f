"""Child processes of attempts."""
