-- The durable job engine. Times are the database's clock, UTC.

CREATE TABLE jobs (
    id                   uuid        NOT NULL,
    created_at           timestamptz NOT NULL DEFAULT now(),
    updated_at           timestamptz NOT NULL DEFAULT now(),
    run_at               timestamptz NOT NULL DEFAULT now(),
    started_at           timestamptz,
    finished_at          timestamptz,
    expires_at           timestamptz,
    lease_expires_at     timestamptz,
    cancel_requested_at  timestamptz,
    leased_by            uuid,
    fence                bigint      NOT NULL DEFAULT 0,
    attempt              integer     NOT NULL DEFAULT 0,
    retry_count          integer     NOT NULL DEFAULT 0,
    crash_count          integer     NOT NULL DEFAULT 0,
    pending_dependencies integer     NOT NULL DEFAULT 0,
    priority             smallint    NOT NULL,
    progress_percent     smallint,
    tenant_lane          boolean     NOT NULL DEFAULT false,
    state                text        NOT NULL,
    queue                text        NOT NULL,
    kind                 text        NOT NULL,
    tenant_id            text        NOT NULL,
    created_by           text        NOT NULL,
    job_key              bytea,
    traceparent          text,
    artifact_key         text,
    document_id          text,
    external_ref         text,
    error_code           text,
    error_message        text,
    payload              jsonb       NOT NULL,
    result               jsonb,
    -- Indexes may ask for these two, never for the state itself: see below.
    live                 boolean     GENERATED ALWAYS AS (state IN ('waiting','queued','running','succeeded')) STORED,
    gone                 boolean     GENERATED ALWAYS AS (state = 'expired') STORED,
    CONSTRAINT jobs_pkey PRIMARY KEY (id),
    CONSTRAINT jobs_state_known CHECK (state IN ('waiting','queued','running','succeeded','failed','expired','cancelled')),
    CONSTRAINT jobs_priority_class CHECK (priority BETWEEN 0 AND 3),
    -- A lease exists exactly while a job runs.
    CONSTRAINT jobs_lease_while_running CHECK ((state = 'running') = (leased_by IS NOT NULL AND lease_expires_at IS NOT NULL))
) WITH (
    -- No column that a claim, a heartbeat or a success changes is in an index of this table, nor in a predicate of
    -- one: those updates stay on their page (HOT), write no index entry and are cleaned up without a vacuum.
    -- That needs room for two more versions of each row on its page.
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 250,
    autovacuum_vacuum_insert_scale_factor = 0.1,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);

-- Idempotent enqueue: one live job a key (the tenant is part of the hash).
CREATE UNIQUE INDEX jobs_live_key ON jobs (job_key) WHERE live AND job_key IS NOT NULL;
-- Lists, newest first.
CREATE INDEX jobs_tenant ON jobs (tenant_id, id);
-- What the sweeper expires, and what it forgets. `expires_at` is set when a job is accepted and kept at its success
-- unless that came late, so that a success need not touch this index.
CREATE INDEX jobs_expiry ON jobs (expires_at) WHERE NOT gone AND expires_at IS NOT NULL;
CREATE INDEX jobs_gone ON jobs (expires_at) WHERE gone;

-- One narrow row for each job whose turn is to come: due (run_at is past), scheduled (run_at is to come) or waiting for
-- other jobs (run_at is infinity). A claim deletes it. Every move into `queued` or `waiting` inserts it.
CREATE TABLE job_lanes (
    queue       text        NOT NULL,
    priority    smallint    NOT NULL,
    run_at      timestamptz NOT NULL,
    job_id      uuid        NOT NULL,
    tenant_id   text        NOT NULL,
    tenant_lane boolean     NOT NULL,
    -- A claim reads one range per (queue, class), oldest first, ending at now(). Nothing about leases in it.
    CONSTRAINT job_lanes_pkey PRIMARY KEY (queue, priority, run_at, job_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 100,
    autovacuum_analyze_scale_factor = 0.1,
    autovacuum_vacuum_cost_delay = 0
);
-- Queues with tenant rules (turns, quotas) find each tenant's oldest here.
CREATE INDEX job_lanes_tenant ON job_lanes (queue, tenant_id, priority, run_at, job_id) WHERE tenant_lane;

-- Which jobs run: for the reclaimer and for concurrency caps. As many rows as jobs run now.
CREATE TABLE job_running (
    job_id    uuid NOT NULL PRIMARY KEY,
    queue     text NOT NULL,
    tenant_id text NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 100,
    autovacuum_analyze_scale_factor = 0.1,
    autovacuum_vacuum_cost_delay = 0
);

CREATE TABLE job_events (
    event_no    bigint      GENERATED ALWAYS AS IDENTITY,
    job_id      uuid        NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    attempt     integer     NOT NULL,
    duration_ms integer,
    fence       bigint      NOT NULL,
    from_state  text,
    to_state    text        NOT NULL,
    actor       text        NOT NULL,
    reason      text,
    error_code  text
) WITH (autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.1);
CREATE INDEX job_events_job ON job_events (job_id);
-- Small ranges: only the range that was there from the start, and full ones after a vacuum, are summarised, and an
-- insert into a summarised range writes its new maximum to WAL.
CREATE INDEX job_events_at ON job_events USING brin (at) WITH (pages_per_range = 16);

CREATE TABLE job_dependencies (
    job_id     uuid NOT NULL,
    depends_on uuid NOT NULL,
    PRIMARY KEY (job_id, depends_on)
);
CREATE INDEX job_dependencies_on ON job_dependencies (depends_on);

-- Principals beside the creator who asked for the same work. No rows: only the creator is interested.
CREATE TABLE job_interests (
    job_id       uuid NOT NULL,
    principal_id text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    withdrawn_at timestamptz,
    PRIMARY KEY (job_id, principal_id)
);

-- Bytes a job produced. `pending` is written before the bytes, so a dead worker's debris can be found.
CREATE TABLE artifacts (
    artifact_key text PRIMARY KEY,
    job_id       uuid        NOT NULL,
    fence        bigint      NOT NULL,
    tenant_id    text        NOT NULL,
    state        text        NOT NULL CHECK (state IN ('pending','ready')),
    content_type text        NOT NULL,
    filename     text        NOT NULL,
    size_bytes   bigint,
    sha256       text,
    created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX artifacts_job ON artifacts (job_id);
CREATE INDEX artifacts_pending ON artifacts (created_at) WHERE state = 'pending';

CREATE TABLE problems (
    id              uuid PRIMARY KEY,
    job_id          uuid        NOT NULL,
    tenant_id       text        NOT NULL,
    document_id     text,
    task_type       text        NOT NULL,
    queue           text        NOT NULL,
    error_code      text        NOT NULL,
    message         text        NOT NULL,
    attempts        integer     NOT NULL,
    last_attempt_at timestamptz,
    trace_id        text,
    external_ref    text,
    recommendation  text        NOT NULL,
    user_decision   text,
    decided_by      text,
    decided_at      timestamptz,
    created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX problems_open_job ON problems (job_id) WHERE user_decision IS NULL;
CREATE INDEX problems_tenant ON problems (tenant_id, id);
CREATE INDEX problems_job ON problems (job_id);

-- Run-time state of a queue; its policy is in config/queues.yaml. Locked to serialise claims under tenant rules.
CREATE TABLE queues (
    name       text PRIMARY KEY,
    paused_at  timestamptz,
    paused_by  text,
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- Token bucket and breaker of one external system, shared by all workers. Locked while a claim counts.
CREATE TABLE integrations (
    name        text PRIMARY KEY,
    tokens      double precision,
    refilled_at timestamptz NOT NULL DEFAULT now(),
    breaker     text        NOT NULL DEFAULT 'closed' CHECK (breaker IN ('closed','open','half_open')),
    changed_at  timestamptz NOT NULL DEFAULT now(),
    probe_until timestamptz
) WITH (fillfactor = 50);

CREATE TABLE integration_outcomes (
    integration text        NOT NULL,
    bucket_at   timestamptz NOT NULL,
    successes   integer     NOT NULL DEFAULT 0,
    failures    integer     NOT NULL DEFAULT 0,
    PRIMARY KEY (integration, bucket_at)
) WITH (fillfactor = 50);

CREATE TABLE workers (
    id             uuid PRIMARY KEY,
    host           text        NOT NULL,
    pid            integer     NOT NULL,
    version        text        NOT NULL,
    queues         text[]      NOT NULL,
    concurrency    integer     NOT NULL,
    lease_seconds  double precision NOT NULL,
    started_at     timestamptz NOT NULL DEFAULT now(),
    stopped_at     timestamptz
);
CREATE INDEX workers_live ON workers (started_at) WHERE stopped_at IS NULL;

-- Liveness, apart from leases: three beats a second, no WAL. Lost in a crash of the server, rebuilt by the next beat.
CREATE UNLOGGED TABLE worker_presence (
    worker_id    uuid PRIMARY KEY,
    beat_at      timestamptz NOT NULL,
    running_jobs integer     NOT NULL,
    claiming     boolean     NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Who may run a sweep or another single-holder loop now. `term` fences a holder that slept too long.
CREATE TABLE role_leases (
    role       text PRIMARY KEY,
    holder     uuid        NOT NULL,
    term       bigint      NOT NULL,
    expires_at timestamptz NOT NULL,
    last_run_at timestamptz
);
