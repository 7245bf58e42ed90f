-- The worker registry, and the leases of single-holder loops.

-- name: register_worker
-- Purpose: who a worker is; one that comes back is no longer stopped. Locks: the row.
INSERT INTO workers (id, host, pid, version, queues, concurrency, lease_seconds) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (id) DO UPDATE SET stopped_at = NULL

-- name: beat
-- Purpose: presence, three times a second, in an unlogged table: no WAL, no fsync. Locks: the worker's row.
INSERT INTO worker_presence (worker_id, beat_at, running_jobs, claiming) VALUES ($1, clock_timestamp(), $2, $3)
ON CONFLICT (worker_id) DO UPDATE SET beat_at = clock_timestamp(), running_jobs = $2, claiming = $3

-- name: sign_off
-- Purpose: a worker that stops in good order is gone at once. Locks: its rows.
WITH gone AS (DELETE FROM worker_presence WHERE worker_id = $1)
UPDATE workers SET stopped_at = now() WHERE id = $1

-- name: live_workers
-- $1 seconds after which a silent worker is not live.
SELECT w.id, w.host, w.pid, w.version, w.queues, w.concurrency, w.started_at, p.beat_at, p.running_jobs, p.claiming
FROM worker_presence p JOIN workers w ON w.id = p.worker_id
WHERE p.beat_at > clock_timestamp() - make_interval(secs => $1) ORDER BY w.started_at

-- name: forget_workers
-- Purpose: drop registrations silent for a day. Locks: the deleted rows.
DELETE FROM workers w WHERE coalesce(w.stopped_at, w.started_at) < now() - interval '1 day'
  AND NOT EXISTS (SELECT 1 FROM worker_presence p WHERE p.worker_id = w.id AND p.beat_at > now() - interval '1 day')

-- name: take_role
-- Purpose: become or stay the one holder of a role. The term grows with every change of holder.
-- $1 role, $2 holder, $3 lease seconds. Locks: the row.
INSERT INTO role_leases (role, holder, term, expires_at) VALUES ($1, $2, 1, now() + make_interval(secs => $3))
ON CONFLICT (role) DO UPDATE SET
    term = role_leases.term + CASE WHEN role_leases.holder = $2 THEN 0 ELSE 1 END,
    holder = $2, expires_at = now() + make_interval(secs => $3)
WHERE role_leases.holder = $2 OR role_leases.expires_at < now()
RETURNING term

-- name: role_due
-- Purpose: whether the role's work was last done at least $2 seconds ago.
SELECT coalesce(last_run_at < now() - make_interval(secs => $2), true) FROM role_leases WHERE role = $1

-- name: note_role_run
-- Purpose: the role's work was done now, by its holder. Locks: the row.
UPDATE role_leases SET last_run_at = now() WHERE role = $1 AND holder = $2

-- name: release_role
-- Purpose: give a role back before its time. Locks: the row.
UPDATE role_leases SET expires_at = now() WHERE role = $1 AND holder = $2
