"""The S3 client with a limit on everything: time, tries, connections. No profile, no instance role:
credentials come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession

from quire.runtime.settings import SettingsError
from quire.runtime.storage.location import S3Location

CONNECT_TIMEOUT_SECONDS = 3
READ_TIMEOUT_SECONDS = 30
ATTEMPTS = 3
POOL_MAX = 32


def s3_client(location: S3Location, environment: Mapping[str, str]) -> AbstractAsyncContextManager[Any]:
    session = AioSession()
    for file in ("config_file", "credentials_file"):
        session.set_config_variable(file, os.devnull)
    client: AbstractAsyncContextManager[Any] = session.create_client(
        "s3",
        region_name=location.region,
        endpoint_url=location.endpoint,
        aws_access_key_id=_credential(environment, "AWS_ACCESS_KEY_ID"),
        aws_secret_access_key=_credential(environment, "AWS_SECRET_ACCESS_KEY"),
        aws_session_token=environment.get("AWS_SESSION_TOKEN") or None,
        config=_config(location),
    )
    return client


def _config(location: S3Location) -> AioConfig:
    return AioConfig(
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=READ_TIMEOUT_SECONDS,
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        max_pool_connections=POOL_MAX,
        signature_version="s3v4",
        # Own servers rarely answer to bucket.host names.
        s3={"addressing_style": "path" if location.endpoint else "auto"},
        # We send SHA-256 of our own; the client's default would also pin a checksum into presigned uploads.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )


def _credential(environment: Mapping[str, str], name: str) -> str:
    if value := environment.get(name):
        return value
    raise SettingsError(f"{name}: needed for S3 storage")
