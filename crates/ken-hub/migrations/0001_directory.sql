-- Who there is: the application's role, organizations, their workspaces and tokens, the audit log.
--
-- Times are milliseconds since 1970. Every table is seen through a policy that compares its key with a setting of the
-- transaction; without the setting nothing is seen, and the owner is bound by it too.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'ken_app') THEN
        CREATE ROLE ken_app NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
    IF NOT pg_has_role(current_user, 'ken_app', 'MEMBER') THEN
        EXECUTE format('GRANT ken_app TO %I', current_user);
    END IF;
EXCEPTION
    -- Roles belong to the whole server: another of its databases may be made at the same moment.
    WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;

GRANT USAGE ON SCHEMA ken TO ken_app;
GRANT SELECT ON ken.migrations TO ken_app;

CREATE FUNCTION ken.organization() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('ken.organization', true), '')::uuid $$;

CREATE FUNCTION ken.workspace() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('ken.workspace', true), '')::uuid $$;

CREATE FUNCTION ken.token() RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT decode(nullif(current_setting('ken.token', true), ''), 'hex') $$;

CREATE TABLE ken.organizations (
    id uuid PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
    created_at bigint NOT NULL,
    -- Quotas; the hub's own defaults hold where there is none.
    workspaces_max bigint CHECK (0 <= workspaces_max),
    events_max bigint CHECK (0 <= events_max),
    bytes_max bigint CHECK (0 <= bytes_max),
    requests_per_minute bigint CHECK (0 <= requests_per_minute)
);

CREATE TABLE ken.workspaces (
    organization_id uuid NOT NULL REFERENCES ken.organizations (id),
    id uuid NOT NULL UNIQUE,
    name text COLLATE "C" NOT NULL CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
    created_at bigint NOT NULL,
    -- The place of the last event in the log. Whoever appends holds this row, so places follow commits.
    head bigint NOT NULL DEFAULT 0,
    -- How far entries follow the log; nothing where they were evicted.
    folded bigint DEFAULT 0,
    -- Events there are, and the bytes of their lines.
    events bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    appended_at bigint,
    PRIMARY KEY (organization_id, id),
    UNIQUE (organization_id, name)
) WITH (fillfactor = 50);

CREATE TABLE ken.tokens (
    organization_id uuid NOT NULL REFERENCES ken.organizations (id),
    id uuid NOT NULL,
    hash bytea NOT NULL UNIQUE,
    name text NOT NULL,
    actor text NOT NULL,
    role text NOT NULL CHECK (role IN ('reader', 'agent', 'curator', 'admin')),
    -- Every workspace of the organization where nothing is named.
    workspaces uuid[],
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    PRIMARY KEY (organization_id, id)
);

-- What was answered to a request that may come again.
CREATE TABLE ken.idempotency (
    organization_id uuid NOT NULL REFERENCES ken.organizations (id),
    key text NOT NULL,
    -- Of the request: another one under the same key is refused.
    digest bytea NOT NULL,
    -- Nothing while the first request is still under way.
    status smallint,
    content_type text,
    body bytea,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (organization_id, key)
);
CREATE INDEX idempotency_expires ON ken.idempotency (organization_id, expires_at);

-- Who did what. What concerns no workspace stands under the organization's own id. No text of an entry is in here.
CREATE TABLE ken.audit (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    at bigint NOT NULL,
    by text NOT NULL,
    role text NOT NULL,
    act text NOT NULL,
    subject text NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

CREATE FUNCTION ken.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is only added to' USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER audit_keeps_rows BEFORE UPDATE OR DELETE ON ken.audit
    FOR EACH ROW EXECUTE FUNCTION ken.refuse_change();
CREATE TRIGGER audit_keeps_all BEFORE UPDATE OR DELETE OR TRUNCATE ON ken.audit
    FOR EACH STATEMENT EXECUTE FUNCTION ken.refuse_change();

ALTER TABLE ken.organizations ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.workspaces ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.tokens ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.idempotency ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.audit ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own ON ken.organizations USING (id = ken.organization());
CREATE POLICY own ON ken.workspaces USING (organization_id = ken.organization());
CREATE POLICY own ON ken.tokens USING (organization_id = ken.organization());
CREATE POLICY own ON ken.idempotency USING (organization_id = ken.organization());
CREATE POLICY own ON ken.audit USING (workspace_id IN (ken.workspace(), ken.organization()));
-- Before it is known whose a token is: whoever shows the hash sees the row it belongs to.
CREATE POLICY shown ON ken.tokens FOR SELECT USING (hash = ken.token());
-- Operators list what there is, to look after it: names and sizes, nothing that anybody wrote.
CREATE POLICY listed ON ken.organizations FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY listed ON ken.workspaces FOR SELECT TO CURRENT_USER USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON ken.organizations, ken.workspaces, ken.tokens, ken.idempotency TO ken_app;
GRANT SELECT, INSERT ON ken.audit TO ken_app;

-- Returns the token with this hash, whosever it is.
CREATE FUNCTION ken.token_by_hash(shown bytea) RETURNS SETOF ken.tokens LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('ken.token', encode(shown, 'hex'), true);
    RETURN QUERY SELECT * FROM ken.tokens WHERE hash = shown;
    PERFORM set_config('ken.token', '', true);
END
$$;

-- Begins a transaction that sees one workspace. Returns 'missing', 'cold' (its entries were evicted) or 'warm'.
--
-- The lock keeps entries from being evicted while somebody reads them; it lives in memory and writes nothing.
CREATE FUNCTION ken.enter(of uuid, which uuid) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
BEGIN
    PERFORM set_config('ken.organization', of::text, true);
    PERFORM pg_advisory_xact_lock_shared(uuid_hash_extended(which, 9));
    SELECT folded INTO at FROM ken.workspaces WHERE organization_id = of AND id = which;
    IF NOT FOUND THEN
        RETURN 'missing';
    END IF;
    PERFORM set_config('ken.workspace', which::text, true);
    RETURN CASE WHEN at IS NULL THEN 'cold' ELSE 'warm' END;
END
$$;
