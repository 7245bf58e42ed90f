-- Outgoing webhooks. Deliveries of job events are created by the trigger on job_events, in the transition's own
-- transaction; here they are claimed, settled and looked at.

-- name: claim_deliveries
-- Purpose: take up to $2 due deliveries, at most $3 a subscription together with what this courier already holds of
--   it, so that a receiver that hangs takes its own share of the hands and no more.
-- $1 courier, $2 limit, $3 share, $4 subscriptions held, $5 how many of each, $6 lease seconds.
-- Locks: row locks on the claimed deliveries only, SKIP LOCKED.
-- Planner: as in claim_lanes, ANY(ARRAY(..)) keeps the update on the primary key.
WITH room AS MATERIALIZED (
    SELECT s.id, $3 - coalesce(h.deliveries, 0) AS free
    FROM webhook_subscriptions s LEFT JOIN unnest($4::uuid[], $5::int[]) AS h(id, deliveries) ON h.id = s.id
    WHERE s.disabled_at IS NULL ORDER BY random()
), picked AS MATERIALIZED (
    SELECT due.id FROM room CROSS JOIN LATERAL (
        SELECT d.id FROM webhook_deliveries d
        WHERE d.subscription_id = room.id AND d.state IN ('pending','failed') AND d.next_at <= now()
        ORDER BY d.next_at LIMIT greatest(0, room.free) FOR UPDATE SKIP LOCKED
    ) AS due
    LIMIT $2
), claimed AS (
    UPDATE webhook_deliveries SET attempt = attempt + 1, fence = fence + 1, leased_by = $1,
        next_at = now() + make_interval(secs => $6)
    WHERE id = ANY (ARRAY(SELECT id FROM picked))
    RETURNING id, subscription_id, event_type, attempt, fence, payload
)
SELECT c.id, c.subscription_id, c.event_type, c.attempt, c.fence, c.payload, s.url, s.secret,
       CASE WHEN s.previous_until > now() THEN s.previous_secret END AS previous_secret
FROM claimed c JOIN webhook_subscriptions s ON s.id = c.subscription_id

-- name: settle_deliveries
-- Purpose: write what became of deliveries, and what that says about their subscriptions: one that arrived clears the
--   count of those given up, 410 or $9 given up in a row disable. Tests count for nothing.
-- $1 courier, $2 ids, $3 fences, $4 states, $5 delays s, $6 statuses, $7 errors, $8 response ms, $9 most given up,
-- $10 gone. Locks: the rows, then the subscriptions whose count changes.
WITH outcome AS (
    SELECT * FROM unnest($2::uuid[], $3::bigint[], $4::text[], $5::float8[], $6::int[], $7::text[], $8::int[], $10::bool[])
        AS o(id, fence, state, delay_seconds, status, error, response_ms, gone)
), updated AS (
    UPDATE webhook_deliveries d SET
        state = o.state, leased_by = NULL, last_status = o.status, last_error = o.error, response_ms = o.response_ms,
        attempted_at = now(), next_at = now() + make_interval(secs => o.delay_seconds),
        delivered_at = CASE WHEN o.state = 'delivered' THEN now() ELSE d.delivered_at END
    FROM outcome o WHERE d.id = o.id AND d.fence = o.fence AND d.leased_by = $1
    RETURNING d.subscription_id, d.state, d.event_type, o.gone
), tally AS (
    SELECT subscription_id, bool_or(state = 'delivered') AS arrived, bool_or(gone) AS gone,
           count(*) FILTER (WHERE state = 'dead' AND event_type <> 'webhook.test')::int AS dead
    FROM updated GROUP BY subscription_id
), judged AS (
    UPDATE webhook_subscriptions s SET
        consecutive_failures = CASE WHEN t.arrived THEN 0 ELSE s.consecutive_failures + t.dead END,
        disabled_at = CASE WHEN t.gone OR (NOT t.arrived AND s.consecutive_failures + t.dead >= $9)
                           THEN coalesce(s.disabled_at, now()) ELSE s.disabled_at END,
        disabled_reason = CASE WHEN s.disabled_at IS NOT NULL THEN s.disabled_reason WHEN t.gone THEN 'gone'
                               WHEN NOT t.arrived AND s.consecutive_failures + t.dead >= $9 THEN 'failing' END
    FROM tally t
    WHERE s.id = t.subscription_id AND (t.gone OR t.dead > 0 OR (t.arrived AND s.consecutive_failures > 0))
    RETURNING s.id, s.disabled_reason
)
SELECT id, disabled_reason FROM judged WHERE disabled_reason IS NOT NULL

-- name: hand_back_deliveries
-- $1 courier, $2 ids, $3 fences. Locks: the rows.
UPDATE webhook_deliveries d SET attempt = attempt - 1, leased_by = NULL, next_at = now()
FROM unnest($2::uuid[], $3::bigint[]) AS h(id, fence)
WHERE d.id = h.id AND d.fence = h.fence AND d.leased_by = $1

-- name: prune_deliveries
-- Purpose: drop old settled deliveries. $1 age days, $2 limit. Locks: the deleted rows, SKIP LOCKED.
DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY(
    SELECT d.id FROM webhook_deliveries d
    WHERE d.created_at < now() - make_interval(secs => $1 * 86400) AND d.state IN ('delivered','dead')
    LIMIT $2 FOR UPDATE SKIP LOCKED))

-- name: prune_orphans
-- Purpose: drop what a removed subscription left behind: deliveries of a transition that raced with the removal.
--   Steps from subscription to subscription through the log's index, so it reads a few entries of a large table.
-- $1 limit. Locks: the deleted rows, SKIP LOCKED.
WITH RECURSIVE named AS (
    (SELECT subscription_id FROM webhook_deliveries ORDER BY subscription_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.subscription_id FROM webhook_deliveries d WHERE d.subscription_id > n.subscription_id
            ORDER BY d.subscription_id LIMIT 1)
    FROM named n WHERE n.subscription_id IS NOT NULL
)
DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY(
    SELECT d.id FROM webhook_deliveries d WHERE d.subscription_id IN (
        SELECT n.subscription_id FROM named n
        WHERE NOT EXISTS (SELECT 1 FROM webhook_subscriptions s WHERE s.id = n.subscription_id))
    LIMIT $1 FOR UPDATE SKIP LOCKED))

-- name: add_subscription
-- $1 id, $2 tenant, $3 url, $4 description, $5 event types, $6 kinds, $7 sealed secret, $8 creator, $9 most a tenant.
-- Locks: none. Two racing calls may go past the limit by one, which harms nobody.
INSERT INTO webhook_subscriptions (id, tenant_id, url, description, event_types, kinds, secret, created_by)
SELECT $1, $2, $3, $4, $5, $6, $7, $8
WHERE (SELECT count(*) FROM webhook_subscriptions WHERE tenant_id = $2) < $9
RETURNING id, tenant_id, url, description, event_types, kinds, created_by, created_at, updated_at, rotated_at,
          previous_until, disabled_at, disabled_reason, consecutive_failures

-- name: get_subscription
-- Purpose: one subscription. Locks: none.
SELECT id, tenant_id, url, description, event_types, kinds, created_by, created_at, updated_at, rotated_at,
       previous_until, disabled_at, disabled_reason, consecutive_failures
FROM webhook_subscriptions WHERE id = $1 AND ($2::text IS NULL OR tenant_id = $2)

-- name: list_subscriptions
-- Newest first, by id. $1 tenant or NULL, $2 before id, $3 limit.
SELECT id, tenant_id, url, description, event_types, kinds, created_by, created_at, updated_at, rotated_at,
       previous_until, disabled_at, disabled_reason, consecutive_failures
FROM webhook_subscriptions WHERE ($1::text IS NULL OR tenant_id = $1) AND ($2::uuid IS NULL OR id < $2)
ORDER BY id DESC LIMIT $3

-- name: change_subscription
-- $1 id, $2 tenant or NULL, then NULL for what stays: $3 url, $4 description, $5 event types, $6 kinds, $7 enabled.
-- Locks: the row.
UPDATE webhook_subscriptions SET
    url = coalesce($3, url), description = coalesce($4, description), event_types = coalesce($5::text[], event_types),
    kinds = coalesce($6, kinds), updated_at = now(),
    disabled_at = CASE WHEN $7::bool IS NULL THEN disabled_at WHEN $7 THEN NULL ELSE coalesce(disabled_at, now()) END,
    disabled_reason = CASE WHEN $7::bool IS NULL THEN disabled_reason WHEN $7 THEN NULL ELSE coalesce(disabled_reason, 'asked') END,
    consecutive_failures = CASE WHEN $7 THEN 0 ELSE consecutive_failures END
WHERE id = $1 AND ($2::text IS NULL OR tenant_id = $2)
RETURNING id, tenant_id, url, description, event_types, kinds, created_by, created_at, updated_at, rotated_at,
          previous_until, disabled_at, disabled_reason, consecutive_failures

-- name: remove_subscription
-- Purpose: the subscription, what is owed to it and its log, at once. Locks: all of them.
WITH gone AS (
    DELETE FROM webhook_subscriptions WHERE id = $1 AND ($2::text IS NULL OR tenant_id = $2) RETURNING id
), deliveries AS (
    DELETE FROM webhook_deliveries WHERE subscription_id IN (SELECT id FROM gone)
)
SELECT id FROM gone

-- name: rotate_secret
-- $1 id, $2 tenant or NULL, $3 new sealed secret, $4 overlap seconds. Locks: the row.
UPDATE webhook_subscriptions SET
    secret = $3, rotated_at = now(), updated_at = now(),
    previous_secret = CASE WHEN $4 > 0 THEN secret END,
    previous_until = CASE WHEN $4 > 0 THEN now() + make_interval(secs => $4) END
WHERE id = $1 AND ($2::text IS NULL OR tenant_id = $2)
RETURNING id, tenant_id, url, description, event_types, kinds, created_by, created_at, updated_at, rotated_at,
          previous_until, disabled_at, disabled_reason, consecutive_failures

-- name: list_sealed_secrets
-- By id, of all tenants. $1 after id or NULL, $2 limit.
SELECT id, secret, previous_secret FROM webhook_subscriptions
WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT $2

-- name: replace_sealed_secrets
-- Purpose: the same secrets under another key, unless they were rotated since they were read.
-- $1 id, $2 and $3 as they were read, $4 and $5 as they shall be. Locks: the row.
UPDATE webhook_subscriptions SET secret = $4, previous_secret = $5
WHERE id = $1 AND secret = $2 AND previous_secret IS NOT DISTINCT FROM $3
RETURNING id

-- name: add_test_delivery
-- $1 delivery id, $2 subscription, $3 tenant or NULL, $4 actor.
INSERT INTO webhook_deliveries (id, subscription_id, tenant_id, event_type, payload)
SELECT $1, id, tenant_id, 'webhook.test', jsonb_build_object('type', 'webhook.test', 'timestamp', now(),
       'data', jsonb_build_object('webhook_id', id, 'tenant_id', tenant_id, 'asked_by', $4::text))
FROM webhook_subscriptions WHERE id = $2 AND ($3::text IS NULL OR tenant_id = $3) AND disabled_at IS NULL
RETURNING id, subscription_id, job_id, event_type, state, attempt, created_at, next_at, attempted_at, delivered_at,
          last_status, last_error, response_ms, payload

-- name: list_deliveries
-- Newest first. $1 subscription, $2 state or NULL, $3 and $4 the position before, or NULL, $5 limit.
SELECT id, subscription_id, job_id, event_type, state, attempt, created_at,
       CASE WHEN state IN ('pending','failed') THEN next_at END AS next_at, attempted_at, delivered_at, last_status,
       last_error, response_ms, payload
FROM webhook_deliveries
WHERE subscription_id = $1 AND ($2::text IS NULL OR state = $2)
  AND ($3::timestamptz IS NULL OR (created_at, id) < ($3, $4::uuid))
ORDER BY created_at DESC, id DESC LIMIT $5

-- name: redeliver
-- Purpose: make a delivery due again under its old id. One that a courier has in its hands is left there.
-- $1 delivery, $2 subscription. Locks: the row.
UPDATE webhook_deliveries SET
    state = 'pending', attempt = CASE WHEN state = 'pending' THEN attempt ELSE 0 END, next_at = now()
WHERE id = $1 AND subscription_id = $2 AND leased_by IS NULL
RETURNING id, subscription_id, job_id, event_type, state, attempt, created_at, next_at, attempted_at, delivered_at,
          last_status, last_error, response_ms, payload

-- name: get_delivery
-- Purpose: one delivery. Locks: none.
SELECT id, subscription_id, job_id, event_type, state, attempt, created_at, next_at, attempted_at, delivered_at,
       last_status, last_error, response_ms, payload
FROM webhook_deliveries WHERE id = $1 AND subscription_id = $2
