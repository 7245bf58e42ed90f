"""Every environment name Quire reads, typed. `docs/guides/settings.md` is generated from this file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from quire.kernel import QuireError
from quire.runtime.database_url import for_postgres


class SettingsError(QuireError):
    """The environment holds a value that cannot be used."""

    code = "SETTINGS_INVALID"
    title = "A setting is not valid"


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_file=".env", env_file_encoding="utf-8", extra="ignore", frozen=True)

    # Where things are
    database_url: SecretStr = Field(
        SecretStr(""),
        alias="DATABASE_URL",
        description="Postgres DSN (15 to 18); `?schema=` names the schema. Empty: the embedded server of `quire up`.",
    )
    listen_database_url: SecretStr = Field(
        SecretStr(""),
        alias="QUIRE_LISTEN_DATABASE_URL",
        description="Direct DSN for LISTEN when DATABASE_URL goes through a pooler. Empty: DATABASE_URL.",
    )
    broker_url: SecretStr = Field(
        SecretStr("postgres://"),
        alias="QUIRE_BROKER_URL",
        description="Who wakes workers: `postgres://`, `redis://` or `amqp://` (Dramatiq), `rq+redis://` (RQ).",
    )
    broker_required: bool | None = Field(
        None,
        alias="QUIRE_BROKER_REQUIRED",
        description="Refuse work while the broker is down, instead of sending its message later. Empty: for RQ only.",
    )
    republish_seconds: float = Field(
        5.0,
        gt=0,
        alias="QUIRE_REPUBLISH_SEC",
        description="A job that waits longer than this unclaimed gets its message sent again.",
    )
    storage_url: str = Field(
        "file:data/artifacts",
        alias="QUIRE_STORAGE_URL",
        description="`file:PATH` or `s3://bucket?endpoint=URL&public=URL&region=R&prefix=P` (public: where clients "
        "reach it, for presigned URLs); S3 keys come from the AWS_* names.",
    )
    data_dir: Path = Field(
        Path("data"), alias="QUIRE_DATA_DIR", description="Directory of everything `quire up` keeps."
    )
    config_dir: Path | None = Field(
        None,
        alias="QUIRE_CONFIG_DIR",
        description="Directory of queues.yaml, retries.yaml, throttling.yaml. Empty: the shipped ones.",
    )

    # Commands that talk to a running API
    api_url: str = Field(
        "",
        alias="QUIRE_URL",
        description="The API that commands talk to. Empty: that of the `quire up` of the data directory.",
    )
    api_token: SecretStr = Field(
        SecretStr(""),
        alias="QUIRE_TOKEN",
        description="The token that commands show. Empty: the admin token of the data directory.",
    )

    # HTTP
    host: str = Field("127.0.0.1", alias="QUIRE_HOST", description="Address the API binds to.")
    port: int = Field(
        8700, ge=0, le=65535, alias="QUIRE_PORT", description="Port the API binds to; 0 takes a free one."
    )
    public_url: str = Field(
        "",
        alias="QUIRE_PUBLIC_URL",
        description="URL that clients reach the API by; used in signed storage URLs.",
    )
    max_body_bytes: int = Field(
        1_048_576,
        gt=0,
        alias="QUIRE_MAX_BODY_BYTES",
        description="Largest request body; batches may be 16 times larger.",
    )
    cors_origins: str = Field(
        "",
        alias="QUIRE_CORS_ORIGINS",
        description="Comma-separated origins allowed by CORS. Empty: CORS off.",
    )
    metrics_token: SecretStr = Field(
        SecretStr(""),
        alias="QUIRE_METRICS_TOKEN",
        description="Bearer token for /metrics, beside those of operators with the scope platform.",
    )
    metrics_port: int = Field(
        -1,
        ge=-1,
        le=65535,
        alias="QUIRE_METRICS_PORT",
        description="Loopback port of a worker's own /metrics and health; 0 takes a free one, -1 serves none.",
    )
    secret_key: SecretStr = Field(
        SecretStr(""),
        alias="QUIRE_SECRET_KEY",
        description="Signs storage URLs and encrypts webhook secrets. `quire up` makes one in the data directory.",
    )
    secret_key_accepted: SecretStr = Field(
        SecretStr(""),
        alias="QUIRE_SECRET_KEY_ACCEPTED",
        description="A second key, while keys are changed: what it signed and encrypted holds; it makes nothing new.",
    )
    rate_limit_per_minute: int = Field(
        6000,
        ge=0,
        alias="QUIRE_RATE_LIMIT_PER_MINUTE",
        description="Requests a minute per token and API process; 0 turns it off.",
    )
    diagnostic_kinds: bool = Field(
        False,
        alias="QUIRE_DIAGNOSTIC_KINDS",
        description="Let callers create jobs.noop, jobs.echo, jobs.sleep, jobs.store and jobs.fail, for trials.",
    )
    allow_private_webhooks: bool = Field(
        False,
        alias="QUIRE_ALLOW_PRIVATE_WEBHOOKS",
        description="Let outgoing webhooks reach private and loopback addresses.",
    )

    # Database
    database_pool_max: int = Field(
        10, ge=2, le=500, alias="QUIRE_DATABASE_POOL_MAX", description="Connections of one process at most."
    )
    statement_timeout_seconds: float = Field(
        15.0, gt=0, alias="QUIRE_STATEMENT_TIMEOUT_SEC", description="Longest time one statement may take."
    )
    poll_only: bool = Field(
        False, alias="QUIRE_POLL_ONLY", description="Never LISTEN; poll only (transaction-mode poolers)."
    )

    # Worker
    worker_queues: str = Field(
        "*", alias="WORKER_QUEUES", description="Comma-separated queue names or patterns this worker serves."
    )
    worker_concurrency: int = Field(
        4, ge=1, le=10_000, alias="WORKER_CONCURRENCY", description="Jobs one worker process runs at once."
    )
    worker_niceness: int = Field(
        0,
        ge=0,
        le=15,
        alias="WORKER_NICENESS",
        description="How far a worker steps back behind other processes of its machine; `quire up` sets 5.",
    )
    worker_solo: bool = Field(
        False,
        alias="WORKER_SOLO",
        description="Set by a worker for the process in which it lets a job run alone that may have killed workers.",
    )
    lease_seconds: float = Field(
        60.0, ge=1.0, alias="WORKER_LEASE_TTL_SEC", description="Lease time; renewed at a third of it."
    )
    shutdown_grace_seconds: float = Field(
        30.0,
        ge=0,
        alias="WORKER_SHUTDOWN_GRACE_SEC",
        description="Time running jobs get after SIGTERM before they are handed back.",
    )
    poll_seconds: float = Field(
        1.0,
        gt=0,
        alias="WORKER_POLL_SEC",
        description="Safety-net poll when nothing woke the worker; jittered up to twice.",
    )
    reclaim_seconds: float = Field(
        1.0, gt=0, alias="WORKER_RECLAIM_SEC", description="How often expired leases are looked for."
    )
    completion_batch: int = Field(
        200,
        ge=1,
        alias="WORKER_COMPLETION_BATCH",
        description="Finished jobs written in one statement at most.",
    )
    completion_tick_ms: float = Field(
        2.0,
        ge=0,
        alias="WORKER_COMPLETION_TICK_MS",
        description="Longest wait of a finished job for companions in its write.",
    )
    sweep_seconds: float = Field(
        3600.0,
        gt=0,
        alias="QUIRE_SWEEP_SEC",
        description="How often expired artifacts, jobs and events are cleaned.",
    )

    # Render
    templates_dir: Path | None = Field(
        None,
        alias="QUIRE_TEMPLATES_DIR",
        description="Folder of own template packs, beside the shipped ones.",
    )
    template_allowlist: str = Field(
        "invoice,receipt,contract,statement,report",
        alias="PDF_TEMPLATE_ALLOWLIST",
        description="Comma-separated packs that may be used.",
    )
    pdf_max_payload_bytes: int = Field(
        524_288, gt=0, alias="PDF_MAX_PAYLOAD_BYTES", description="Largest payload of a document."
    )
    pdf_failsafe: Literal["strict", "degrade"] = Field(
        "strict",
        alias="PDF_FAILSAFE",
        description="While no renderer lives: 503, or the document as HTML.",
    )
    render_fingerprint: str = Field(
        "",
        alias="QUIRE_RENDER_FINGERPRINT",
        description="Renderer that documents are accepted for. Empty: this machine's browser and fonts.",
    )
    chromium: Path = Field(
        Path("/usr/lib/chromium/chromium-headless-shell"),
        alias="QUIRE_CHROMIUM",
        description="The browser that prints.",
    )
    render_pages: int = Field(
        4, ge=1, le=64, alias="QUIRE_RENDER_PAGES", description="Documents one worker prints at once."
    )

    # Convert
    gateway_url: str = Field(
        "",
        alias="GATEWAY_URL",
        description="The gateway that turns PDF into XML. Empty: that of `quire up`; a worker without one converts"
        " nothing.",
    )
    gateway_trusted: bool = Field(
        False,
        alias="GATEWAY_TRUSTED",
        description="Whether GATEWAY_URL is a `quire gateway`: what it vouches for is held against its digest and not"
        " parsed again. `quire up` says so of its own.",
    )
    gateway_timeout_ms: int = Field(
        180_000,
        gt=0,
        alias="GATEWAY_TIMEOUT_MS",
        description="Longest time one call of the gateway may take.",
    )
    retry_max_attempts: int = Field(
        3,
        ge=1,
        le=100,
        alias="RETRY_MAX_ATTEMPTS",
        description="Attempts of a conversion whose gateway failed or was late; over those of retries.yaml.",
    )
    uploads_dir: Path | None = Field(
        None,
        alias="UPLOADS_DIR",
        description="Directory of the PDFs to convert, as `{job_id}.pdf`, shared by API and workers. Empty: the"
        " storage.",
    )
    results_dir: Path | None = Field(
        None,
        alias="RESULTS_DIR",
        description="Directory in which workers also lay each result as `{job_id}.xml`. Empty: the storage only.",
    )
    convert_mappings: str = Field(
        "alto,tei,akn,facturx,ubl-invoice",
        alias="CONVERT_MAPPINGS",
        description="Comma-separated mappings that may be asked for.",
    )
    convert_max_file_bytes: int = Field(
        104_857_600, gt=0, alias="CONVERT_MAX_FILE_BYTES", description="Largest PDF that is taken."
    )
    convert_max_result_bytes: int = Field(
        268_435_456,
        gt=0,
        alias="CONVERT_MAX_RESULT_BYTES",
        description="Largest XML that a gateway may answer.",
    )

    # Gateway
    gateway_host: str = Field(
        "127.0.0.1", alias="QUIRE_GATEWAY_HOST", description="Address the gateway binds to."
    )
    gateway_port: int = Field(
        8710,
        ge=0,
        le=65535,
        alias="QUIRE_GATEWAY_PORT",
        description="Port the gateway binds to; 0 takes a free one.",
    )
    gateway_token: SecretStr = Field(
        SecretStr(""),
        alias="QUIRE_GATEWAY_TOKEN",
        description="Bearer token that the gateway asks for. Empty: none, and its address is the wall.",
    )
    gateway_slots: int = Field(
        2, ge=1, le=256, alias="QUIRE_GATEWAY_SLOTS", description="Documents one gateway reads at once."
    )
    gateway_max_bytes: int = Field(
        104_857_600, gt=0, alias="QUIRE_GATEWAY_MAX_BYTES", description="Largest PDF that the gateway takes."
    )
    gateway_max_pages: int = Field(
        5_000,
        gt=0,
        alias="QUIRE_GATEWAY_MAX_PAGES",
        description="Most pages of a PDF that the gateway reads.",
    )
    gateway_memory_bytes: int = Field(
        1_073_741_824,
        ge=67_108_864,
        alias="QUIRE_GATEWAY_MEMORY_BYTES",
        description="Memory that reading one document may take.",
    )
    gateway_cpu_seconds: int = Field(
        60,
        ge=1,
        alias="QUIRE_GATEWAY_CPU_SEC",
        description="Processor time that reading one document may take.",
    )
    gateway_wall_seconds: float = Field(
        120.0, gt=0, alias="QUIRE_GATEWAY_WALL_SEC", description="Time that reading one document may take."
    )
    gateway_max_result_bytes: int = Field(
        268_435_456,
        ge=1_048_576,
        alias="QUIRE_GATEWAY_MAX_RESULT_BYTES",
        description="Largest XML that the gateway makes of a document.",
    )
    gateway_waiting_per_slot: int = Field(
        16,
        ge=1,
        le=1_000,
        alias="QUIRE_GATEWAY_WAITING_PER_SLOT",
        description="Documents that may wait for each slot of the gateway; one more is 429.",
    )

    # Telemetry
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", alias="QUIRE_LOG_LEVEL", description="Least level that is logged."
    )
    log_format: Literal["json", "console"] = Field(
        "json", alias="QUIRE_LOG_FORMAT", description="One JSON object a line, or coloured text."
    )
    otlp_endpoint: str = Field(
        "",
        alias="OTEL_EXPORTER_OTLP_ENDPOINT",
        description="OTLP/HTTP collector. Empty: traces are made and propagated, not exported.",
    )

    @field_validator("uploads_dir", "results_dir", mode="before")
    @classmethod
    def _no_directory(cls, value: object) -> object:
        """An empty name is none; as a path it would be the current directory."""
        return value or None

    @property
    def listen_dsn(self) -> str:
        return for_postgres(self.listen_database_url.get_secret_value()) or self.dsn

    @property
    def dsn(self) -> str:
        return for_postgres(self.database_url.get_secret_value())


def load_settings(**overrides: object) -> Settings:
    """Overrides go by the environment's names: `load_settings(QUIRE_PORT=0)`."""
    try:
        return Settings(**overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        lines = (
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}"
            for item in error.errors(include_input=False, include_url=False)
        )
        raise SettingsError("; ".join(lines)) from None
