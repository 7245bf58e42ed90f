"""Process plumbing and shared adapters: settings, database, storage, telemetry, auth, HTTP, shutdown."""
