"""Where processes begin: command line, API, worker. The only place that names concrete adapters."""
