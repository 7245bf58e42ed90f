"""Which database a command talks to: DATABASE_URL, else the embedded server that `quire up` runs here."""

from __future__ import annotations

from quire.runtime.settings import Settings, SettingsError

DSN_FILE = "postgres.dsn"


def find_dsn(settings: Settings) -> str:
    if settings.dsn:
        return settings.dsn
    path = settings.data_dir / DSN_FILE
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        raise SettingsError(
            f"set DATABASE_URL, or start `quire up` with the data directory of {path}"
        ) from None
