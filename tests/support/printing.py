"""What the printer's tests share: short requests, readers of PDFs, and the kernel's view of processes."""

from __future__ import annotations

import asyncio
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from quire.render.ports.v1.page_printer import Asset, PrintRequest

SENTENCE = "<!doctype html><p>Quire prints.</p>"


@contextmanager
def open_directory() -> Iterator[Path]:
    """One that a browser running as somebody else can enter, unlike pytest's own, which are closed on purpose."""
    with tempfile.TemporaryDirectory(prefix="quire-test-") as name:
        path = Path(name)
        path.chmod(0o711)
        yield path


def request(
    html: str,
    *,
    script: bool = False,
    tagged: bool = False,
    key: str | None = None,
    seconds: float = 30.0,
    assets: dict[str, Asset] | None = None,
) -> PrintRequest:
    return PrintRequest(
        html=html,
        assets=assets or {},
        javascript=script,
        tagged=tagged,
        reuse_key=key,
        timeout_seconds=seconds,
    )


def invoice(rows: int = 30) -> str:
    lines = "".join(f"<tr><th>{i}<td>Danışmanlık — услуга {i}<td>₺{i * 120}.00" for i in range(rows))
    return f"""<!doctype html><html lang="tr"><title>Fatura 42</title>
<style>@page {{ size: A4; margin: 20mm; @bottom-center {{ content: counter(page) }} }}
body {{ font: 11pt Inter }} h1 {{ font-family: "Source Serif 4" }} td {{ font-family: "JetBrains Mono" }}</style>
<h1>Fatura</h1><table><thead><tr><th>#<th>Hizmet<th>Tutar</thead>{lines}</table><h2>Notlar</h2><p>Teşekkürler."""


def words_of(pdf: bytes) -> tuple[float, float, dict[str, tuple[float, float]]]:
    """Width and height of the first page in points, and where each word begins, from the top left."""
    said = subprocess.run(["pdftotext", "-bbox", "-", "-"], input=pdf, capture_output=True, check=True)
    page = re.search(r'<page width="([\d.]+)" height="([\d.]+)">', said.stdout.decode())
    assert page is not None
    found = re.findall(r'<word xMin="([\d.-]+)" yMin="([\d.-]+)"[^>]*>([^<]*)<', said.stdout.decode())
    return float(page[1]), float(page[2]), {word: (float(x), float(y)) for x, y, word in found}


def text_of(pdf: bytes) -> str:
    return subprocess.run(["pdftotext", "-", "-"], input=pdf, capture_output=True, check=True).stdout.decode()


def fonts_of(pdf: bytes, tmp_path: Path) -> str:
    path = tmp_path / "fonts.pdf"
    path.write_bytes(pdf)
    return subprocess.run(["pdffonts", path], capture_output=True, check=True, text=True).stdout


def complaints_of(pdf: bytes, tmp_path: Path) -> str:
    """What qpdf finds wrong; empty when the file is sound."""
    path = tmp_path / "checked.pdf"
    path.write_bytes(pdf)
    checked = subprocess.run(["qpdf", "--check", path], capture_output=True, check=False, text=True)
    return "" if checked.returncode == 0 else checked.stdout + checked.stderr


async def eventually(holds: Callable[[], bool], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come true in time"
        await asyncio.sleep(0.05)
