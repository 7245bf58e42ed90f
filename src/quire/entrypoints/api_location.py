"""Where the API is and with which token: options, then the environment, then what `quire up` left in its data
directory."""

from __future__ import annotations

from dataclasses import dataclass

from quire.entrypoints.home import Home
from quire.runtime.settings import Settings, SettingsError


@dataclass(frozen=True)
class ApiLocation:
    url: str
    token: str
    token_from: str


def find_api(settings: Settings, url: str | None = None, token: str | None = None) -> ApiLocation:
    """A token kept in the data directory is shown only to the API of that directory."""
    home = Home(settings.data_dir)
    wanted = url or settings.api_url
    kept_url = _read(home, "api_url")
    if not wanted and not kept_url:
        raise SettingsError(
            f"no Quire runs in {home.root}: start `quire up`, name its directory with --data-dir, "
            "or its address with --url or QUIRE_URL"
        )
    is_own = not wanted or wanted.rstrip("/") == kept_url
    sources = {
        "--token": token or "",
        "QUIRE_TOKEN": settings.api_token.get_secret_value(),
        str(home.admin_token): _read(home, "admin_token") if is_own else "",
    }
    for source, found in sources.items():
        if found:
            return ApiLocation(wanted or kept_url, found, source)
    raise SettingsError("set --token or QUIRE_TOKEN")


def _read(home: Home, name: str) -> str:
    try:
        return str(getattr(home, name).read_text(encoding="utf-8")).strip()
    except OSError:
        return ""
