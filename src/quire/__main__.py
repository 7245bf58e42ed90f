"""`python -m quire` is the `quire` command."""

import sys

if not sys.flags.safe_path:
    # `python -m` searches the directory it was started in first, and anybody may have put modules there.
    del sys.path[0]

from quire.entrypoints.cli import main  # only now is the path safe

main()
