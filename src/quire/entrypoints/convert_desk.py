"""Wires the API's side of conversion; workers need none of it."""

from __future__ import annotations

from quire.convert import AcceptanceDesk, UploadDesk
from quire.convert.presentation.routes.conversions import ConversionDesk
from quire.entrypoints.convert import input_store, mapping_list
from quire.entrypoints.engine import Engine
from quire.jobs import CompletionWatch
from quire.runtime.settings import Settings


def conversion_desk(engine: Engine, settings: Settings, watch: CompletionWatch) -> ConversionDesk:
    return ConversionDesk(
        acceptance=AcceptanceDesk(
            engine.intake,
            input_store(settings, engine.storage),
            mapping_list(settings),
            settings.convert_max_file_bytes,
            engine.storage,
        ),
        uploads=UploadDesk(engine.storage, settings.convert_max_file_bytes),
        board=engine.board,
        broker=engine.broker,
        watch=watch,
        storage=engine.storage,
    )
