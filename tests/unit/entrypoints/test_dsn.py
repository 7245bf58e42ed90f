from __future__ import annotations

from pathlib import Path

import pytest

from quire.entrypoints.dsn import find_dsn
from quire.runtime.settings import SettingsError, load_settings


def test_environment_comes_before_the_embedded_server(tmp_path: Path) -> None:
    (tmp_path / "postgres.dsn").write_text("postgresql://embedded\n")
    settings = load_settings(DATABASE_URL="postgresql://given", QUIRE_DATA_DIR=str(tmp_path))
    assert find_dsn(settings) == "postgresql://given"
    assert find_dsn(load_settings(DATABASE_URL="", QUIRE_DATA_DIR=str(tmp_path))) == "postgresql://embedded"


def test_without_either_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="quire up"):
        find_dsn(load_settings(DATABASE_URL="", QUIRE_DATA_DIR=str(tmp_path)))
