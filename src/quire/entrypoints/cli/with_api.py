"""Commands on a running API. `@with_api` gives a command its client, and the options that say where it is."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar, get_type_hints

import typer

from quire.entrypoints.api_client import ApiClient, ApiRefusalError
from quire.entrypoints.api_location import ApiLocation, find_api
from quire.runtime.settings import load_settings

UNAUTHENTICATED = 401
RIGHTS_MISSING = ("ROLE_REQUIRED", "SCOPE_REQUIRED")

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Url = Annotated[str | None, typer.Option(help="URL of the API. Default: QUIRE_URL, or the `quire up` here.")]
Token = Annotated[str | None, typer.Option(help="Default: QUIRE_TOKEN, or the kept admin token.")]
DataDir = Annotated[Path | None, typer.Option(help="Data directory of the `quire up` to talk to.")]
_OPTIONS: dict[str, Any] = {"url": Url, "token": Token, "data_dir": DataDir}


def locate(url: str | None, token: str | None, data_dir: Path | None) -> ApiLocation:
    given = {} if data_dir is None else {"QUIRE_DATA_DIR": data_dir}
    return find_api(load_settings(**given), url, token)


def _token_advice(location: ApiLocation) -> str:
    return (
        f"{location.url} refuses the token of {location.token_from}: give another with --token or QUIRE_TOKEN, "
        "or make one beside its database with `quire token create NAME`"
    )


def _right_advice(location: ApiLocation) -> str:
    return (
        f"The token of {location.token_from} has too few rights at {location.url}: give another with --token or "
        "QUIRE_TOKEN, or make one beside its database with `quire token create NAME --role ROLE --scope SCOPE`"
    )


def with_api(
    command: Callable[Concatenate[ApiClient, Parameters], Result],
) -> Callable[..., Result]:
    """Replaces the first parameter by --url, --token and --data-dir."""

    @functools.wraps(command)
    def run(*args: Any, url: str | None, token: str | None, data_dir: Path | None, **kwargs: Any) -> Result:
        location = locate(url, token, data_dir)
        with ApiClient(location.url, location.token) as api:
            try:
                return command(api, *args, **kwargs)
            except ApiRefusalError as error:
                if error.status == UNAUTHENTICATED:
                    error.detail += f". {_token_advice(location)}"
                elif error.code in RIGHTS_MISSING:
                    error.detail += f". {_right_advice(location)}"
                raise

    kept = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _OPTIONS.items()
    ]
    run.__signature__ = inspect.Signature([*kept, *more])  # type: ignore[attr-defined]
    hints = get_type_hints(command, include_extras=True)
    run.__annotations__ = {parameter.name: hints[parameter.name] for parameter in kept} | _OPTIONS
    del run.__wrapped__
    return run
