"""A gateway that also has mappings which do what none should. Run as a program; its readers load this module too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.unit.convert.wrong_mappings import WRONG, another
from tests.unit.reading import odd_reader

from quire.convert.infrastructure.jail import pdf_mapper
from quire.convert.infrastructure.mappings import MAPPINGS, child
from quire.convert.infrastructure.mappings.mapping import Mapping, Source
from quire.reading import PdfDamagedError
from quire.runtime.isolation import BARE_ENVIRONMENT

MODULE = "tests.support.odd_gateway"
CONTENT = b"words of the document"

task = child.task


def acting(name: str, act: Callable[[bytes], bytes]) -> Mapping:
    def write(source: Source) -> bytes:
        return act(CONTENT)

    return another("tei", name, write)


def refuse_first_share(source: Source) -> bytes:
    """Read in shares, the first one refuses at once, and the others would never end."""
    if source.share == 0:
        raise PdfDamagedError("the first share is refused")
    return odd_reader.sleep(CONTENT)


REFUSED_SHARE = "refused_share"
SHARED = replace(another("tei", REFUSED_SHARE, refuse_first_share), join=lambda parts: parts[0])
ODD = WRONG | {name: acting(name, act) for name, act in odd_reader.ACTS.items()} | {REFUSED_SHARE: SHARED}


def warm_up() -> None:
    """Without the odd ones, which would do to the server what they do to its children."""
    child.warm_up()
    MAPPINGS.update(ODD)


def main() -> None:
    from quire.entrypoints.cli import main as quire

    MAPPINGS.update(ODD)
    pdf_mapper.TASK = MODULE
    BARE_ENVIRONMENT["PYTHONPATH"] = str(Path(__file__).parents[2])
    quire()


if __name__ == "__main__":
    main()
