"""Writes a PDF of prose, its fonts embedded as office programs and browsers embed them:
`python -m bench.convert_peers.document FILE PAGES FONT`. Invented words, English and Russian, the same each time."""

from __future__ import annotations

import random
import sys

from reportlab.lib.pagesizes import A4  # type: ignore[import-not-found]  # of the peers' environment
from reportlab.pdfbase import pdfmetrics  # type: ignore[import-not-found]
from reportlab.pdfbase.ttfonts import TTFont  # type: ignore[import-not-found]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-not-found]

LINES, WORDS = 48, 11
LETTERS = ("etaoinshrdlucmfwypvbgk", "оеаинтсрвлкмдпуяыьгзбч")


def line(source: random.Random, letters: str) -> str:
    return " ".join("".join(source.choices(letters, k=source.randint(2, 9))) for _ in range(WORDS))


def main() -> None:
    source = random.Random(1)
    pdfmetrics.registerFont(TTFont("Body", sys.argv[3]))
    canvas = Canvas(sys.argv[1], pagesize=A4, invariant=True)
    for page in range(1, int(sys.argv[2]) + 1):
        letters = LETTERS[page % 2]
        canvas.setFont("Body", 14)
        canvas.drawString(72, 790, f"{page}. {line(source, letters)[:40].capitalize()}")
        canvas.setFont("Body", 10)
        for number in range(LINES):
            canvas.drawString(72, 765 - 14.5 * number, line(source, letters))
        canvas.showPage()
    canvas.save()


if __name__ == "__main__":
    main()
