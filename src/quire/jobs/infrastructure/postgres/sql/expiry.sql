-- Expiry and pruning, in pages, by one sweeper at a time.

-- name: due_for_expiry
-- $1 limit. Locks: none; the storage is cleaned before the row is marked, and both may be repeated.
SELECT id, state, artifact_key FROM jobs
WHERE NOT gone AND expires_at <= now() AND state IN ('succeeded','failed','cancelled')
ORDER BY expires_at LIMIT $1

-- name: artifacts_of_jobs
-- Purpose: all bytes of jobs that are about to expire, published or not. Locks: none.
SELECT job_id, artifact_key FROM artifacts WHERE job_id = ANY ($1::uuid[])

-- name: expire_jobs
-- Purpose: mark jobs expired, drop their artifact records, close what problems they have. Locks: the rows.
WITH due AS MATERIALIZED (
    SELECT id, state FROM jobs WHERE id = ANY ($1::uuid[]) AND expires_at <= now()
      AND state IN ('succeeded','failed','cancelled') ORDER BY id FOR UPDATE
), updated AS (
    UPDATE jobs j SET state = 'expired', expires_at = now(), artifact_key = NULL, updated_at = now()
    FROM due WHERE j.id = due.id
    RETURNING j.id, j.attempt, j.fence, j.kind, due.state AS from_state
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor, reason)
    SELECT id, from_state, 'expired', attempt, fence, $2, 'ttl' FROM updated
), closed AS (
    UPDATE problems p SET user_decision = 'expired', decided_by = $2, decided_at = now()
    FROM updated u WHERE p.job_id = u.id AND p.user_decision IS NULL
), dropped AS (
    DELETE FROM artifacts a USING updated u WHERE a.job_id = u.id
)
SELECT kind FROM updated

-- name: prune_events
-- Purpose: drop old lines of ended jobs' timelines. $1 age days, $2 limit. Locks: the deleted rows.
DELETE FROM job_events WHERE ctid = ANY (ARRAY(
    SELECT e.ctid FROM job_events e JOIN jobs j ON j.id = e.job_id
    WHERE e.at < now() - make_interval(secs => $1 * 86400) AND j.state = 'expired' LIMIT $2))

-- name: prune_jobs
-- Purpose: forget jobs that expired long ago, with all that hangs on them. $1 age days, $2 limit.
-- Locks: SKIP LOCKED on the jobs, then the deleted rows.
WITH old AS MATERIALIZED (
    SELECT id FROM jobs WHERE gone AND expires_at < now() - make_interval(secs => $1 * 86400)
    ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (DELETE FROM jobs WHERE id = ANY (ARRAY(SELECT id FROM old)) RETURNING id),
events AS (DELETE FROM job_events WHERE job_id = ANY (ARRAY(SELECT id FROM old))),
links AS (DELETE FROM job_dependencies WHERE job_id = ANY (ARRAY(SELECT id FROM old)) OR depends_on = ANY (ARRAY(SELECT id FROM old))),
interests AS (DELETE FROM job_interests WHERE job_id = ANY (ARRAY(SELECT id FROM old))),
closed AS (DELETE FROM problems WHERE job_id = ANY (ARRAY(SELECT id FROM old)))
SELECT count(*) FROM gone

-- name: prune_outcomes
-- Purpose: drop seconds that no breaker's window reaches any more. Locks: the deleted rows.
DELETE FROM integration_outcomes WHERE bucket_at < now() - interval '1 hour'

-- name: mend_lines
-- Purpose: rows of job_lanes and job_running that say something else than the job does. None should exist; one that did
--   would count against a cap, or be picked in vain. Locks: the deleted rows.
WITH idle AS (
    DELETE FROM job_running r WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = r.job_id AND j.state = 'running')
)
DELETE FROM job_lanes l WHERE NOT EXISTS (
    SELECT 1 FROM jobs j WHERE j.id = l.job_id AND j.state IN ('queued','waiting'))

-- name: sweep_backlog
-- Purpose: what is due and not yet swept, each counted up to $1, with the age of the oldest. $2 days that a job is kept
--   after it expired, $3 seconds that a stray is left alone. Locks: none.
SELECT 'expiry' AS chore, count(*)::int AS due, coalesce(extract(epoch FROM now() - min(due_at)), 0)::float8 AS oldest_seconds
FROM (SELECT expires_at AS due_at FROM jobs
      WHERE NOT gone AND expires_at <= now() AND state IN ('succeeded','failed','cancelled')
      ORDER BY expires_at LIMIT $1) e
UNION ALL
SELECT 'strays', count(*)::int, coalesce(extract(epoch FROM now() - min(due_at)), 0)::float8
FROM (SELECT a.created_at + make_interval(secs => $3) AS due_at FROM artifacts a
      WHERE a.state = 'pending' AND a.created_at < now() - make_interval(secs => $3)
        AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = a.job_id AND j.state = 'running' AND j.fence = a.fence)
      ORDER BY a.created_at LIMIT $1) s
UNION ALL
SELECT 'pruning', count(*)::int, coalesce(extract(epoch FROM now() - min(due_at)), 0)::float8
FROM (SELECT expires_at + make_interval(secs => $2 * 86400) AS due_at FROM jobs
      WHERE gone AND expires_at < now() - make_interval(secs => $2 * 86400)
      ORDER BY expires_at LIMIT $1) p

-- name: prune_ticks
-- Purpose: forget old ticks of schedules; the newest of each stays, for overlap and for people. $1 limit.
-- Locks: the deleted rows.
DELETE FROM schedule_ticks WHERE ctid = ANY (ARRAY(
    SELECT t.ctid FROM schedule_ticks t
    WHERE t.noted_at < now() - interval '30 days'
      AND t.tick_at < (SELECT max(n.tick_at) FROM schedule_ticks n
                       WHERE n.tenant_id = t.tenant_id AND n.schedule = t.schedule)
    LIMIT $1))
