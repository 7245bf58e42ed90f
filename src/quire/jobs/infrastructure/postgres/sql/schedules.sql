-- Schedules and their ticks.

-- name: database_now
-- Purpose: the clock that every process shares. Locks: none.
SELECT clock_timestamp()

-- name: lock_registration
-- Purpose: processes register one at a time: those with different files would update and delete each other's rows in
--   different orders. Locks: transaction-scoped advisory lock, released at commit.
SELECT pg_advisory_xact_lock(hashtextextended('quire schedules', 7))

-- name: register_schedules
-- Purpose: the configured schedules, one element each. A new definition starts over at $4, so that its timing makes up
--   for nothing; an unchanged one keeps its place.
-- $1 tenants, $2 names, $3 definitions, $4 now, $5 first ticks. Locks: the rows, in one order.
INSERT INTO schedules AS s (tenant_id, name, definition, handled_until, next_at)
SELECT tenant_id, name, definition::jsonb, $4, next_at
FROM unnest($1::text[], $2::text[], $3::text[], $5::timestamptz[]) AS i(tenant_id, name, definition, next_at)
ORDER BY tenant_id, name
ON CONFLICT (tenant_id, name) DO UPDATE
SET definition = excluded.definition, handled_until = greatest(s.handled_until, excluded.handled_until),
    next_at = excluded.next_at, updated_at = now()
WHERE s.definition IS DISTINCT FROM excluded.definition

-- name: forget_schedules
-- Purpose: drop those that the configuration no longer has. $1 tenants, $2 names. Locks: the deleted rows.
DELETE FROM schedules s
WHERE NOT EXISTS (
    SELECT 1 FROM unnest($1::text[], $2::text[]) AS i(tenant_id, name)
    WHERE i.tenant_id = s.tenant_id AND i.name = s.name)
RETURNING s.name

-- name: take_due
-- Purpose: one schedule whose tick has come. $1 now. Locks: its row; skips those that others hold.
SELECT s.tenant_id, s.name, s.definition, s.handled_until, s.next_at, s.paused_at, s.paused_by, s.last_error_code,
       EXISTS (SELECT 1 FROM tenants n WHERE n.id = s.tenant_id AND n.disabled_at IS NOT NULL) AS tenant_disabled
FROM schedules s
WHERE paused_at IS NULL AND next_at <= $1
ORDER BY next_at LIMIT 1 FOR UPDATE SKIP LOCKED

-- name: take
-- Purpose: one schedule by name, due or not. $1 tenant, $2 name. Locks: its row; waits for who holds it.
SELECT s.tenant_id, s.name, s.definition, s.handled_until, s.next_at, s.paused_at, s.paused_by, s.last_error_code,
       EXISTS (SELECT 1 FROM tenants n WHERE n.id = s.tenant_id AND n.disabled_at IS NOT NULL) AS tenant_disabled
FROM schedules s
WHERE tenant_id = $1 AND name = $2 FOR UPDATE

-- name: last_job_unfinished
-- Purpose: whether the newest job of a schedule still waits or runs. $1 tenant, $2 name. Locks: none.
SELECT EXISTS (
    SELECT 1 FROM (
        SELECT job_id FROM schedule_ticks
        WHERE tenant_id = $1 AND schedule = $2 AND outcome = 'enqueued' AND job_id IS NOT NULL
        ORDER BY tick_at DESC LIMIT 1
    ) t JOIN jobs j ON j.id = t.job_id WHERE j.state IN ('waiting','queued','running'))

-- name: begin_tick
-- Purpose: take a tick. $1 tenant, $2 name, $3 tick. Locks: its unique entry, which makes it one however many try.
INSERT INTO schedule_ticks (tenant_id, schedule, tick_at) VALUES ($1, $2, $3)
ON CONFLICT DO NOTHING RETURNING true

-- name: note_tick
-- Purpose: what became of a tick. $4 outcome, $5 job, $6 error code. Locks: the row, inserted in this transaction.
UPDATE schedule_ticks SET outcome = $4, job_id = $5, error_code = $6
WHERE tenant_id = $1 AND schedule = $2 AND tick_at = $3

-- name: move_on
-- Purpose: the ticks up to $3 are dealt with. $4 when to look again, $5 why later ones are still due, or NULL.
-- Locks: the row, held since it was taken.
UPDATE schedules SET handled_until = $3, next_at = $4, last_error_code = $5, updated_at = now()
WHERE tenant_id = $1 AND name = $2

-- name: put_off
-- Purpose: look at a schedule again at $3. $1 tenant, $2 name. Locks: the row, held since it was taken.
UPDATE schedules SET next_at = $3, updated_at = now() WHERE tenant_id = $1 AND name = $2

-- name: list_schedules
-- Purpose: schedules with their newest tick. $1 tenant or NULL, $2 name or NULL. Locks: none.
SELECT s.tenant_id, s.name, s.definition, s.handled_until, s.next_at, s.paused_at, s.paused_by, s.last_error_code,
       t.tick_at AS last_tick_at, t.outcome AS last_outcome, t.job_id AS last_job_id, j.state AS last_job_state,
       t.error_code AS last_tick_error
FROM schedules s
LEFT JOIN LATERAL (
    SELECT * FROM schedule_ticks t WHERE t.tenant_id = s.tenant_id AND t.schedule = s.name
    ORDER BY t.tick_at DESC LIMIT 1
) t ON true
LEFT JOIN jobs j ON j.id = t.job_id
WHERE ($1::text IS NULL OR s.tenant_id = $1) AND ($2::text IS NULL OR s.name = $2)
ORDER BY s.name, s.tenant_id

-- name: list_ticks
-- Purpose: newest ticks of a schedule. $1 tenant, $2 name, $3 limit. Locks: none.
SELECT tick_at, outcome, job_id, error_code FROM schedule_ticks
WHERE tenant_id = $1 AND schedule = $2 ORDER BY tick_at DESC LIMIT $3

-- name: pause
-- $1 tenant, $2 name, $3 actor. Locks: the row, so a tick under way is finished first.
UPDATE schedules SET paused_at = now(), paused_by = $3, updated_at = now()
WHERE tenant_id = $1 AND name = $2 AND paused_at IS NULL

-- name: resume
-- $1 tenant, $2 name, $3 now, $4 next tick. Locks: the row.
UPDATE schedules SET paused_at = NULL, paused_by = NULL, handled_until = greatest(handled_until, $3), next_at = $4,
                     updated_at = now()
WHERE tenant_id = $1 AND name = $2 AND paused_at IS NOT NULL
