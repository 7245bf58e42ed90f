"""Conversion beside its peers, in one run on one machine: `python -m bench.convert [--quick]`.

Quire answers over HTTP, reads in a jail and holds its ALTO against the schema; its peers are called straight.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import convert_overhead
from bench.convert_gateway import caller, running_gateway, seconds_for
from bench.peer_env import REPOSITORY, peer_python
from bench.report import Row, publish
from bench.servers import end_on_sigterm, scratch

PAGES = 100
# A slow peer reads fewer pages, which is as true and takes less time.
SLOW_PAGES = 10
FONT = REPOSITORY / "src/quire/render/fonts/liberation-sans/LiberationSans-Regular.ttf"
MEASURE = "alto pages/s, 100 pages"


@dataclass(frozen=True)
class Peer:
    """`bar` is the least multiple of its pages a second that Quire has to reach."""

    name: str
    bar: float
    pages: int
    seconds: Callable[[], float]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, about a minute")
    return parser.parse_args()


def peer_seconds(module: str, *arguments: str) -> float:
    command = [str(peer_python()), "-m", f"bench.convert_peers.{module}", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return float(done.stdout or 0)


def poppler_seconds(file: Path, directory: Path) -> float:
    began = time.perf_counter()
    subprocess.run(["pdftotext", "-bbox-layout", str(file), str(directory / "poppler.html")], check=True)
    return time.perf_counter() - began


def peers_of(file: Path, directory: Path) -> tuple[Peer, ...]:
    few = str(SLOW_PAGES)
    return (
        Peer("pdftotext -bbox-layout", 0.5, PAGES, partial(poppler_seconds, file, directory)),
        Peer("pdfplumber", 5.0, SLOW_PAGES, partial(peer_seconds, "pdfplumber_words", str(file), few)),
        Peer("pdfminer.six", 5.0, SLOW_PAGES, partial(peer_seconds, "pdfminer_lines", str(file), few)),
    )


def speed_rows(url: str, file: Path, directory: Path, rounds: int) -> list[Row]:
    """In turns, so that a busy machine is busy for all; the medians of the rounds."""
    pdf, peers = file.read_bytes(), peers_of(file, directory)
    ours: list[float] = []
    theirs: dict[str, list[float]] = {peer.name: [] for peer in peers}
    with caller(url) as client:
        seconds_for(client, pdf, "alto")
        for _ in range(rounds):
            for peer in peers:
                ours.append(PAGES / seconds_for(client, pdf, "alto"))
                theirs[peer.name].append(peer.pages / peer.seconds())
    middle, note = (
        statistics.median(ours),
        f"{rounds} rounds, load {os.getloadavg()[0]:.1f}, best {max(ours):.3g}",
    )
    return [
        Row(MEASURE, middle, peer.name, statistics.median(theirs[peer.name]), peer.bar, note=note)
        for peer in peers
    ]


def main() -> None:
    arguments = parsed()
    end_on_sigterm()
    with scratch("convert") as directory:
        file = directory / "document.pdf"
        peer_seconds("document", str(file), str(PAGES), str(FONT))
        with running_gateway(directory) as url:
            rows = speed_rows(url, file, directory, 2 if arguments.quick else 5)
            calls, rounds, trusts = (2, 3, [True]) if arguments.quick else (8, 9, [True, False])
            pdf = file.read_bytes()
            rows += convert_overhead.rows(url, pdf, "alto", calls=calls, rounds=rounds, trusts=trusts)
    publish("convert", rows)


if __name__ == "__main__":
    main()
