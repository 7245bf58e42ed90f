-- Claim, renew, finish, reclaim. Every write but the claim and the reclaim carries (id, fence, leased_by). Those
-- writes do not ask for state = 'running': a lease exists exactly while a job runs (a CHECK of the table).
-- A job is in job_lanes while it is queued or waiting, and in job_running while it runs; the statement that moves it
-- moves that row too. Lock order everywhere: job_lanes, then jobs, then job_running.
-- A suspect is a job that the next crash would make a dead letter. Its row in job_lanes says solo, and only claim_suspect
-- takes it: for a worker that runs nothing else, so that a crash is that job's own and nobody else's.

-- name: find_turns
-- Purpose: whose turn it is in one order of class and age: those of the lanes ($1 queues, $2 classes) that hold the $3
--   most urgent due jobs, and how many of these each holds. A lane that is the only one with due work is not counted
--   (NULL): it may give what it has.
-- Locks: none; the claim that follows skips what another worker took meanwhile.
-- Planner: LATERAL with a LIMIT keeps each look-up on its index; what is not due yet is never read.
WITH heads AS MATERIALIZED (
    SELECT lane.queue, lane.priority
    FROM unnest($1::text[], $2::smallint[]) AS lane(queue, priority)
    CROSS JOIN LATERAL (
        SELECT 1 FROM job_lanes l
        WHERE l.queue = lane.queue AND l.priority = lane.priority AND l.run_at <= now() AND NOT l.solo
        ORDER BY l.run_at, l.job_id LIMIT 1
    ) AS head
    WHERE NOT EXISTS (SELECT 1 FROM queues s WHERE s.name = lane.queue AND s.paused_at IS NOT NULL)
), urgent AS MATERIALIZED (
    SELECT heads.queue, heads.priority
    FROM heads CROSS JOIN LATERAL (
        SELECT l.run_at, l.job_id FROM job_lanes l
        WHERE l.queue = heads.queue AND l.priority = heads.priority AND l.run_at <= now() AND NOT l.solo
        ORDER BY l.run_at, l.job_id LIMIT $3
    ) AS due
    WHERE (SELECT count(*) FROM heads) > 1
    ORDER BY heads.priority, due.run_at, due.job_id LIMIT $3
)
SELECT queue, priority, count(*)::int AS jobs FROM urgent GROUP BY queue, priority
UNION ALL
SELECT queue, priority, NULL FROM heads WHERE (SELECT count(*) FROM heads) = 1

-- name: claim_lanes
-- Purpose: take up to $5 due jobs from lanes ($2 queues, $3 classes), from each at most its share ($4), oldest first,
--   lane after lane in the order given. find_turns has decided the shares.
-- $1 worker id, $6 lease seconds.
-- Locks: row locks on the claimed rows only, SKIP LOCKED. `picked` pulls lane after lane and stops at the limit:
--   the executor streams, so rows beyond the limit are not locked. A locked row keeps its place (ctid).
-- Planner: ANY(ARRAY(..)) keeps the update on the primary key; a join against `picked` can turn into a hash join
--   over the whole table, because a LIMIT with a parameter is guessed as a tenth of it.
WITH picked AS MATERIALIZED (
    SELECT candidate.job_id, candidate.place
    FROM unnest($2::text[], $3::smallint[], $4::int[]) AS lane(queue, priority, jobs)
    CROSS JOIN LATERAL (
        SELECT l.job_id, l.ctid AS place FROM job_lanes l
        WHERE l.queue = lane.queue AND l.priority = lane.priority AND l.run_at <= now() AND NOT l.solo
        ORDER BY l.run_at, l.job_id
        LIMIT lane.jobs FOR UPDATE SKIP LOCKED
    ) AS candidate
    WHERE NOT EXISTS (SELECT 1 FROM queues s WHERE s.name = lane.queue AND s.paused_at IS NOT NULL)
    LIMIT $5
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

-- name: claim_tenant_lane
-- Purpose: take up to $3 due jobs of one queue whose tenants take turns and may have a cap on running work ($5).
--   A tenant's n-th pick is ranked by what it already runs plus n, so whoever runs least is served first.
-- $1 worker id, $2 queue, $3 limit, $4 lease seconds, $5 running cap or NULL, $6 whether tenants take turns, $7 the
--   largest class to take: beyond it the jobs of other queues may be more urgent.
-- Locks: the caller holds the queue's row in `queues`, so no other claim of this queue runs now; the chosen rows are
--   locked, SKIP LOCKED, since a cancel may hold one.
-- Planner: one look-up for each tenant and class, so what is not due yet is never read.
WITH RECURSIVE tenants AS (
    (SELECT l.tenant_id FROM job_lanes l WHERE l.tenant_lane AND l.queue = $2 ORDER BY l.tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT l.tenant_id FROM job_lanes l WHERE l.tenant_lane AND l.queue = $2 AND l.tenant_id > t.tenant_id
            ORDER BY l.tenant_id LIMIT 1)
    FROM tenants t WHERE t.tenant_id IS NOT NULL
), busy AS MATERIALIZED (
    SELECT tenant_id, count(*) AS running FROM job_running WHERE queue = $2 GROUP BY tenant_id
), load AS MATERIALIZED (
    SELECT t.tenant_id, coalesce(busy.running, 0) AS running
    FROM tenants t LEFT JOIN busy ON busy.tenant_id = t.tenant_id WHERE t.tenant_id IS NOT NULL
), ranked AS MATERIALIZED (
    SELECT due.job_id, due.place, due.priority, due.run_at, load.running + due.rank AS turn
    FROM load CROSS JOIN LATERAL (
        SELECT oldest.*, row_number() OVER (ORDER BY oldest.priority, oldest.run_at, oldest.job_id) AS rank
        FROM (
            SELECT lane.job_id, lane.place, class.priority, lane.run_at
            FROM generate_series(0, $7::int) AS class(priority) CROSS JOIN LATERAL (
                SELECT l.job_id, l.ctid AS place, l.run_at FROM job_lanes l
                WHERE l.tenant_lane AND l.queue = $2 AND l.tenant_id = load.tenant_id
                  AND l.priority = class.priority AND l.run_at <= now() AND NOT l.solo
                ORDER BY l.run_at, l.job_id LIMIT $3
            ) AS lane
            ORDER BY class.priority, lane.run_at, lane.job_id
            LIMIT least($3::bigint, coalesce($5::bigint - load.running, $3::bigint))
        ) AS oldest
    ) AS due
    WHERE $5::bigint IS NULL OR load.running < $5::bigint
), chosen AS MATERIALIZED (
    SELECT place FROM ranked
    ORDER BY priority, CASE WHEN $6 THEN turn ELSE 0 END, run_at, job_id LIMIT $3
), picked AS MATERIALIZED (
    SELECT l.job_id, l.ctid AS place FROM job_lanes l WHERE l.ctid = ANY (ARRAY(SELECT place FROM chosen))
    FOR UPDATE SKIP LOCKED
), taken AS (
    DELETE FROM job_lanes WHERE ctid = ANY (ARRAY(SELECT place FROM picked))
), claimed AS (
    UPDATE jobs SET
        state = 'running', fence = fence + 1, attempt = attempt + 1, leased_by = $1,
        lease_expires_at = now() + make_interval(secs => $4), started_at = coalesce(started_at, now()),
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

-- name: suspect_queues
-- Purpose: those of the queues $1 in which a suspect is due, most urgent first. Locks: none.
SELECT l.queue FROM job_lanes l
WHERE l.solo AND l.queue = ANY ($1::text[]) AND l.run_at <= now()
  AND NOT EXISTS (SELECT 1 FROM queues s WHERE s.name = l.queue AND s.paused_at IS NOT NULL)
GROUP BY l.queue ORDER BY min(l.priority), min(l.run_at)

-- name: claim_suspect
-- Purpose: take the oldest due suspect of one queue, for a worker that runs nothing else.
-- $1 worker id, $2 queue, $3 lease seconds, $4 a tenant's cap on running work or NULL.
-- Locks: that row, SKIP LOCKED. Reads job_lanes_solo, which is as small as there are suspects.
WITH picked AS MATERIALIZED (
    SELECT l.job_id, l.ctid AS place FROM job_lanes l
    WHERE l.solo AND l.queue = $2 AND l.run_at <= now()
      AND ($4::bigint IS NULL OR $4::bigint > (
          SELECT count(*) FROM job_running r WHERE r.queue = $2 AND r.tenant_id = l.tenant_id))
    ORDER BY l.priority, l.run_at, l.job_id
    LIMIT 1 FOR UPDATE SKIP LOCKED
), taken AS (
    DELETE FROM job_lanes WHERE ctid = ANY (ARRAY(SELECT place FROM picked))
), claimed AS (
    UPDATE jobs SET
        state = 'running', fence = fence + 1, attempt = attempt + 1, leased_by = $1,
        lease_expires_at = now() + make_interval(secs => $3), started_at = coalesce(started_at, now()),
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

-- name: renew_leases
-- Purpose: heartbeat of all of a worker's jobs in one statement; what does not come back is lost.
-- $1 worker id, $2 job ids, $3 fences, $4 lease seconds.
-- Locks: row locks for the update (HOT: no indexed column changes).
UPDATE jobs j SET lease_expires_at = now() + make_interval(secs => $4)
FROM unnest($2::uuid[], $3::bigint[]) AS held(id, fence)
WHERE j.id = held.id AND j.fence = held.fence AND j.leased_by = $1
RETURNING j.id, j.cancel_requested_at IS NOT NULL AS cancel_requested

-- name: note_progress
-- Purpose: percent done, only by the holder. Locks: one row.
UPDATE jobs SET progress_percent = $4, updated_at = now()
WHERE id = $2 AND fence = $3 AND leased_by = $1 AND state = 'running'
RETURNING id

-- name: complete_jobs
-- Purpose: mark finished jobs succeeded and publish their artifacts. release_dependants follows.
-- $1 worker id, $2 ids, $3 fences, $4 results (JSON text), $5 artifact keys, $6 durations ms, $7 ttl seconds,
-- $8 sizes, $9 sha256 (artifacts).
-- Locks: the finished rows.
WITH done AS (
    SELECT * FROM unnest($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::int[], $7::float8[], $8::bigint[], $9::text[])
        AS d(id, fence, result, artifact_key, duration_ms, ttl_seconds, size_bytes, sha256)
), updated AS (
    UPDATE jobs j SET
        state = 'succeeded', finished_at = now(), updated_at = now(), leased_by = NULL, lease_expires_at = NULL,
        result = d.result::jsonb, artifact_key = d.artifact_key, progress_percent = NULL,
        error_code = NULL, error_message = NULL,
        -- The time set when the job was accepted stands unless a tenth of it is used up: an unchanged value keeps
        -- the update off the index.
        expires_at = CASE WHEN d.ttl_seconds <= 0 THEN NULL
                          WHEN j.expires_at > now() + make_interval(secs => d.ttl_seconds * 0.9) THEN j.expires_at
                          ELSE now() + make_interval(secs => d.ttl_seconds) END
    FROM done d
    WHERE j.id = d.id AND j.fence = d.fence AND j.leased_by = $1
    RETURNING j.id, j.attempt, j.fence, d.duration_ms, d.artifact_key, d.size_bytes, d.sha256
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor, duration_ms)
    SELECT id, 'running', 'succeeded', attempt, fence, $1::text, duration_ms FROM updated
), published AS (
    UPDATE artifacts a SET state = 'ready', size_bytes = u.size_bytes, sha256 = u.sha256
    FROM updated u WHERE a.artifact_key = u.artifact_key AND a.fence = u.fence
), stopped AS (
    DELETE FROM job_running WHERE job_id = ANY (ARRAY(SELECT id FROM updated))
)
SELECT id FROM updated

-- name: release_dependants
-- Purpose: count down the jobs that wait for the finished ones in $2, and queue those that wait for nothing more.
-- $1 actor, $2 finished ids. Locks: the waiting rows, in id order, so that two flushes with common parents cannot
--   deadlock. A statement of its own, after complete_jobs in one transaction: a completion that had to wait for the
--   lock of a job being depended upon (lock_dependencies) read its snapshot before that wait, and would not see who
--   waits now.
WITH counted AS MATERIALIZED (
    SELECT job_id, count(*)::int AS finished FROM job_dependencies WHERE depends_on = ANY ($2::uuid[]) GROUP BY job_id
), held AS MATERIALIZED (
    SELECT id FROM jobs WHERE id = ANY (ARRAY(SELECT job_id FROM counted)) AND state = 'waiting'
    ORDER BY id FOR UPDATE
), released AS (
    UPDATE jobs p SET
        pending_dependencies = p.pending_dependencies - c.finished, updated_at = now(),
        state = CASE WHEN p.pending_dependencies - c.finished = 0 THEN 'queued' ELSE 'waiting' END
    FROM counted c WHERE p.id = c.job_id AND p.id = ANY (ARRAY(SELECT id FROM held)) AND p.state = 'waiting'
    RETURNING p.id, p.state, p.attempt, p.fence, p.queue, p.priority, p.run_at
), lined_up AS (
    UPDATE job_lanes l SET run_at = r.run_at FROM released r
    WHERE r.state = 'queued' AND l.queue = r.queue AND l.priority = r.priority AND l.run_at = 'infinity'
      AND l.job_id = r.id
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor, reason)
    SELECT id, 'waiting', 'queued', attempt, fence, $1, 'dependencies_done' FROM released WHERE state = 'queued'
)
SELECT id FROM released WHERE state = 'queued'

-- name: retry_jobs
-- Purpose: a failed attempt goes back to the queue after its delay; a cancel asked for meanwhile ends it instead.
-- $1 worker id, $2 ids, $3 fences, $4 delays s, $5 codes, $6 messages, $7 durations ms, $8 most crashes.
-- Locks: the rows.
WITH failed AS (
    SELECT * FROM unnest($2::uuid[], $3::bigint[], $4::float8[], $5::text[], $6::text[], $7::int[])
        AS f(id, fence, delay_seconds, error_code, message, duration_ms)
), updated AS (
    UPDATE jobs j SET
        state = CASE WHEN j.cancel_requested_at IS NULL THEN 'queued' ELSE 'cancelled' END,
        finished_at = CASE WHEN j.cancel_requested_at IS NULL THEN NULL ELSE now() END,
        expires_at = CASE WHEN j.cancel_requested_at IS NULL THEN NULL ELSE now() + interval '7 days' END,
        run_at = now() + make_interval(secs => f.delay_seconds), retry_count = retry_count + 1,
        error_code = f.error_code, error_message = f.message, leased_by = NULL, lease_expires_at = NULL,
        updated_at = now()
    FROM failed f
    WHERE j.id = f.id AND j.fence = f.fence AND j.leased_by = $1
    RETURNING j.id, j.queue, j.priority, j.run_at, j.tenant_id, j.tenant_lane, j.state, j.attempt, j.fence,
              j.crash_count, f.error_code, f.duration_ms
), stopped AS (
    DELETE FROM job_running WHERE job_id = ANY (ARRAY(SELECT id FROM updated))
), lined_up AS (
    INSERT INTO job_lanes (queue, priority, run_at, job_id, tenant_id, tenant_lane, solo)
    SELECT queue, priority, run_at, id, tenant_id, tenant_lane, crash_count > 0 AND crash_count + 1 >= $8
    FROM updated WHERE state = 'queued'
    ON CONFLICT DO NOTHING
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor, reason, error_code, duration_ms)
    SELECT id, 'running', state, attempt, fence, $1::text, 'retry', error_code, duration_ms FROM updated
)
SELECT id, state FROM updated

-- name: hand_back_jobs
-- Purpose: return unfinished work with its attempt restored: shutdown, throttle, a closed integration.
-- $1 worker id, $2 ids, $3 fences, $4 delays s, $5 reasons, $6 durations ms, $7 most crashes, $8 codes. Locks: the
--   rows. A cancel asked for meanwhile is honoured here. With a code the job shows what it waits for: code and reason.
WITH returned AS (
    SELECT * FROM unnest($2::uuid[], $3::bigint[], $4::float8[], $5::text[], $6::int[], $8::text[])
        AS r(id, fence, delay_seconds, reason, duration_ms, error_code)
), updated AS (
    UPDATE jobs j SET
        state = CASE WHEN j.cancel_requested_at IS NULL THEN 'queued' ELSE 'cancelled' END,
        finished_at = CASE WHEN j.cancel_requested_at IS NULL THEN NULL ELSE now() END,
        expires_at = CASE WHEN j.cancel_requested_at IS NULL THEN NULL ELSE now() + interval '7 days' END,
        attempt = attempt - 1, leased_by = NULL, lease_expires_at = NULL, updated_at = now(),
        error_code = coalesce(r.error_code, j.error_code),
        error_message = CASE WHEN r.error_code IS NULL THEN j.error_message ELSE r.reason END,
        run_at = CASE WHEN r.delay_seconds > 0 THEN now() + make_interval(secs => r.delay_seconds) ELSE j.run_at END
    FROM returned r
    WHERE j.id = r.id AND j.fence = r.fence AND j.leased_by = $1
    RETURNING j.id, j.queue, j.priority, j.run_at, j.tenant_id, j.tenant_lane, j.state, j.attempt, j.fence,
              j.crash_count, r.reason, r.duration_ms
), stopped AS (
    DELETE FROM job_running WHERE job_id = ANY (ARRAY(SELECT id FROM updated))
), lined_up AS (
    INSERT INTO job_lanes (queue, priority, run_at, job_id, tenant_id, tenant_lane, solo)
    SELECT queue, priority, run_at, id, tenant_id, tenant_lane, crash_count > 0 AND crash_count + 1 >= $7
    FROM updated WHERE state = 'queued'
    ON CONFLICT DO NOTHING
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor, reason, duration_ms)
    SELECT id, 'running', state, attempt, fence, $1::text, reason, duration_ms FROM updated
)
SELECT id, state FROM updated

-- name: deferred_seconds
-- Purpose: since when job $1 goes back to its queue for reason $2, and for that only. Locks: none.
SELECT coalesce(extract(epoch FROM now() - min(e.at)), 0)::float8
FROM job_events e
WHERE e.job_id = $1 AND e.to_state = 'queued' AND e.reason = $2 AND e.event_no > (
    SELECT coalesce(max(o.event_no), 0) FROM job_events o
    WHERE o.job_id = $1 AND o.to_state = 'queued' AND o.reason IS DISTINCT FROM $2)

-- name: end_jobs
-- Purpose: final failure or cancellation of running jobs. Problems and dependants follow in the same transaction.
-- $1 worker id, $2 ids, $3 fences, $4 target states, $5 codes, $6 messages, $7 durations ms, $8 keep seconds.
-- Locks: the rows.
WITH ended AS (
    SELECT * FROM unnest($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::int[])
        AS e(id, fence, target, error_code, message, duration_ms)
), updated AS (
    UPDATE jobs j SET
        state = e.target, finished_at = now(), updated_at = now(), leased_by = NULL, lease_expires_at = NULL,
        error_code = e.error_code, error_message = e.message, progress_percent = NULL,
        expires_at = now() + make_interval(secs => $8)
    FROM ended e
    WHERE j.id = e.id AND j.fence = e.fence AND j.leased_by = $1
    RETURNING j.id, j.state, j.attempt, j.fence, j.error_code, e.duration_ms
), stopped AS (
    DELETE FROM job_running WHERE job_id = ANY (ARRAY(SELECT id FROM updated))
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor, error_code, duration_ms)
    SELECT id, 'running', state, attempt, fence, $1::text, error_code, duration_ms FROM updated
)
SELECT id, state FROM updated

-- name: reclaim_jobs
-- Purpose: give expired leases back. Counts a crash, not an attempt; at $2 crashes the job is a dead letter, and one
--   crash before that it is a suspect.
-- $1 page size, $2 most crashes, $3 keep seconds of a dead letter, $4 actor.
-- Locks: SKIP LOCKED, so a page never waits for a job that is being written, and the state and expiry are
--   checked again under the lock. Reads job_running, one look-up in jobs for each of its rows.
WITH expired AS MATERIALIZED (
    SELECT j.id FROM job_running r CROSS JOIN LATERAL (
        SELECT id FROM jobs WHERE id = r.job_id AND state = 'running' AND lease_expires_at < now()
        LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS j
    LIMIT $1
), updated AS (
    UPDATE jobs SET
        state = CASE WHEN cancel_requested_at IS NOT NULL THEN 'cancelled'
                     WHEN crash_count + 1 >= $2 THEN 'failed' ELSE 'queued' END,
        finished_at = CASE WHEN cancel_requested_at IS NOT NULL OR crash_count + 1 >= $2 THEN now() END,
        expires_at = CASE WHEN cancel_requested_at IS NOT NULL OR crash_count + 1 >= $2
                          THEN now() + make_interval(secs => $3) END,
        error_code = CASE WHEN cancel_requested_at IS NULL AND crash_count + 1 >= $2 THEN 'WORKER_LOST' ELSE error_code END,
        error_message = CASE WHEN cancel_requested_at IS NULL AND crash_count + 1 >= $2
                             THEN 'the worker died while it ran this job' ELSE error_message END,
        crash_count = crash_count + 1, attempt = attempt - 1, leased_by = NULL, lease_expires_at = NULL,
        progress_percent = NULL, updated_at = now()
    WHERE id = ANY (ARRAY(SELECT id FROM expired)) AND state = 'running' AND lease_expires_at < now()
    RETURNING id, queue, priority, run_at, tenant_id, tenant_lane, state, attempt, crash_count, fence, kind, created_at,
              traceparent
), stopped AS (
    DELETE FROM job_running WHERE job_id = ANY (ARRAY(SELECT id FROM updated))
), lined_up AS (
    INSERT INTO job_lanes (queue, priority, run_at, job_id, tenant_id, tenant_lane, solo)
    SELECT queue, priority, run_at, id, tenant_id, tenant_lane, crash_count + 1 >= $2
    FROM updated WHERE state = 'queued'
    ON CONFLICT DO NOTHING
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor, reason, error_code)
    SELECT id, 'running', state, attempt, fence, $4, 'lease_expired',
           CASE WHEN state = 'failed' THEN 'WORKER_LOST' END FROM updated
)
SELECT id, state, kind, attempt, traceparent, extract(epoch FROM now() - created_at)::float8 AS age_seconds
FROM updated

-- name: open_problems
-- Purpose: one open problem for each failed job in $1; a job that has one keeps it.
-- $1 job ids, $2 new problem ids, $3 recommendations. Locks: none beyond the unique entry.
INSERT INTO problems (id, job_id, tenant_id, document_id, task_type, queue, error_code, message, attempts,
                      last_attempt_at, trace_id, external_ref, recommendation)
SELECT n.problem_id, j.id, j.tenant_id, j.document_id, j.kind, j.queue, coalesce(j.error_code, 'UNKNOWN'),
       coalesce(j.error_message, ''), j.attempt, j.finished_at, split_part(j.traceparent, '-', 2), j.external_ref,
       n.recommendation
FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS n(job_id, problem_id, recommendation)
JOIN jobs j ON j.id = n.job_id AND j.state = 'failed'
ON CONFLICT (job_id) WHERE user_decision IS NULL DO NOTHING

-- name: fail_dependants
-- Purpose: jobs waiting for one of $1 can no longer run. The caller repeats with the answer until it is empty.
-- $1 ids that failed or were cancelled, $2 keep seconds, $3 actor. Locks: the waiting rows.
WITH updated AS (
    UPDATE jobs SET
        state = 'failed', error_code = 'DEPENDENCY_FAILED', error_message = 'a job it waits for failed',
        finished_at = now(), updated_at = now(), expires_at = now() + make_interval(secs => $2)
    WHERE state = 'waiting' AND id IN (SELECT job_id FROM job_dependencies WHERE depends_on = ANY ($1::uuid[]))
    RETURNING id, attempt, fence, queue, priority
), left_line AS (
    DELETE FROM job_lanes l USING updated u
    WHERE l.queue = u.queue AND l.priority = u.priority AND l.run_at = 'infinity' AND l.job_id = u.id
), event AS (
    INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor, error_code)
    SELECT id, 'waiting', 'failed', attempt, fence, $3, 'DEPENDENCY_FAILED' FROM updated
)
SELECT id FROM updated
