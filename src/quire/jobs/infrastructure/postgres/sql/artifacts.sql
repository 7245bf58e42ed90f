-- Artifact records. Bytes live in storage; these rows say whose they are.

-- name: begin_artifact
-- Purpose: announce bytes before they are written, only by the holder of the lease. Their key is folder ($4), job and the
--   moment by the database's clock; the primary key makes sure that no other attempt has it. $7 suffix.
-- Locks: shares the job row.
WITH held AS (
    SELECT id, tenant_id, fence FROM jobs
    WHERE id = $2 AND fence = $3 AND leased_by = $1 AND state = 'running' FOR SHARE
)
INSERT INTO artifacts (artifact_key, job_id, fence, tenant_id, state, content_type, filename)
SELECT $4::text || '/' || id || '/' || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISSUS"Z"')
       || '.' || $7::text,
       id, fence, tenant_id, 'pending', $5, $6
FROM held
RETURNING artifact_key

-- name: artifact_of_job
-- Purpose: the published artifact of a job, if it has one that is still kept. Locks: none.
SELECT a.artifact_key, a.job_id, a.content_type, a.filename, a.size_bytes, a.sha256,
       extract(epoch FROM j.expires_at - now())::float8 AS seconds_left
FROM artifacts a JOIN jobs j ON j.id = a.job_id AND j.artifact_key = a.artifact_key
WHERE a.job_id = $1 AND a.state = 'ready' AND (j.expires_at > now() OR j.expires_at IS NULL)

-- name: is_published
-- Purpose: whether a job's success made these bytes visible. Locks: none.
SELECT EXISTS (SELECT 1 FROM artifacts WHERE artifact_key = $1 AND state = 'ready')

-- name: stray_artifacts
-- Purpose: announced bytes that no attempt will publish: its lease is over. $1 limit, $2 age seconds. Locks: none.
SELECT a.artifact_key FROM artifacts a
WHERE a.state = 'pending' AND a.created_at < now() - make_interval(secs => $2)
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = a.job_id AND j.state = 'running' AND j.fence = a.fence)
ORDER BY a.created_at LIMIT $1

-- name: forget_artifacts
-- Purpose: drop records whose bytes are gone. Locks: the deleted rows.
DELETE FROM artifacts WHERE artifact_key = ANY ($1::text[])
