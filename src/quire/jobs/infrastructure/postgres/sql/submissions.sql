-- Enqueue: one statement a batch, idempotent by job_key.

-- name: insert_jobs
-- Purpose: store new jobs; a key that is live already inserts nothing for that row. Rows are ordered by key, so two
--   batches that share keys wait for each other in one order and cannot deadlock. A run_at in the past, or none, is
--   now: nobody dates a job back to the front of its lane.
-- $1.. arrays, one element a job; an empty array stands for a column of defaults. Locks: unique entries of the keys; waits for a racing insert of the same key.
WITH input AS (
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::smallint[], $6::text[], $7::text[],
                         $8::text[], $9::bytea[], $10::timestamptz[], $11::int[], $12::text[], $13::bool[],
                         $14::text[], $15::text[], $16::float8[])
        AS i(id, state, kind, queue, priority, tenant_id, created_by, payload, job_key, run_at, pending_dependencies,
             traceparent, tenant_lane, document_id, external_ref, ttl_seconds)
), inserted AS (
    INSERT INTO jobs (id, state, kind, queue, priority, tenant_id, created_by, payload, job_key, run_at,
                      pending_dependencies, traceparent, tenant_lane, document_id, external_ref, expires_at)
    SELECT id, coalesce(state, 'queued'), kind, queue, priority, tenant_id, created_by, payload::jsonb, job_key,
           greatest(run_at, now()), coalesce(pending_dependencies, 0), traceparent, coalesce(tenant_lane, false),
           document_id, external_ref,
           CASE WHEN ttl_seconds > 0 THEN now() + make_interval(secs => ttl_seconds) END
    FROM input ORDER BY job_key
    ON CONFLICT (job_key) WHERE live AND job_key IS NOT NULL DO NOTHING
    RETURNING id, state, created_by, queue, priority, run_at, tenant_id, tenant_lane
), lined_up AS (
    INSERT INTO job_lanes (queue, priority, run_at, job_id, tenant_id, tenant_lane)
    SELECT queue, priority, CASE WHEN state = 'waiting' THEN 'infinity' ELSE run_at END, id, tenant_id, tenant_lane
    FROM inserted
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor)
    SELECT id, NULL, state, 0, 0, created_by FROM inserted
)
SELECT id FROM inserted

-- name: insert_job
-- Purpose: the same for one job that waits for no other: most calls bring one, and arrays of one cost a fifth more.
-- $1 id, $2 kind, $3 queue, $4 priority, $5 tenant, $6 creator, $7 payload, $8 key, $9 run_at, $10 traceparent,
-- $11 tenant_lane, $12 document, $13 external ref, $14 ttl seconds. Locks: as insert_jobs.
WITH inserted AS (
    INSERT INTO jobs (id, state, kind, queue, priority, tenant_id, created_by, payload, job_key, run_at,
                      traceparent, tenant_lane, document_id, external_ref, expires_at)
    VALUES ($1, 'queued', $2, $3, $4, $5, $6, $7::text::jsonb, $8, greatest($9, now()), $10, $11, $12, $13,
            CASE WHEN $14::float8 > 0 THEN now() + make_interval(secs => $14) END)
    ON CONFLICT (job_key) WHERE live AND job_key IS NOT NULL DO NOTHING
    RETURNING id, created_by, queue, priority, run_at, tenant_id, tenant_lane
), lined_up AS (
    INSERT INTO job_lanes (queue, priority, run_at, job_id, tenant_id, tenant_lane)
    SELECT queue, priority, run_at, id, tenant_id, tenant_lane FROM inserted
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor)
    SELECT id, NULL, 'queued', 0, 0, created_by FROM inserted
)
SELECT id FROM inserted

-- name: survey
-- Purpose: all that is looked at before work is stored, in one round trip: the jobs that already hold the keys $1, with
--   their published artifacts, and which of the queues $2 a live worker takes work from. $3 seconds of silence allowed.
--   A job whose time is over still holds its key, and is told as expired. Locks: none.
SELECT j.id, j.job_key,
       CASE WHEN j.state = 'succeeded' AND j.expires_at <= now() THEN 'expired' ELSE j.state END AS state, j.created_by,
       j.artifact_key, a.content_type, a.filename, a.size_bytes, a.sha256,
       NULL::text AS queue
FROM jobs j
LEFT JOIN artifacts a ON a.job_id = j.id AND a.artifact_key = j.artifact_key AND a.state = 'ready'
WHERE j.job_key = ANY ($1::bytea[]) AND j.live
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, q.queue
FROM unnest($2::text[]) AS q(queue)
WHERE EXISTS (
    SELECT 1 FROM worker_presence p JOIN workers w ON w.id = p.worker_id
    WHERE p.beat_at > clock_timestamp() - make_interval(secs => $3) AND p.claiming AND q.queue = ANY (w.queues))

-- name: add_interests
-- Purpose: who asked for the same work gets the creator's read rights, and a say in cancelling. The creator's own
--   interest is written down with the first other one.
-- $1 job ids, $2 principal ids. Locks: shares the job rows against a cancel that is counting interests;
--   returns only jobs still live under that lock.
WITH asked AS (
    SELECT * FROM unnest($1::uuid[], $2::text[]) AS a(job_id, principal_id)
), held AS MATERIALIZED (
    SELECT j.id, j.created_by FROM jobs j
    WHERE j.id = ANY ($1::uuid[]) AND j.state IN ('waiting','queued','running','succeeded')
    ORDER BY j.id FOR KEY SHARE
), added AS (
    INSERT INTO job_interests (job_id, principal_id)
    SELECT a.job_id, a.principal_id FROM asked a JOIN held h ON h.id = a.job_id WHERE a.principal_id <> h.created_by
    UNION
    SELECT h.id, h.created_by FROM asked a JOIN held h ON h.id = a.job_id WHERE a.principal_id <> h.created_by
    ON CONFLICT (job_id, principal_id) DO NOTHING
), returned AS (
    UPDATE job_interests i SET withdrawn_at = NULL
    FROM asked a WHERE i.job_id = a.job_id AND i.principal_id = a.principal_id AND i.withdrawn_at IS NOT NULL
)
SELECT id FROM held

-- name: expire_holders
-- Purpose: jobs whose time is over let go of their keys, before the sweep comes. Their bytes are left to it: the records
--   of them become those of strays. $1 job ids, $2 actor. Locks: the rows, in id order.
WITH due AS MATERIALIZED (
    SELECT id FROM jobs WHERE id = ANY ($1::uuid[]) AND state = 'succeeded' AND expires_at <= now()
    ORDER BY id FOR UPDATE
), updated AS (
    UPDATE jobs j SET state = 'expired', updated_at = now(), expires_at = now(), artifact_key = NULL
    FROM due WHERE j.id = due.id
    RETURNING j.id, j.attempt, j.fence, j.kind
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor, reason)
    SELECT id, 'succeeded', 'expired', attempt, fence, $2, 'ttl' FROM updated
), left_over AS (
    UPDATE artifacts a SET state = 'pending' FROM updated u WHERE a.job_id = u.id
)
SELECT kind FROM updated

-- name: expire_vanished
-- Purpose: a succeeded job whose artifact is gone no longer answers for its key, nor is the artifact recorded any more.
-- Locks: the rows.
WITH updated AS (
    UPDATE jobs SET state = 'expired', updated_at = now(), expires_at = now(), artifact_key = NULL
    WHERE id = $1 AND state = 'succeeded' AND artifact_key = $2
    RETURNING id, attempt, fence
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor, reason)
    SELECT id, 'succeeded', 'expired', attempt, fence, $3, 'artifact_gone' FROM updated
), dropped AS (
    DELETE FROM artifacts a USING updated u WHERE a.job_id = u.id AND a.artifact_key = $2
)
SELECT id FROM updated

-- name: lock_dependencies
-- Purpose: the states of the jobs to wait for, held still until the waiting job is stored.
-- Locks: FOR SHARE on them, in id order; a completer waits for us.
SELECT id, CASE WHEN state = 'succeeded' AND expires_at <= now() THEN 'expired' ELSE state END AS state, tenant_id
FROM jobs WHERE id = ANY ($1::uuid[]) ORDER BY id FOR SHARE

-- name: insert_dependencies
-- Purpose: who waits for whom. Locks: unique entries; the jobs to wait for are held by lock_dependencies.
INSERT INTO job_dependencies (job_id, depends_on) SELECT * FROM unnest($1::uuid[], $2::uuid[]) ON CONFLICT DO NOTHING

-- name: count_tenant_queued
-- Purpose: how much of a tenant is due, scheduled or waiting for other jobs in one queue, up to $3 (no need to count
--   further). A waiting job has its row already, so its release changes no count. Locks: none.
SELECT count(*) FROM (
    SELECT 1 FROM job_lanes WHERE tenant_lane AND queue = $1 AND tenant_id = $2 LIMIT $3
) AS counted

-- name: lock_tenant_quota
-- Purpose: enqueues of one tenant into one quota queue go one at a time, so that the count holds.
-- Locks: transaction-scoped advisory lock, released at commit.
SELECT pg_advisory_xact_lock(hashtextextended($1 || '/' || $2, 7))
