"""Rules of rendering: pure, no IO."""
