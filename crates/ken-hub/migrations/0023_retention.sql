-- How long an organization keeps what is out of use, and holds that keep it longer.

-- For a workspace, or under its own id for every workspace of the organization.
CREATE TABLE ken.retention (
    organization_id uuid NOT NULL,
    scope uuid NOT NULL,
    kind text NOT NULL,
    days integer NOT NULL CHECK (0 < days),
    PRIMARY KEY (organization_id, scope, kind)
);

-- A legal hold of a workspace or of the organization: nothing in it is deleted until it is released.
CREATE TABLE ken.holds (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    scope uuid NOT NULL,
    reason text NOT NULL,
    placed_by text NOT NULL,
    placed_at bigint NOT NULL,
    released_by text,
    released_at bigint,
    PRIMARY KEY (organization_id, id)
);

ALTER TABLE ken.retention ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.holds ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ken.retention USING (organization_id = ken.organization());
CREATE POLICY own ON ken.holds USING (organization_id = ken.organization());
-- For the list of what is due to be erased, which runs as the owner.
CREATE POLICY listed ON ken.holds FOR SELECT TO CURRENT_USER USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON ken.retention TO ken_app;
-- Deleted only with the whole organization, when no hold keeps it any more.
GRANT SELECT, INSERT, UPDATE, DELETE ON ken.holds TO ken_app;

-- Whether a hold keeps a workspace; without a workspace, whether any keeps something of the organization.
CREATE FUNCTION ken.is_held(of uuid, which uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM ken.holds h WHERE h.organization_id = of AND h.released_at IS NULL
        AND (which IS NULL OR h.scope IN (of, which)))
$$;

-- As before, without what is held.
CREATE OR REPLACE FUNCTION ken.due_erasures(now bigint) RETURNS TABLE (organization_id uuid, workspace_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ken, pg_catalog, pg_temp AS $$
    SELECT w.organization_id, w.id FROM ken.workspaces w JOIN ken.organizations o ON o.id = w.organization_id
        WHERE (w.erase_at <= now OR o.erase_at <= now) AND NOT ken.is_held(w.organization_id, w.id)
    UNION ALL
    SELECT o.id, NULL FROM ken.organizations o WHERE o.erase_at <= now AND NOT ken.is_held(o.id, NULL)
$$;

-- No row of what is held is deleted by an erasure, whichever version of the hub asks for it: the deletion of the workspace's own row
-- is refused, and with it the transaction. Erasures of this version do not get that far.
CREATE FUNCTION ken.refuse_held() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    held boolean;
BEGIN
    -- Two statements: a row of an organization has no column that names one.
    IF TG_TABLE_NAME = 'workspaces' THEN
        held := ken.is_held(OLD.organization_id, OLD.id);
    ELSE
        held := ken.is_held(OLD.id, NULL);
    END IF;
    IF held THEN
        RAISE EXCEPTION 'a legal hold keeps this' USING ERRCODE = 'object_in_use';
    END IF;
    RETURN OLD;
END
$$;
CREATE TRIGGER holds_keep_workspaces BEFORE DELETE ON ken.workspaces FOR EACH ROW EXECUTE FUNCTION ken.refuse_held();
CREATE TRIGGER holds_keep_organizations BEFORE DELETE ON ken.organizations FOR EACH ROW EXECUTE FUNCTION ken.refuse_held();

-- As before, unless a hold keeps it. Deletes up to `most` rows of each table of a workspace whose time has come, and returns how
-- many; the last call, which finds none, deletes the workspace. Returns nothing if its time has not come or another transaction
-- erases it.
CREATE OR REPLACE FUNCTION ken.erase_workspace(of uuid, which uuid, now bigint, most bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    each name;
    gone bigint;
    total bigint := 0;
BEGIN
    PERFORM set_config('ken.organization', of::text, true), set_config('ken.removed', 'on', true);
    -- Shared for the organization: its workspaces may be erased at the same time, but not while a hold of all of them is placed.
    IF NOT pg_try_advisory_xact_lock_shared(uuid_hash_extended(of, 12))
        OR NOT pg_try_advisory_xact_lock(uuid_hash_extended(which, 12)) THEN
        RETURN NULL;
    END IF;
    -- Held, so that it cannot be restored meanwhile.
    PERFORM FROM ken.workspaces w JOIN ken.organizations o ON o.id = w.organization_id
        WHERE w.organization_id = of AND w.id = which AND (w.erase_at <= now OR o.erase_at <= now)
        FOR UPDATE OF w FOR SHARE OF o;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- Whoever places a hold of this workspace, or of its organization, waits for the locks above; the next call sees it.
    IF ken.is_held(of, which) THEN
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

-- As before, unless a hold keeps it. Deletes an organization whose time has come and that has no workspace anymore. Returns whether it did.
CREATE OR REPLACE FUNCTION ken.erase_organization(of uuid, now bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    each name;
BEGIN
    PERFORM set_config('ken.organization', of::text, true), set_config('ken.removed', 'on', true);
    IF NOT pg_try_advisory_xact_lock(uuid_hash_extended(of, 12)) THEN
        RETURN false;
    END IF;
    PERFORM FROM ken.organizations WHERE id = of AND erase_at <= now FOR UPDATE;
    IF NOT FOUND OR EXISTS (SELECT FROM ken.workspaces WHERE organization_id = of) OR ken.is_held(of, NULL) THEN
        RETURN false;
    END IF;
    FOR each IN SELECT ken.tables_with('organization_id') LOOP
        EXECUTE format('DELETE FROM ken.%I WHERE organization_id = $1', each) USING of;
    END LOOP;
    DELETE FROM ken.organizations WHERE id = of;
    RETURN true;
END
$$;
