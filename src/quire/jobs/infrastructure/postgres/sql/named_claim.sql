-- Claims of jobs that messages named. The same moves as claim_lanes in leases.sql, which stays the model.

-- name: claim_named_jobs
-- Purpose: take those of the jobs $2 that are due, in one of the open queues $3 and not outranked: nothing of a smaller
--   class is due in any of the queues $4 that the worker serves, and nothing older of the same class behind a gate,
--   which no message names. What is not taken here is not lost: the caller makes an ordinary claim next, which takes
--   the most urgent job of all, gates and pauses respected.
-- $1 worker id, $2 job ids, $3 names of open queues, $4 names of all queues served, $5 limit, $6 lease seconds.
-- Locks: the row of each job in its lane, SKIP LOCKED, so of two workers with the same message one gets the job.
-- Planner: LATERAL with a LIMIT keeps each look-up on its index, however long the lanes are.
WITH named AS MATERIALIZED (
    SELECT id, queue, priority, run_at FROM jobs
    WHERE id = ANY ($2::uuid[]) AND state = 'queued' AND run_at <= now() AND queue = ANY ($3::text[])
      AND NOT EXISTS (SELECT 1 FROM queues s WHERE s.name = jobs.queue AND s.paused_at IS NOT NULL)
), urgent AS MATERIALIZED (
    SELECT p.priority, CASE WHEN q.queue = ANY ($3::text[]) THEN 'infinity' ELSE due.run_at END AS run_at
    FROM unnest($4::text[]) AS q(queue) CROSS JOIN generate_series(0, 3) AS p(priority)
    CROSS JOIN LATERAL (
        SELECT l.run_at FROM job_lanes l
        WHERE l.queue = q.queue AND l.priority = p.priority AND l.run_at <= now() AND NOT l.solo
        ORDER BY l.run_at, l.job_id LIMIT 1
    ) AS due
    WHERE NOT EXISTS (SELECT 1 FROM queues s WHERE s.name = q.queue AND s.paused_at IS NOT NULL)
    ORDER BY 1, 2 LIMIT 1
), wanted AS MATERIALIZED (
    SELECT named.* FROM named, urgent WHERE (named.priority, named.run_at) <= (urgent.priority, urgent.run_at)
    ORDER BY named.priority, named.run_at, named.id LIMIT $5
), picked AS MATERIALIZED (
    SELECT held.job_id, held.place FROM wanted CROSS JOIN LATERAL (
        SELECT l.job_id, l.ctid AS place FROM job_lanes l
        WHERE l.queue = wanted.queue AND l.priority = wanted.priority AND l.run_at = wanted.run_at
          AND l.job_id = wanted.id AND NOT l.solo
        LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS held
), taken AS (
    DELETE FROM job_lanes WHERE ctid = ANY (ARRAY(SELECT place FROM picked))
), claimed AS (
    UPDATE jobs SET
        state = 'running', fence = fence + 1, attempt = attempt + 1, leased_by = $1,
        lease_expires_at = now() + make_interval(secs => $6), started_at = coalesce(started_at, now()),
        updated_at = now(), progress_percent = NULL
    WHERE id = ANY (ARRAY(SELECT job_id FROM picked)) AND state = 'queued'
    RETURNING id, fence, kind, queue, priority, tenant_id, created_by, attempt, crash_count, payload, traceparent,
              document_id, external_ref, run_at, created_at
), running AS (
    INSERT INTO job_running (job_id, queue, tenant_id) SELECT id, queue, tenant_id FROM claimed
    ON CONFLICT (job_id) DO NOTHING
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor)
    SELECT id, 'queued', 'running', attempt, fence, $1::text FROM claimed
)
SELECT id, fence, kind, queue, tenant_id, created_by, attempt, crash_count, payload::text AS payload_text, traceparent,
       document_id, external_ref, extract(epoch FROM now() - created_at)::float8 AS age_seconds, priority, run_at
FROM claimed ORDER BY priority, run_at, id
