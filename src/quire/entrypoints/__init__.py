"""Where processes begin: command line, API, worker. The only place that names concrete adapters."""

import sys

# Dramatiq's and RQ's command lines add "." to the path, Dramatiq's in front. No module of ours is looked for in the
# directory that a process happens to run in.
sys.path[:] = [entry for entry in sys.path if entry not in ("", ".")]
