"""Where one fault test happens: a database, a storage directory, policies of its own, and logs."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from tests.support.odd_handlers import odd_handlers

from quire.entrypoints.engine import Engine, open_engine, shipped_handlers
from quire.entrypoints.shipped import shipped_dir
from quire.runtime.settings import load_settings

# Beside the shipped lanes: one whose jobs are cut off after a second.
SHORT_QUEUE = "short"
SHORT_SECONDS = 1.0


@dataclass(frozen=True)
class Site:
    dsn: str
    root: Path
    max_crashes: int = 3
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        _write_policies(self.config_dir, self.max_crashes)

    @property
    def storage_dir(self) -> Path:
        return self.root / "storage"

    @property
    def config_dir(self) -> Path:
        return self.root / "config"

    @property
    def names(self) -> dict[str, str]:
        """The environment of every process here; short times, so that faults heal while a test waits."""
        return {
            "DATABASE_URL": self.dsn,
            "QUIRE_STORAGE_URL": f"file:{self.storage_dir}",
            "QUIRE_CONFIG_DIR": str(self.config_dir),
            "QUIRE_DIAGNOSTIC_KINDS": "true",
            "QUIRE_SECRET_KEY": "fault-tests-only-" + "0" * 32,
            "WORKER_LEASE_TTL_SEC": "2",
            "WORKER_RECLAIM_SEC": "0.3",
            "WORKER_POLL_SEC": "0.3",
            **self.environment,
        }

    def process_environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        prefixes = ("QUIRE_", "DATABASE_", "WORKER_")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
        return {**inherited, **self.names, **extra}

    @asynccontextmanager
    async def engine(self) -> AsyncIterator[Engine]:
        """The test's own door to the engine; it knows the odd kinds too."""
        settings = load_settings(**self.names)
        handlers = [*shipped_handlers(settings), *odd_handlers()]
        async with open_engine(settings, application="fault-test", handlers=handlers) as engine:
            yield engine


def _write_policies(config_dir: Path, max_crashes: int) -> None:
    config_dir.mkdir(exist_ok=True)
    for file in shipped_dir("config").glob("*.yaml"):
        policy = yaml.safe_load(file.read_text())
        if file.name == "queues.yaml":
            limits = {"hard_limit_seconds": SHORT_SECONDS, "soft_limit_seconds": SHORT_SECONDS / 2}
            policy["queues"][SHORT_QUEUE] = {"class": "small", **limits}
            for handler in odd_handlers():
                policy["kinds"][handler.kind] = {"queues": ["default", SHORT_QUEUE]}
            policy["kinds"]["jobs.sleep"] = {"queues": ["default", SHORT_QUEUE]}
        if file.name == "retries.yaml":
            policy["max_crashes"] = max_crashes
        (config_dir / file.name).write_text(yaml.safe_dump(policy))
