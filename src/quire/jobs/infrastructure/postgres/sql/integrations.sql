-- Gates shared by all workers: token bucket, concurrency, breaker.

-- name: register_integrations
-- Purpose: a row per integration, for claims and outcomes to lock. Locks: unique entries.
INSERT INTO integrations (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING

-- name: lock_integration
-- Purpose: the shared state of one gate, with the database's measure of time passed.
-- Locks: FOR UPDATE. The count of running jobs is read by the next statement, after the lock: its snapshot then
--   holds every claim committed before, which makes the cap airtight.
SELECT tokens, extract(epoch FROM clock_timestamp() - refilled_at)::float8 AS seconds_since_refill, breaker,
       extract(epoch FROM clock_timestamp() - changed_at)::float8 AS seconds_since_change,
       coalesce(probe_until > clock_timestamp(), false) AS probe_pending
FROM integrations WHERE name = $1 FOR UPDATE

-- name: count_running
-- Purpose: what runs now in the queues of an integration. Locks: none; read after lock_integration.
SELECT count(*) FROM job_running WHERE queue = ANY ($1::text[])

-- name: spend_tokens
-- Purpose: what a claim took from the bucket. Locks: the row (held by lock_integration already).
-- $1 name, $2 tokens left, $3 the breaker lets one probe through, $4 how long a probe may take.
UPDATE integrations SET tokens = $2, refilled_at = clock_timestamp(),
    breaker = CASE WHEN $3 THEN 'half_open' ELSE breaker END,
    changed_at = CASE WHEN $3 AND breaker <> 'half_open' THEN clock_timestamp() ELSE changed_at END,
    probe_until = CASE WHEN $3 THEN clock_timestamp() + make_interval(secs => $4) ELSE probe_until END
WHERE name = $1

-- name: note_outcome
-- Purpose: one outcome into its second of the sliding window. Locks: that second's row.
INSERT INTO integration_outcomes (integration, bucket_at, successes, failures)
VALUES ($1, date_trunc('second', clock_timestamp()), $2, $3)
ON CONFLICT (integration, bucket_at) DO UPDATE SET
    successes = integration_outcomes.successes + excluded.successes,
    failures = integration_outcomes.failures + excluded.failures

-- name: window_counts
-- Purpose: outcomes of the last $2 seconds. Locks: none; the integration's row is held.
SELECT coalesce(sum(successes), 0)::int AS successes, coalesce(sum(failures), 0)::int AS failures
FROM integration_outcomes WHERE integration = $1 AND bucket_at > clock_timestamp() - make_interval(secs => $2)

-- name: move_breaker
-- Purpose: a new state of the breaker; whatever probe was out is forgotten. Locks: the row (held already).
UPDATE integrations SET breaker = $2, changed_at = clock_timestamp(), probe_until = NULL WHERE name = $1

-- name: clear_window
-- Purpose: begin counting anew after an outage. Locks: the deleted rows.
DELETE FROM integration_outcomes WHERE integration = $1

-- name: list_integrations
-- Purpose: gates with their last minute, for people and metrics. Locks: none.
SELECT i.name, i.tokens, i.breaker, i.changed_at, i.probe_until,
       coalesce(o.successes, 0)::int AS successes, coalesce(o.failures, 0)::int AS failures
FROM integrations i LEFT JOIN (
    SELECT integration, sum(successes) AS successes, sum(failures) AS failures FROM integration_outcomes
    WHERE bucket_at > clock_timestamp() - interval '60 seconds' GROUP BY integration
) o ON o.integration = i.name ORDER BY i.name
