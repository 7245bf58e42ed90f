"""The bundled fonts: the only ones a document can be printed with, whatever the machine has installed."""

from __future__ import annotations

import hashlib
import shutil
from functools import cache
from pathlib import Path

BUNDLED = Path(__file__).parents[2] / "fonts"
SUFFIXES = (".ttf", ".otf")

# What documents ask for by habit, and what they get: metric clones where we have one.
ALIASES = {
    "sans-serif": "Inter",
    "system-ui": "Inter",
    "serif": "Source Serif 4",
    "monospace": "JetBrains Mono",
    "Arial": "Liberation Sans",
    "Helvetica": "Liberation Sans",
    "Times": "Source Serif 4",
    "Times New Roman": "Source Serif 4",
    "Georgia": "Source Serif 4",
    "Courier": "JetBrains Mono",
    "Courier New": "JetBrains Mono",
}

# For a family or a character that no other rule finds, such as a currency sign that a clone lacks.
LAST_RESORT = (
    '<match target="pattern"><edit name="family" mode="append_last"><string>Inter</string></edit></match>'
)


def font_files() -> list[Path]:
    return sorted(path for path in BUNDLED.rglob("*") if path.suffix in SUFFIXES)


@cache
def font_digest() -> str:
    """Of names, bytes and aliases: another set gives other bytes for the same document."""
    digest = hashlib.sha256(repr(sorted(ALIASES.items())).encode())
    for path in font_files():
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def install_fonts(directory: Path, cache_directory: Path) -> Path:
    """Copies the set to where an unprivileged browser may read it; returns the fontconfig file.

    The package itself may lie in a home directory that nobody else can enter.
    """
    fonts = directory / "fonts"
    fonts.mkdir(mode=0o755)
    for path in font_files():
        shutil.copyfile(path, fonts / path.name)
        (fonts / path.name).chmod(0o644)
    config = directory / "fonts.conf"
    config.write_text(_config(fonts, cache_directory), encoding="utf-8")
    config.chmod(0o644)
    return config


def _config(fonts: Path, cache_directory: Path) -> str:
    return "\n".join(
        (
            '<?xml version="1.0"?>',
            '<!DOCTYPE fontconfig SYSTEM "fonts.dtd">',
            "<fontconfig>",
            f"<dir>{fonts}</dir>",
            f"<cachedir>{cache_directory}</cachedir>",
            *(_alias(asked, given) for asked, given in ALIASES.items()),
            LAST_RESORT,
            "</fontconfig>",
            "",
        )
    )


def _alias(asked: str, given: str) -> str:
    return f'<alias binding="same"><family>{asked}</family><prefer><family>{given}</family></prefer></alias>'
