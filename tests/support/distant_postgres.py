"""A Postgres that other hosts of a test's network reach."""

from __future__ import annotations

import signal
from pathlib import Path

from quire.runtime.embedded_postgres import EmbeddedPostgres
from quire.runtime.embedded_postgres.account import Account
from quire.runtime.embedded_postgres.cluster import ROLE


class DistantPostgres(EmbeddedPostgres):
    def __init__(self, data_dir: Path, address: str) -> None:
        super().__init__(data_dir)
        self._address = address

    def dsn_of(self, database: str) -> str:
        return super().dsn_of(database).replace("127.0.0.1", self._address)

    def start(self) -> str:
        dsn = super().start()
        with (self.cluster / "pg_hba.conf").open("a") as logins:
            logins.write(f"host all {ROLE} 10.77.0.0/16 scram-sha-256\n")
        self.process_signal(signal.SIGHUP)
        return dsn

    def process_signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def _command(self, programs: Path, account: Account) -> list[str]:
        # The last one of an option counts.
        return [*super()._command(programs, account), "-c", f"listen_addresses={self._address}"]
