"""Our ALTO beside `pdftotext -bbox-layout` on PDFs of others: `python -m bench.agreement [--quick] [--files]`.

Words count as found by text and place, in whatever order; the order is measured apart from them: on all pages, and on
those where poppler's own is that in which the file draws the page. Elsewhere poppler's is a guess (decision 0013).
"""

from __future__ import annotations

import argparse
from collections.abc import Container, Mapping

from bench.agreement_corpus import Sample, fetched, samples
from bench.agreement_tally import Tally, tally
from bench.report import Row, publish, table

PEER = "pdftotext -bbox-layout"
BAR = 0.99
HELD = ("words", "boxes", "words in place", "order, where it is settled", "order")
# Every so many-th file, from all over the list.
QUICK_STEP = 8


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="an eighth of the files, less than a minute")
    parser.add_argument("--files", action="store_true", help="every file, the worst first")
    return parser.parse_args()


def tallies(wanted: list[Sample]) -> dict[Sample, Tally]:
    return {sample: tally(sample.content()) for sample in fetched(wanted)}


def rows(by_file: Mapping[Sample, Tally], held: Container[str]) -> list[Row]:
    whole = sum(by_file.values(), Tally())
    size = f"{whole.theirs:,} words on {whole.pages:,} pages, {whole.settled:,} of them settled"
    return [
        Row(
            measure,
            share,
            PEER,
            1.0,
            BAR if measure in held else None,
            note=f"{size}; {files(by_file, measure)}",
        )
        for measure, share in whole.shares().items()
    ]


def files(by_file: Mapping[Sample, Tally], measure: str) -> str:
    holding = sum(one.shares()[measure] >= BAR for one in by_file.values())
    return f"{holding} of {len(by_file)} files have {BAR:.0%}"


def listing(by_file: Mapping[Sample, Tally]) -> str:
    worst = sorted(by_file.items(), key=lambda item: item[1].shares()["words in place"])
    lines = [
        [
            sample.name,
            str(one.pages),
            str(one.theirs),
            *(f"{100 * share:.1f}" for share in one.shares().values()),
        ]
        for sample, one in worst
    ]
    return table(["file", "pages", "words of poppler", *Tally().shares()], lines)


def main() -> None:
    arguments = parsed()
    by_file = tallies(samples()[:: QUICK_STEP if arguments.quick else 1])
    if arguments.files:
        print(listing(by_file))
    # A part of the corpus says nothing of the whole: it is there to see that nothing got worse.
    publish("agreement", rows(by_file, () if arguments.quick else HELD))


if __name__ == "__main__":
    main()
