-- Reading jobs, and a person's commands on them.
-- An ended job whose time is over is read as expired (`t.state`) and without its artifact, whether the sweep has been
-- there or not.

-- name: get_job
-- $1 id, $2 tenant or NULL for all, $3 principal that must be the creator or interested, or NULL. Locks: none.
SELECT j.id, t.state, j.kind, j.queue, j.priority, j.tenant_id, j.created_by, j.attempt, j.retry_count, j.crash_count,
       j.fence, j.pending_dependencies, j.progress_percent, j.created_at, j.updated_at, j.run_at, j.started_at,
       j.finished_at, j.expires_at, j.lease_expires_at, j.cancel_requested_at, j.leased_by, j.job_key, j.traceparent,
       CASE WHEN t.state <> 'expired' THEN j.artifact_key END AS artifact_key, j.document_id, j.external_ref,
       j.error_code, j.error_message, j.payload, j.result
FROM jobs j
CROSS JOIN LATERAL (SELECT CASE WHEN j.expires_at <= now() AND j.state IN ('succeeded','failed','cancelled')
                                THEN 'expired' ELSE j.state END AS state) t
WHERE j.id = $1 AND ($2::text IS NULL OR j.tenant_id = $2)
  AND ($3::text IS NULL OR j.created_by = $3
       OR EXISTS (SELECT 1 FROM job_interests i WHERE i.job_id = j.id AND i.principal_id = $3))

-- name: get_outcome
-- Purpose: a job with its published artifact, in one round trip. $1 to $3 as of get_job, $4 whether
-- what it was asked with comes, too: that may be long. Locks: none.
SELECT j.id, t.state, j.kind, j.queue, j.priority, j.tenant_id, j.created_by, j.attempt, j.retry_count, j.crash_count,
       j.fence, j.pending_dependencies, j.progress_percent, j.created_at, j.updated_at, j.run_at, j.started_at,
       j.finished_at, j.expires_at, j.lease_expires_at, j.cancel_requested_at, j.leased_by, j.job_key, j.traceparent,
       CASE WHEN t.state <> 'expired' THEN j.artifact_key END AS artifact_key, j.document_id, j.external_ref,
       j.error_code, j.error_message,
       CASE WHEN $4 THEN j.payload END AS payload, j.result,
       a.job_id AS artifact_job_id, a.content_type, a.filename, a.size_bytes, a.sha256,
       extract(epoch FROM j.expires_at - now())::float8 AS seconds_left
FROM jobs j
CROSS JOIN LATERAL (SELECT CASE WHEN j.expires_at <= now() AND j.state IN ('succeeded','failed','cancelled')
                                THEN 'expired' ELSE j.state END AS state) t
LEFT JOIN artifacts a ON a.job_id = j.id AND a.artifact_key = j.artifact_key AND a.state = 'ready' AND t.state <> 'expired'
WHERE j.id = $1 AND ($2::text IS NULL OR j.tenant_id = $2)
  AND ($3::text IS NULL OR j.created_by = $3
       OR EXISTS (SELECT 1 FROM job_interests i WHERE i.job_id = j.id AND i.principal_id = $3))

-- name: list_jobs
-- Newest first, by id. $1 tenant or NULL, $2 states or empty, $3 kind, $4 queue, $5 before id, $6 limit, $7 principal,
-- $8 whether payload and result come, too: a list is for finding, and they may be long. Locks: none.
SELECT j.id, t.state, j.kind, j.queue, j.priority, j.tenant_id, j.created_by, j.attempt, j.retry_count, j.crash_count,
       j.fence, j.pending_dependencies, j.progress_percent, j.created_at, j.updated_at, j.run_at, j.started_at,
       j.finished_at, j.expires_at, j.lease_expires_at, j.cancel_requested_at, j.leased_by, j.job_key, j.traceparent,
       CASE WHEN t.state <> 'expired' THEN j.artifact_key END AS artifact_key, j.document_id, j.external_ref,
       j.error_code, j.error_message,
       CASE WHEN $8 THEN j.payload END AS payload, CASE WHEN $8 THEN j.result END AS result
FROM jobs j
CROSS JOIN LATERAL (SELECT CASE WHEN j.expires_at <= now() AND j.state IN ('succeeded','failed','cancelled')
                                THEN 'expired' ELSE j.state END AS state) t
WHERE ($1::text IS NULL OR j.tenant_id = $1)
  AND (cardinality($2::text[]) = 0 OR t.state = ANY ($2::text[]))
  AND ($3::text IS NULL OR j.kind = $3) AND ($4::text IS NULL OR j.queue = $4)
  AND ($5::uuid IS NULL OR j.id < $5)
  AND ($7::text IS NULL OR j.created_by = $7
       OR EXISTS (SELECT 1 FROM job_interests i WHERE i.job_id = j.id AND i.principal_id = $7))
ORDER BY j.id DESC LIMIT $6

-- name: job_of_sha256
-- Purpose: the newest job whose artifact has these bytes and is still kept. $1 sha256, $2 kind, $3 tenant or NULL,
-- $4 principal or NULL. Locks: none. Begins at artifacts_sha256; the same bytes belong to few jobs.
SELECT j.id FROM artifacts a JOIN jobs j ON j.id = a.job_id AND j.artifact_key = a.artifact_key
WHERE a.sha256 = $1 AND a.state = 'ready' AND (j.expires_at > now() OR j.expires_at IS NULL)
  AND j.kind = $2 AND ($3::text IS NULL OR j.tenant_id = $3)
  AND ($4::text IS NULL OR j.created_by = $4
       OR EXISTS (SELECT 1 FROM job_interests i WHERE i.job_id = j.id AND i.principal_id = $4))
ORDER BY j.id DESC LIMIT 1

-- name: timeline
-- Purpose: a job's moves in their order. Locks: none.
SELECT at, from_state, to_state, attempt, fence, actor, reason, error_code, duration_ms
FROM job_events WHERE job_id = $1 ORDER BY at, event_no LIMIT 1000

-- name: dependencies
-- Purpose: what a job waits for or waited for. Locks: none.
SELECT depends_on FROM job_dependencies WHERE job_id = $1 ORDER BY depends_on LIMIT 1000

-- name: visible_among
-- Purpose: which of these jobs a caller may see. $2 tenant or NULL, $3 principal or NULL. Locks: none.
SELECT j.id FROM jobs j
WHERE j.id = ANY ($1::uuid[]) AND ($2::text IS NULL OR j.tenant_id = $2)
  AND ($3::text IS NULL OR j.created_by = $3
       OR EXISTS (SELECT 1 FROM job_interests i WHERE i.job_id = j.id AND i.principal_id = $3))

-- name: ended_among
-- Purpose: which of the awaited jobs have ended, in one look for all waiters of a process. Locks: none.
SELECT id FROM jobs WHERE id = ANY ($1::uuid[]) AND state IN ('succeeded','failed','cancelled','expired')

-- name: lock_job
-- Purpose: hold one job still for a person's command. Locks: FOR UPDATE.
SELECT id, state, created_by, fence, attempt, job_key, cancel_requested_at, artifact_key FROM jobs
WHERE id = $1 AND ($2::text IS NULL OR tenant_id = $2)
  AND ($3::text IS NULL OR created_by = $3
       OR EXISTS (SELECT 1 FROM job_interests i WHERE i.job_id = jobs.id AND i.principal_id = $3))
FOR UPDATE

-- name: withdraw_interest
-- Purpose: one principal no longer wants the job. Locks: the row; the job is held by lock_job.
UPDATE job_interests SET withdrawn_at = now() WHERE job_id = $1 AND principal_id = $2 AND withdrawn_at IS NULL

-- name: count_interests
-- Purpose: how many still want the job, now that $2 does not. A creator nobody joined has no row, and counts.
SELECT (SELECT count(*) FROM job_interests i WHERE i.job_id = j.id AND i.withdrawn_at IS NULL)
     + (j.created_by <> $2 AND NOT EXISTS (
           SELECT 1 FROM job_interests i WHERE i.job_id = j.id AND i.principal_id = j.created_by))::int
FROM jobs j WHERE j.id = $1

-- name: lock_lane
-- Purpose: hold a queued job's place in its lane before the job itself: the order in which a claim locks. Waits for a
--   claim under way and then finds nothing. Locks: FOR UPDATE on that row.
SELECT l.job_id FROM jobs j JOIN job_lanes l ON l.queue = j.queue AND l.priority = j.priority AND l.job_id = j.id
  AND l.run_at = j.run_at
WHERE j.id = $1 AND j.state = 'queued' FOR UPDATE OF l

-- name: cancel_unstarted
-- Purpose: end a job that nobody runs. Locks: the rows (held by lock_lane and lock_job already).
WITH updated AS (
    UPDATE jobs SET state = 'cancelled', finished_at = now(), updated_at = now(), cancel_requested_at = now(),
        expires_at = now() + interval '7 days'
    WHERE id = $1 AND state IN ('waiting','queued')
    RETURNING id, attempt, fence, queue, priority, run_at
), left_line AS (
    DELETE FROM job_lanes l USING updated u WHERE l.queue = u.queue AND l.priority = u.priority AND l.job_id = u.id
      AND l.run_at = CASE WHEN $2 = 'waiting' THEN 'infinity' ELSE u.run_at END
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor, reason)
    SELECT id, $2, 'cancelled', attempt, fence, $3, 'cancelled' FROM updated
)
SELECT id FROM updated

-- name: request_cancel
-- Purpose: ask the holder of a running job to stop; its heartbeat hears of it. Locks: the row (held already).
UPDATE jobs SET cancel_requested_at = coalesce(cancel_requested_at, now()), updated_at = now()
WHERE id = $1 AND state = 'running'

-- name: restart_job
-- Purpose: an approved restart: counters begin anew, the fence goes on. May hit jobs_live_key when a newer job does
--   the same work. $1 id, $2 actor, $3 target state, $4 pending dependencies. Locks: the row.
WITH updated AS (
    UPDATE jobs SET state = $3, attempt = 0, crash_count = 0, run_at = now(), finished_at = NULL,
        expires_at = NULL, cancel_requested_at = NULL, error_code = NULL, error_message = NULL, updated_at = now(),
        pending_dependencies = $4
    WHERE id = $1 AND state = 'failed' AND (expires_at > now() OR expires_at IS NULL)
    RETURNING id, attempt, fence, state, queue, priority, run_at, tenant_id, tenant_lane
), lined_up AS (
    INSERT INTO job_lanes (queue, priority, run_at, job_id, tenant_id, tenant_lane)
    SELECT queue, priority, CASE WHEN state = 'waiting' THEN 'infinity' ELSE run_at END, id, tenant_id, tenant_lane
    FROM updated
    ON CONFLICT DO NOTHING
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor, reason)
    SELECT id, 'failed', state, attempt, fence, $2, 'restarted' FROM updated
)
SELECT id, state FROM updated

-- name: unfinished_dependencies
-- Purpose: which jobs this one waits for are still to come, and which cannot succeed any more: an expired job counts
--   as done only if it ever succeeded, not when a person gave it up.
-- Locks: FOR SHARE on them, so that none finishes between the count and the restart.
SELECT state IN ('waiting','queued','running') AS pending,
       state IN ('failed','cancelled') OR (state = 'expired' AND NOT EXISTS (
           SELECT 1 FROM job_events e WHERE e.job_id = jobs.id AND e.to_state = 'succeeded')) AS dead
FROM jobs WHERE id IN (SELECT depends_on FROM job_dependencies WHERE job_id = $1)
ORDER BY id FOR SHARE

-- name: failed_dependants
-- Purpose: jobs that failed only because this one did. Locks: FOR UPDATE in id order.
SELECT j.id FROM jobs j WHERE j.state = 'failed' AND j.error_code = 'DEPENDENCY_FAILED'
  AND j.id IN (SELECT job_id FROM job_dependencies WHERE depends_on = $1)
ORDER BY j.id FOR UPDATE

-- name: discard_job
-- Purpose: a person gives a dead letter up. Locks: the row.
WITH updated AS (
    UPDATE jobs SET state = 'expired', updated_at = now(), expires_at = now() WHERE id = $1 AND state = 'failed'
    RETURNING id, attempt, fence
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor, reason)
    SELECT id, 'failed', 'expired', attempt, fence, $2, 'discarded' FROM updated
)
SELECT id FROM updated

-- name: live_job_of_key
-- Purpose: who does this work now. Locks: none.
SELECT id FROM jobs WHERE job_key = $1 AND live

-- name: queue_depths
-- Purpose: what each queue holds. Reads job_lanes and job_running alone; each count stops at $1 so that a flood cannot
--   make this page slow. One range for each class: another order would read all that is not due. Locks: none.
SELECT q.name,
       (SELECT count(*) FROM job_running r WHERE r.queue = q.name) AS running,
       (SELECT count(*) FROM (SELECT 1 FROM generate_series(0, 3) p CROSS JOIN LATERAL (
            SELECT 1 FROM job_lanes l WHERE l.queue = q.name AND l.priority = p
            AND l.run_at <= now() LIMIT $1) x LIMIT $1) y) AS queued,
       (SELECT count(*) FROM (SELECT 1 FROM generate_series(0, 3) p CROSS JOIN LATERAL (
            SELECT 1 FROM job_lanes l WHERE l.queue = q.name AND l.priority = p
            AND l.run_at > now() AND l.run_at < 'infinity' LIMIT $1) x LIMIT $1) y) AS scheduled,
       (SELECT count(*) FROM (SELECT 1 FROM generate_series(0, 3) p CROSS JOIN LATERAL (
            SELECT 1 FROM job_lanes l WHERE l.queue = q.name AND l.priority = p
            AND l.run_at = 'infinity' LIMIT $1) x LIMIT $1) y) AS waiting,
       (SELECT extract(epoch FROM now() - min(h.run_at)) FROM generate_series(0, 3) p CROSS JOIN LATERAL (
            SELECT l.run_at FROM job_lanes l WHERE l.queue = q.name AND l.priority = p
            AND l.run_at <= now() ORDER BY l.run_at LIMIT 1) h)::float8 AS oldest_queued_seconds,
       s.paused_at, s.paused_by
FROM unnest($2::text[]) AS q(name) LEFT JOIN queues s ON s.name = q.name ORDER BY q.name

-- name: pause_queue
-- Purpose: no more claims from a queue; who paused it first stays named. Locks: the row, after a claim under way.
INSERT INTO queues (name, paused_at, paused_by) VALUES ($1, now(), $2)
ON CONFLICT (name) DO UPDATE SET paused_at = coalesce(queues.paused_at, now()), paused_by = coalesce(queues.paused_by, $2), updated_at = now()

-- name: queue_pause
-- Purpose: who paused a queue, for whoever waits for a job in it. Locks: none.
SELECT paused_at, paused_by FROM queues WHERE name = $1 AND paused_at IS NOT NULL

-- name: resume_queue
-- Purpose: claims go on. Locks: the row.
UPDATE queues SET paused_at = NULL, paused_by = NULL, updated_at = now() WHERE name = $1

-- name: register_queues
-- Purpose: a row per queue, so that claims under tenant rules have something to lock.
INSERT INTO queues (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING

-- name: adopt_tenant_lanes
-- Purpose: after a policy change, unfinished jobs from before it join the index of tenant lanes; those that run may
--   come back to the queue later. Locks: the rows.
WITH lined_up AS (
    UPDATE job_lanes SET tenant_lane = true WHERE queue = ANY ($1::text[]) AND NOT tenant_lane RETURNING job_id
)
UPDATE jobs SET tenant_lane = true WHERE NOT tenant_lane AND id = ANY (ARRAY(
    SELECT job_id FROM lined_up UNION ALL SELECT job_id FROM job_running WHERE queue = ANY ($1::text[])))

-- name: lock_queue
-- Locks: FOR UPDATE; claims of this queue go one at a time while it is held.
SELECT paused_at IS NOT NULL AS paused FROM queues WHERE name = $1 FOR UPDATE
