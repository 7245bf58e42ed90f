"""Rules of the engine: pure, no IO."""
