"""`python -m quire` is the `quire` command."""

from quire.entrypoints.cli import main

main()
