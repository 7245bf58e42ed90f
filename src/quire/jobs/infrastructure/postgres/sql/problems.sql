-- The Problem Log.

-- name: list_problems
-- Newest first. $1 tenant or NULL, $2 open only, $3 code, $4 queue, $5 before id, $6 limit,
-- $7 principal that must be the job's creator or interested, or NULL. Locks: none.
SELECT id, job_id, tenant_id, document_id, task_type, queue, error_code, message, attempts, last_attempt_at, trace_id,
       external_ref, recommendation, user_decision, decided_by, decided_at, created_at
FROM problems
WHERE ($1::text IS NULL OR tenant_id = $1) AND (NOT $2 OR user_decision IS NULL)
  AND ($3::text IS NULL OR error_code = $3) AND ($4::text IS NULL OR queue = $4) AND ($5::uuid IS NULL OR id < $5)
  AND ($7::text IS NULL OR EXISTS (
       SELECT 1 FROM jobs j WHERE j.id = problems.job_id AND (j.created_by = $7 OR EXISTS (
           SELECT 1 FROM job_interests i WHERE i.job_id = j.id AND i.principal_id = $7))))
ORDER BY id DESC LIMIT $6

-- name: get_problem
-- $1 id, $2 tenant or NULL, $3 principal as above or NULL. Locks: none.
SELECT id, job_id, tenant_id, document_id, task_type, queue, error_code, message, attempts, last_attempt_at, trace_id,
       external_ref, recommendation, user_decision, decided_by, decided_at, created_at
FROM problems WHERE id = $1 AND ($2::text IS NULL OR tenant_id = $2)
  AND ($3::text IS NULL OR EXISTS (
       SELECT 1 FROM jobs j WHERE j.id = problems.job_id AND (j.created_by = $3 OR EXISTS (
           SELECT 1 FROM job_interests i WHERE i.job_id = j.id AND i.principal_id = $3))))

-- name: open_problem_of_job
-- Purpose: the one open problem of a job, if any. Locks: none.
SELECT id FROM problems WHERE job_id = $1 AND user_decision IS NULL

-- name: decide_problem
-- Purpose: write the decision once; a second decision finds nothing to change. Locks: the row.
UPDATE problems SET user_decision = $2, decided_by = $3, decided_at = now()
WHERE id = $1 AND user_decision IS NULL RETURNING id

-- name: close_problem_of_job
-- Purpose: the engine decides itself, because the cause is gone. Locks: the row.
UPDATE problems SET user_decision = $2, decided_by = $3, decided_at = now()
WHERE job_id = $1 AND user_decision IS NULL
