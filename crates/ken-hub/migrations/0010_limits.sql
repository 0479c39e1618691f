-- What is stored beside the log counts against quotas and ends with a redaction, and a restored database is noticed.

-- Whether the answer may be kept. Set to false by a redaction, also while the request is under way.
ALTER TABLE ken.idempotency ADD COLUMN keep_body boolean;

-- Bytes of the answers that are kept for an organization; nothing where none were counted yet.
ALTER TABLE ken.organizations ADD COLUMN kept_bytes bigint;

-- Number and bytes of a run's notes; nothing of runs that are older than this, whose notes are counted instead.
ALTER TABLE ken.runs ADD COLUMN notes bigint;
ALTER TABLE ken.runs ADD COLUMN bytes bigint;
ALTER TABLE ken.runs ALTER COLUMN notes SET DEFAULT 0;
ALTER TABLE ken.runs ALTER COLUMN bytes SET DEFAULT 0;

-- Returns the bytes that wait in a workspace: notes of runs and quarantined events. The workspace must have been entered.
CREATE FUNCTION ken.waiting_bytes(which uuid) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT (SELECT coalesce(sum(coalesce(r.bytes,
                (SELECT sum(octet_length(n.note)) FROM ken.run_notes n WHERE n.workspace_id = which AND n.run = r.id))), 0)
            FROM ken.runs r WHERE r.workspace_id = which)::bigint
        + (SELECT coalesce(sum(octet_length(h.line)), 0) FROM ken.held h WHERE h.workspace_id = which)::bigint
$$;

-- As before, and what waits counts against the quota of bytes. What waits is at most half of that quota, so it is looked at
-- only where the log has the other half.
CREATE OR REPLACE FUNCTION ken.take_places(of uuid, which uuid, ids uuid[], names text[], more_bytes bigint, now bigint,
    proposed boolean, most_events bigint, most_bytes bigint) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    more bigint := cardinality(ids);
    last bigint;
    may_repeat boolean;
    stored bigint;
    limit_bytes bigint;
BEGIN
    PERFORM set_config('ken.organization', of::text, true);
    PERFORM pg_advisory_xact_lock_shared(uuid_hash_extended(which, 9));
    SELECT w.head, proposed AND w.taken_back IS NOT FALSE, w.bytes + more_bytes, coalesce(o.bytes_max, most_bytes)
        INTO last, may_repeat, stored, limit_bytes
        FROM ken.workspaces w JOIN ken.organizations o ON o.id = w.organization_id
        WHERE w.organization_id = of AND w.id = which AND w.folded IS NOT NULL
            AND (w.events + more <= coalesce(o.events_max, most_events)) IS NOT FALSE
            AND (w.bytes + more_bytes <= coalesce(o.bytes_max, most_bytes)) IS NOT FALSE
        FOR NO KEY UPDATE OF w;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF may_repeat THEN
        RETURN -1;
    END IF;
    PERFORM set_config('ken.workspace', which::text, true);
    IF limit_bytes / 2 < stored AND limit_bytes < stored + ken.waiting_bytes(which) THEN
        RETURN NULL;
    END IF;
    IF EXISTS (SELECT FROM ken.events e WHERE e.workspace_id = which AND e.id = ANY (ids))
        OR EXISTS (SELECT FROM ken.entries n WHERE n.workspace_id = which AND n.id = ANY (names))
        OR EXISTS (SELECT FROM ken.orders d WHERE d.workspace_id = which AND d.target = ANY (ids))
        OR EXISTS (SELECT FROM ken.remembered r WHERE r.workspace_id = which AND r.event = ANY (ids))
        OR EXISTS (SELECT FROM ken.held h WHERE h.workspace_id = which AND h.event = ANY (ids))
    THEN
        RETURN NULL;
    END IF;
    UPDATE ken.workspaces SET head = last + more, folded = last + more, events = events + more, bytes = bytes + more_bytes,
        appended_at = now
        WHERE organization_id = of AND id = which;
    RETURN last;
END
$$;

-- Deletes the bodies of all answers that are kept for an organization, and of those that are being given.
CREATE FUNCTION ken.forget_answers(of uuid) RETURNS void LANGUAGE sql AS $$
    UPDATE ken.idempotency SET body = NULL, keep_body = false WHERE organization_id = of AND keep_body IS NOT FALSE;
    UPDATE ken.organizations SET kept_bytes = 0 WHERE id = of;
$$;

-- Deletes answers of the entered organization that expired, and the oldest ones while more bytes are kept than may be. At most
-- `most` of each.
CREATE FUNCTION ken.clear_answers(of uuid, now bigint, most_bytes bigint, most bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    freed bigint;
BEGIN
    WITH gone AS (
        DELETE FROM ken.idempotency i WHERE i.organization_id = of AND i.key IN (
            SELECT o.key FROM ken.idempotency o WHERE o.organization_id = of AND (o.expires_at <= now
                OR o.status IS NOT NULL
                    AND (SELECT most_bytes < g.kept_bytes FROM ken.organizations g WHERE g.id = of))
            ORDER BY o.expires_at LIMIT most FOR UPDATE SKIP LOCKED)
        RETURNING octet_length(i.body) + 256 AS bytes
    )
    SELECT coalesce(sum(bytes), 0) INTO freed FROM gone;
    IF 0 < freed THEN
        UPDATE ken.organizations SET kept_bytes = greatest(kept_bytes - freed, 0) WHERE id = of;
    END IF;
END
$$;

-- Deletes expired answers of every organization: answers of one that sends no more requests would stay for ever. Runs as the
-- owner, who sees which organizations there are; it deletes nothing that is not expired.
CREATE FUNCTION ken.clear_expired_answers(now bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ken, pg_catalog, pg_temp AS $$
DECLARE
    each uuid;
    before text := current_setting('ken.organization', true);
BEGIN
    FOR each IN SELECT id FROM ken.organizations LOOP
        PERFORM set_config('ken.organization', each::text, true);
        PERFORM ken.clear_answers(each, now, 9223372036854775807, 100000);
    END LOOP;
    PERFORM set_config('ken.organization', coalesce(before, ''), true);
END
$$;

-- The installation itself: one row, of no tenant.
CREATE TABLE ken.instance (
    is_single boolean PRIMARY KEY DEFAULT true CHECK (is_single),
    -- The server and database the row was written in. A dump that is restored brings it to another one.
    place text,
    -- When a hub last said that it runs, and whether the last one ended in order.
    alive_at bigint,
    stopped boolean NOT NULL DEFAULT false,
    -- When a hub found the database to be restored: tokens issued before are refused until the operator decides.
    restored_at bigint,
    -- Tokens issued before this are refused.
    tokens_from bigint NOT NULL DEFAULT 0
);
INSERT INTO ken.instance DEFAULT VALUES;
ALTER TABLE ken.instance ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY everybody ON ken.instance USING (true);
GRANT SELECT, UPDATE ON ken.instance TO ken_app;

-- As before, without tokens that a restored backup may have revived.
CREATE OR REPLACE FUNCTION ken.token_by_hash(shown bytea) RETURNS SETOF ken.tokens LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('ken.token', encode(shown, 'hex'), true);
    RETURN QUERY SELECT * FROM ken.tokens WHERE hash = shown
        AND (SELECT greatest(tokens_from, restored_at) FROM ken.instance) <= created_at;
    PERFORM set_config('ken.token', '', true);
END
$$;

REVOKE ALL ON FUNCTION ken.clear_expired_answers(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ken.clear_expired_answers(bigint) TO ken_app;
