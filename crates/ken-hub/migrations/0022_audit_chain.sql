-- The audit log as a chain: each record has a number without gaps and a digest that covers the record and the digest before it.
-- Checkpoints sign the ends of all chains of an organization, and exports remember how far they delivered.

-- A chain for each workspace, and one for the organization itself. Links stand beside the log, whose rows never change.
CREATE TABLE ken.audit_links (
    workspace_id uuid NOT NULL,
    number bigint NOT NULL CHECK (0 < number),
    record uuid NOT NULL,
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    PRIMARY KEY (workspace_id, number)
);

-- Chains there are, also those of erased workspaces.
CREATE TABLE ken.audit_chains (
    organization_id uuid NOT NULL,
    chain uuid NOT NULL,
    PRIMARY KEY (organization_id, chain)
);

-- Signed ends of the chains that grew since the checkpoint before.
CREATE TABLE ken.audit_checkpoints (
    organization_id uuid NOT NULL,
    number bigint NOT NULL CHECK (0 < number),
    body text NOT NULL,
    signature text NOT NULL,
    PRIMARY KEY (organization_id, number)
);

-- How far an export delivered a chain, and, without a name, how far checkpoints signed it.
CREATE TABLE ken.audit_deliveries (
    organization_id uuid NOT NULL,
    export text NOT NULL,
    chain uuid NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (organization_id, export, chain)
);

-- State of an export: the process that delivers, failed attempts at the next record, and when to try again.
CREATE TABLE ken.audit_exports (
    organization_id uuid NOT NULL,
    export text NOT NULL,
    leased_by uuid,
    leased_until bigint NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    next_at bigint NOT NULL DEFAULT 0,
    last_error text,
    PRIMARY KEY (organization_id, export)
);

-- Records that an export gave up on.
CREATE TABLE ken.audit_dead_letters (
    organization_id uuid NOT NULL,
    export text NOT NULL,
    chain uuid NOT NULL,
    number bigint NOT NULL,
    at bigint NOT NULL,
    error text NOT NULL,
    -- Whether the operator asked for one more attempt.
    requeued boolean NOT NULL DEFAULT false,
    PRIMARY KEY (organization_id, export, chain, number)
);

-- Returns the digest of a record at a place of its chain. The hub computes it again to verify: any change here is a new version.
CREATE FUNCTION ken.audit_digest(before bytea, place bigint, r ken.audit) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(convert_to('ken.audit.v1 ' || place || ' ' || encode(before, 'hex') || ' '
        || json_build_array(r.workspace_id, r.id, r.at, r.by, r.role, r.act, r.subject, r.token_id, r.address, r.outcome,
            r.events, r.event_count, r.authors, r.entries)::text, 'UTF8'))
$$;

-- Adds a record to the end of its chain, at the end of the transaction: its lock is taken last, after those of rows, and held for a
-- moment only. Runs as the owner: the hub's role can write no link of its own choice.
CREATE FUNCTION ken.link_audit_record() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ken, pg_catalog, pg_temp AS $$
DECLARE
    last ken.audit_links;
BEGIN
    -- Numbers follow commits: the next one who adds to this chain waits for this transaction.
    PERFORM set_config('ken.workspace', NEW.workspace_id::text, true);
    PERFORM pg_advisory_xact_lock(uuid_hash_extended(NEW.workspace_id, 13));
    SELECT * INTO last FROM ken.audit_links WHERE workspace_id = NEW.workspace_id ORDER BY number DESC LIMIT 1;
    IF NOT FOUND THEN
        INSERT INTO ken.audit_chains SELECT ken.organization(), NEW.workspace_id WHERE ken.organization() IS NOT NULL
            ON CONFLICT DO NOTHING;
        last.number := 0;
        last.digest := decode(repeat('00', 32), 'hex');
    END IF;
    INSERT INTO ken.audit_links VALUES (NEW.workspace_id, last.number + 1, NEW.id,
        ken.audit_digest(last.digest, last.number + 1, NEW));
    RETURN NULL;
END
$$;

-- Records of before, in the order of their ids, which is that of time. Policies bind the owner, too, so each chain is entered.
-- A chain whose organization is not known any more is found by its records only.
ALTER TABLE ken.audit NO FORCE ROW LEVEL SECURITY;
DO $$
DECLARE
    r ken.audit;
    chain uuid;
    place bigint;
    before bytea;
BEGIN
    FOR r IN SELECT * FROM ken.audit ORDER BY workspace_id, id LOOP
        IF chain IS DISTINCT FROM r.workspace_id THEN
            chain := r.workspace_id;
            place := 0;
            before := decode(repeat('00', 32), 'hex');
            INSERT INTO ken.audit_chains
                SELECT o.id, chain FROM ken.organizations o WHERE o.id = chain
                UNION ALL SELECT w.organization_id, chain FROM ken.workspaces w WHERE w.id = chain
                -- A workspace that was erased: its organization's log says so.
                UNION ALL SELECT DISTINCT e.workspace_id, chain FROM ken.audit e
                    WHERE e.act = 'workspace.erased' AND e.subject = chain::text
                ON CONFLICT DO NOTHING;
        END IF;
        place := place + 1;
        before := ken.audit_digest(before, place, r);
        INSERT INTO ken.audit_links VALUES (chain, place, r.id, before);
    END LOOP;
END
$$;
ALTER TABLE ken.audit FORCE ROW LEVEL SECURITY;

CREATE CONSTRAINT TRIGGER audit_links AFTER INSERT ON ken.audit DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ken.link_audit_record();

CREATE TRIGGER links_keep_rows BEFORE UPDATE OR DELETE ON ken.audit_links
    FOR EACH ROW EXECUTE FUNCTION ken.refuse_change();
CREATE TRIGGER links_keep_all BEFORE UPDATE OR DELETE OR TRUNCATE ON ken.audit_links
    FOR EACH STATEMENT EXECUTE FUNCTION ken.refuse_change();
CREATE TRIGGER chains_keep_all BEFORE UPDATE OR DELETE OR TRUNCATE ON ken.audit_chains
    FOR EACH STATEMENT EXECUTE FUNCTION ken.refuse_change();
CREATE TRIGGER checkpoints_keep_all BEFORE UPDATE OR DELETE OR TRUNCATE ON ken.audit_checkpoints
    FOR EACH STATEMENT EXECUTE FUNCTION ken.refuse_change();

ALTER TABLE ken.audit_links ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.audit_chains ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.audit_checkpoints ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.audit_deliveries ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.audit_exports ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.audit_dead_letters ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ken.audit_links USING (workspace_id IN (ken.workspace(), ken.organization()));
CREATE POLICY own ON ken.audit_chains USING (organization_id = ken.organization());
CREATE POLICY own ON ken.audit_checkpoints USING (organization_id = ken.organization());
CREATE POLICY own ON ken.audit_deliveries USING (organization_id = ken.organization());
CREATE POLICY own ON ken.audit_exports USING (organization_id = ken.organization());
CREATE POLICY own ON ken.audit_dead_letters USING (organization_id = ken.organization());
GRANT SELECT ON ken.audit_links, ken.audit_chains TO ken_app;
GRANT SELECT, INSERT ON ken.audit_checkpoints TO ken_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ken.audit_deliveries, ken.audit_exports, ken.audit_dead_letters TO ken_app;

-- As before, without the chain of the audit log, which outlives what it is about.
CREATE OR REPLACE FUNCTION ken.tables_with(column_name name) RETURNS SETOF name LANGUAGE sql STABLE AS $$
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = column_name
    WHERE c.relnamespace = 'ken'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND c.relname NOT IN ('audit', 'audit_links', 'audit_chains', 'audit_checkpoints', 'workspaces', 'organizations')
    ORDER BY c.relname <> 'segments', c.relname
$$;

-- Ends of all chains of the entered organization.
CREATE FUNCTION ken.audit_ends() RETURNS TABLE (chain uuid, number bigint, digest bytea) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    each uuid;
    before text := current_setting('ken.workspace', true);
BEGIN
    FOR each IN SELECT ken.organization() UNION SELECT c.chain FROM ken.audit_chains c LOOP
        PERFORM set_config('ken.workspace', each::text, true);
        RETURN QUERY SELECT l.workspace_id, l.number, l.digest FROM ken.audit_links l WHERE l.workspace_id = each
            ORDER BY l.number DESC LIMIT 1;
    END LOOP;
    PERFORM set_config('ken.workspace', coalesce(before, ''), true);
END
$$;

-- Organizations whose audit log a hub signs. Runs as the owner, who sees which there are.
CREATE FUNCTION ken.audited_organizations() RETURNS SETOF uuid LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = ken, pg_catalog, pg_temp AS $$ SELECT id FROM ken.organizations WHERE removed_at IS NULL $$;
REVOKE ALL ON FUNCTION ken.audited_organizations() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ken.audited_organizations() TO ken_app;
