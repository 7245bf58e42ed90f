"""Rules of conversion: pure, no IO."""
