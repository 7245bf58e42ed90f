"""One JSON object a line on stderr: timestamp, level, event, process, trace_id and what the context bound
(job_id, worker_id). The standard library's loggers come out the same way. Nothing passes unredacted."""

from __future__ import annotations

import logging
import sys
from typing import cast

import structlog
from structlog.types import EventDict, Processor, WrappedLogger

from quire.runtime.settings import Settings
from quire.runtime.telemetry.redaction import redact
from quire.runtime.telemetry.trace import current_trace_id

# Their info lines repeat what our own say.
QUIET_LOGGERS = ("httpx", "httpcore", "botocore", "aiobotocore", "alembic", "uvicorn", "opentelemetry")


def configure_logs(settings: Settings, process: str) -> None:
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    enrich = _enrichers(process)
    finish: list[Processor] = [redact_event, _renderer(settings)]
    structlog.configure(
        processors=[*enrich, structlog.processors.format_exc_info, *finish],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    _adopt_standard_logging(level, enrich, finish)


def add_trace(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    if "trace_id" not in event and (trace_id := current_trace_id()):
        event["trace_id"] = trace_id
    return event


def redact_event(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    return cast("dict[str, object]", redact(dict(event)))


def _enrichers(process: str) -> list[Processor]:
    def add_process(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        event["process"] = process
        return event

    return [
        structlog.contextvars.merge_contextvars,
        add_trace,
        add_process,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _renderer(settings: Settings) -> Processor:
    if settings.log_format == "console":
        return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    return structlog.processors.JSONRenderer(ensure_ascii=False)


def _adopt_standard_logging(level: int, enrich: list[Processor], finish: list[Processor]) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*enrich, structlog.stdlib.add_logger_name],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                *finish,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
