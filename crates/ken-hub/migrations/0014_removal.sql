-- Removed and renamed workspaces and organizations, and when tokens were used.

-- A removed one is hidden at once and erased at `erase_at`; until then it can be restored. It keeps its name meanwhile.
ALTER TABLE ken.organizations ADD COLUMN removed_at bigint, ADD COLUMN erase_at bigint;
ALTER TABLE ken.workspaces ADD COLUMN removed_at bigint, ADD COLUMN erase_at bigint;

-- When a token was last used, to the hour: a request writes it only if it is older.
ALTER TABLE ken.tokens ADD COLUMN used_at bigint;

-- Whether this transaction looks after what was removed. Hiding it is a policy, so that no statement can forget it.
CREATE FUNCTION ken.shows_removed() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT coalesce(current_setting('ken.removed', true), '') = 'on' $$;

ALTER POLICY own ON ken.organizations USING (id = ken.organization() AND (removed_at IS NULL OR ken.shows_removed()));
ALTER POLICY named ON ken.organizations
    USING (name = ken.organization_name() AND (removed_at IS NULL OR ken.shows_removed()));
ALTER POLICY own ON ken.workspaces
    USING (organization_id = ken.organization() AND (removed_at IS NULL OR ken.shows_removed()));

-- Names that workspaces had before. Whoever still uses one is told the new name, and nobody else gets it for a while.
CREATE TABLE ken.former_names (
    organization_id uuid NOT NULL REFERENCES ken.organizations (id),
    name text COLLATE "C" NOT NULL,
    workspace_id uuid NOT NULL,
    renamed_at bigint NOT NULL,
    PRIMARY KEY (organization_id, name)
);
ALTER TABLE ken.former_names ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ken.former_names USING (organization_id = ken.organization());
GRANT SELECT, INSERT, UPDATE, DELETE ON ken.former_names TO ken_app;

-- As before, without tokens of removed organizations.
CREATE OR REPLACE FUNCTION ken.token_by_hash(shown bytea) RETURNS SETOF ken.tokens LANGUAGE plpgsql AS $$
DECLARE
    token ken.tokens;
    before text := current_setting('ken.organization', true);
BEGIN
    PERFORM set_config('ken.token', encode(shown, 'hex'), true);
    SELECT * INTO token FROM ken.tokens WHERE hash = shown
        AND (SELECT greatest(tokens_from, restored_at) FROM ken.instance) <= created_at;
    PERFORM set_config('ken.token', '', true);
    IF token.id IS NULL THEN
        RETURN;
    END IF;
    PERFORM set_config('ken.organization', token.organization_id::text, true);
    IF EXISTS (SELECT FROM ken.organizations WHERE id = token.organization_id) THEN
        RETURN NEXT token;
    END IF;
    PERFORM set_config('ken.organization', coalesce(before, ''), true);
END
$$;

-- Workspaces and organizations (without a workspace) whose time to be erased has come. Runs as the owner, who sees which
-- there are.
CREATE FUNCTION ken.due_erasures(now bigint) RETURNS TABLE (organization_id uuid, workspace_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ken, pg_catalog, pg_temp AS $$
    SELECT w.organization_id, w.id FROM ken.workspaces w JOIN ken.organizations o ON o.id = w.organization_id
        WHERE w.erase_at <= now OR o.erase_at <= now
    UNION ALL
    SELECT o.id, NULL FROM ken.organizations o WHERE o.erase_at <= now
$$;
REVOKE ALL ON FUNCTION ken.due_erasures(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ken.due_erasures(bigint) TO ken_app;

-- Tables with a column of that name, from the catalog: a new table is erased, too. The audit log is only added to. Deleting
-- entries counts them in their segments, so segments go first.
CREATE FUNCTION ken.tables_with(column_name name) RETURNS SETOF name LANGUAGE sql STABLE AS $$
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = column_name
    WHERE c.relnamespace = 'ken'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND c.relname NOT IN ('audit', 'workspaces', 'organizations')
    ORDER BY c.relname <> 'segments', c.relname
$$;

-- Deletes up to `most` rows of each table of a workspace whose time has come, and returns how many; the last call, which finds
-- none, deletes the workspace. Returns nothing if its time has not come or another transaction erases it.
CREATE FUNCTION ken.erase_workspace(of uuid, which uuid, now bigint, most bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    each name;
    gone bigint;
    total bigint := 0;
BEGIN
    PERFORM set_config('ken.organization', of::text, true), set_config('ken.removed', 'on', true);
    IF NOT pg_try_advisory_xact_lock(uuid_hash_extended(which, 12)) THEN
        RETURN NULL;
    END IF;
    -- Held, so that it cannot be restored meanwhile.
    PERFORM FROM ken.workspaces w JOIN ken.organizations o ON o.id = w.organization_id
        WHERE w.organization_id = of AND w.id = which AND (w.erase_at <= now OR o.erase_at <= now)
        FOR UPDATE OF w FOR SHARE OF o;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    PERFORM set_config('ken.workspace', which::text, true);
    FOR each IN SELECT ken.tables_with('workspace_id') LOOP
        -- All rows of a workspace are in one partition, where a place is unique.
        EXECUTE format('DELETE FROM ken.%1$I WHERE workspace_id = $1 AND ctid = ANY (ARRAY(
            SELECT ctid FROM ken.%1$I WHERE workspace_id = $1 LIMIT $2))', each) USING which, most;
        GET DIAGNOSTICS gone = ROW_COUNT;
        total := total + gone;
    END LOOP;
    IF total = 0 THEN
        -- A token for this workspace only must not become one for all of them.
        UPDATE ken.tokens SET workspaces = array_remove(workspaces, which),
            revoked_at = CASE WHEN workspaces = ARRAY[which] THEN coalesce(revoked_at, now) ELSE revoked_at END
            WHERE organization_id = of AND which = ANY (workspaces);
        PERFORM ken.forget_answers(of);
        DELETE FROM ken.workspaces WHERE organization_id = of AND id = which;
    END IF;
    RETURN total;
END
$$;

-- Deletes an organization whose time has come and that has no workspace anymore. Returns whether it did.
CREATE FUNCTION ken.erase_organization(of uuid, now bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    each name;
BEGIN
    PERFORM set_config('ken.organization', of::text, true), set_config('ken.removed', 'on', true);
    PERFORM FROM ken.organizations WHERE id = of AND erase_at <= now FOR UPDATE;
    IF NOT FOUND OR EXISTS (SELECT FROM ken.workspaces WHERE organization_id = of) THEN
        RETURN false;
    END IF;
    FOR each IN SELECT ken.tables_with('organization_id') LOOP
        EXECUTE format('DELETE FROM ken.%I WHERE organization_id = $1', each) USING of;
    END LOOP;
    DELETE FROM ken.organizations WHERE id = of;
    RETURN true;
END
$$;

-- Numbers for the operator's metrics: quarantined events and open runs of all workspaces. Runs as the owner, who sees which
-- workspaces there are, and counts in one after the other.
CREATE FUNCTION ken.count_waiting(OUT quarantined_events bigint, OUT open_runs bigint) LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ken, pg_catalog, pg_temp AS $$
DECLARE
    each uuid;
    before text := current_setting('ken.workspace', true);
BEGIN
    quarantined_events := 0;
    open_runs := 0;
    FOR each IN SELECT id FROM ken.workspaces WHERE removed_at IS NULL LOOP
        PERFORM set_config('ken.workspace', each::text, true);
        quarantined_events := quarantined_events + (SELECT count(*) FROM ken.held WHERE workspace_id = each);
        open_runs := open_runs + (SELECT count(*) FROM ken.runs WHERE workspace_id = each AND closed_at IS NULL);
    END LOOP;
    PERFORM set_config('ken.workspace', coalesce(before, ''), true);
END
$$;
REVOKE ALL ON FUNCTION ken.count_waiting() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ken.count_waiting() TO ken_app;
