"""Writes a PDF of prose: `python -m bench.convert_peers.document FILE PAGES`. Invented words, the same each time."""

from __future__ import annotations

import random
import sys

from reportlab.lib.pagesizes import A4  # type: ignore[import-not-found]  # of the peers' environment
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-not-found]

LINES, WORDS = 48, 11
LETTERS = "etaoinshrdlucmfwypvbgk"


def line(source: random.Random) -> str:
    return " ".join("".join(source.choices(LETTERS, k=source.randint(2, 9))) for _ in range(WORDS))


def main() -> None:
    source = random.Random(1)
    canvas = Canvas(sys.argv[1], pagesize=A4, invariant=True)
    for page in range(1, int(sys.argv[2]) + 1):
        canvas.setFont("Times-Bold", 14)
        canvas.drawString(72, 790, f"{page}. {line(source)[:40].capitalize()}")
        canvas.setFont("Times-Roman", 11)
        for number in range(LINES):
            canvas.drawString(72, 765 - 14.5 * number, line(source))
        canvas.showPage()
    canvas.save()


if __name__ == "__main__":
    main()
