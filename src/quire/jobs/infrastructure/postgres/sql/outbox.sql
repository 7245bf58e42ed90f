-- The outbox of a message broker is job_lanes: its row is written with the job's acceptance, retry or release, and
-- deleted by its claim, both in the transaction that does it.

-- name: owed_messages
-- Purpose: the most urgent $3 jobs of each queue in $1 that have been due for $2 seconds and are still unclaimed; a
--   paused queue is owed nothing, and a suspect is claimed without messages. Locks: none; a job claimed meanwhile gets a
--   message that names nothing claimable.
-- Planner: one short range of job_lanes_pkey a queue and class, one look-up in jobs for each row.
SELECT owed.job_id, owed.queue, j.traceparent
FROM unnest($1::text[]) AS q(queue)
CROSS JOIN LATERAL (
    SELECT l.job_id, l.queue, l.priority, l.run_at
    FROM generate_series(0, 3) AS p(priority) CROSS JOIN LATERAL (
        SELECT job_id, queue, priority, run_at FROM job_lanes
        WHERE queue = q.queue AND priority = p.priority AND run_at <= now() - make_interval(secs => $2) AND NOT solo
        ORDER BY run_at, job_id LIMIT $3
    ) AS l
    ORDER BY l.priority, l.run_at, l.job_id LIMIT $3
) AS owed
CROSS JOIN LATERAL (SELECT traceparent FROM jobs WHERE id = owed.job_id LIMIT 1) AS j
WHERE NOT EXISTS (SELECT 1 FROM queues s WHERE s.name = q.queue AND s.paused_at IS NOT NULL)
ORDER BY owed.queue, owed.priority, owed.run_at, owed.job_id
