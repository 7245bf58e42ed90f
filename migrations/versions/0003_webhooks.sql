-- Outgoing webhooks. Who wants to hear what, and every message owed to them. No foreign keys: a job's end must
-- never wait for, or fail because of, someone who is editing a subscription.

CREATE TABLE webhook_subscriptions (
    id                   uuid PRIMARY KEY,
    tenant_id            text        NOT NULL,
    url                  text        NOT NULL CHECK (length(url) <= 2000),
    description          text        NOT NULL DEFAULT '',
    event_types          text[]      NOT NULL,
    -- Exact kinds or `context.*`; empty for all.
    kinds                text[]      NOT NULL DEFAULT '{}',
    -- Encrypted under QUIRE_SECRET_KEY; the previous one signs too until the overlap is over.
    secret               bytea       NOT NULL,
    previous_secret      bytea,
    rotated_at           timestamptz,
    previous_until       timestamptz,
    created_by           text        NOT NULL,
    created_at           timestamptz NOT NULL DEFAULT now(),
    updated_at           timestamptz NOT NULL DEFAULT now(),
    disabled_at          timestamptz,
    disabled_reason      text,
    -- Deliveries given up since the last one that arrived.
    consecutive_failures integer     NOT NULL DEFAULT 0,
    CONSTRAINT webhook_previous_has_end CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    CONSTRAINT webhook_disabled_has_reason CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
);
CREATE INDEX webhook_subscriptions_tenant ON webhook_subscriptions (tenant_id, id);

-- The id is the receiver's `webhook-id`: the same for every attempt. A claim moves `next_at` past its lease, so a
-- dead courier's delivery becomes due by itself; `fence` refuses the late answer of one that was only slow.
CREATE TABLE webhook_deliveries (
    id              uuid PRIMARY KEY,
    subscription_id uuid        NOT NULL,
    tenant_id       text        NOT NULL,
    job_id          uuid,
    event_type      text        NOT NULL,
    state           text        NOT NULL DEFAULT 'pending',
    attempt         integer     NOT NULL DEFAULT 0,
    fence           bigint      NOT NULL DEFAULT 0,
    leased_by       uuid,
    last_status     integer,
    response_ms     integer,
    created_at      timestamptz NOT NULL DEFAULT now(),
    next_at         timestamptz NOT NULL DEFAULT now(),
    attempted_at    timestamptz,
    delivered_at    timestamptz,
    last_error      text,
    payload         jsonb       NOT NULL,
    CONSTRAINT webhook_delivery_state_known CHECK (state IN ('pending','delivered','failed','dead')),
    CONSTRAINT webhook_delivery_lease_while_owed CHECK (leased_by IS NULL OR state IN ('pending','failed'))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
-- What is owed, by subscription: a receiver that hangs must not stand before the others.
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (subscription_id, next_at) WHERE state IN ('pending','failed');
-- The delivery log, newest first.
CREATE INDEX webhook_deliveries_log ON webhook_deliveries (subscription_id, created_at, id);
CREATE INDEX webhook_deliveries_at ON webhook_deliveries USING brin (created_at);

-- Every transition writes its line into job_events, so this is the one place that no transition can pass by.
-- Without subscriptions it is one look at an empty table a statement (measured in docs/decisions/0004).
-- Planner: OFFSET 0 keeps the look-up of a job on its primary key. The plan is cached when the tables are small,
-- and a hash join chosen then would read all of `jobs` for every batch later.
CREATE FUNCTION create_webhook_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM webhook_subscriptions WHERE disabled_at IS NULL) THEN
        RETURN NULL;
    END IF;
    INSERT INTO webhook_deliveries (id, subscription_id, tenant_id, job_id, event_type, payload)
    SELECT gen_random_uuid(), s.id, s.tenant_id, e.job_id, 'job.' || e.to_state,
           jsonb_build_object('type', 'job.' || e.to_state, 'timestamp', e.at, 'data', jsonb_build_object(
               'job_id', e.job_id, 'kind', j.kind, 'queue', j.queue, 'tenant_id', j.tenant_id,
               'created_by', j.created_by, 'state', e.to_state, 'previous_state', e.from_state, 'reason', e.reason,
               'attempt', e.attempt, 'error_code', coalesce(e.error_code, j.error_code),
               'error_message', j.error_message, 'has_artifact', j.artifact_key IS NOT NULL,
               'document_id', j.document_id, 'external_ref', j.external_ref,
               'created_at', j.created_at, 'started_at', j.started_at, 'finished_at', j.finished_at))
    FROM fresh_events e
    CROSS JOIN LATERAL (SELECT * FROM jobs WHERE jobs.id = e.job_id OFFSET 0) j
    JOIN webhook_subscriptions s ON s.tenant_id = j.tenant_id
    WHERE s.disabled_at IS NULL AND 'job.' || e.to_state = ANY (s.event_types)
      AND (s.kinds = '{}' OR j.kind = ANY (s.kinds) OR split_part(j.kind, '.', 1) || '.*' = ANY (s.kinds));
    RETURN NULL;
END $$;

CREATE TRIGGER job_events_webhooks AFTER INSERT ON job_events
    REFERENCING NEW TABLE AS fresh_events
    FOR EACH STATEMENT EXECUTE FUNCTION create_webhook_deliveries();
