-- Roles in single workspaces, and accounts: who is responsible for a program, and who is blocked.

-- A stronger role in these workspaces, in the same order; the column `role` holds in all others.
ALTER TABLE ken.tokens ADD COLUMN role_workspaces uuid[], ADD COLUMN role_names text[];
ALTER TABLE ken.sign_ins ADD COLUMN role_workspaces uuid[], ADD COLUMN role_names text[];

-- Returns the roles in single workspaces of the sign-in with this hash: its own, or those of the token it was made with.
CREATE FUNCTION ken.sign_in_roles(shown bytea, OUT role_workspaces uuid[], OUT role_names text[]) LANGUAGE plpgsql AS $$
DECLARE
    found ken.sign_ins;
    before text := current_setting('ken.organization', true);
BEGIN
    PERFORM set_config('ken.shown_secret', encode(shown, 'hex'), true);
    SELECT * INTO found FROM ken.sign_ins s WHERE s.hash = shown;
    PERFORM set_config('ken.shown_secret', '', true);
    role_workspaces := found.role_workspaces;
    role_names := found.role_names;
    IF found.token_id IS NOT NULL THEN
        PERFORM set_config('ken.organization', found.organization_id::text, true);
        SELECT t.role_workspaces, t.role_names INTO role_workspaces, role_names FROM ken.tokens t
            WHERE t.organization_id = found.organization_id AND t.id = found.token_id;
        PERFORM set_config('ken.organization', coalesce(before, ''), true);
    END IF;
END
$$;

CREATE TABLE ken.accounts (
    organization_id uuid NOT NULL REFERENCES ken.organizations (id),
    actor text COLLATE "C" NOT NULL,
    -- The person responsible for a program.
    owner text,
    description text,
    created_at bigint NOT NULL,
    -- A blocked actor gets no token and no sign-in, and an issuer's tokens of it are refused.
    blocked_at bigint,
    PRIMARY KEY (organization_id, actor)
);
ALTER TABLE ken.accounts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ken.accounts USING (organization_id = ken.organization());
GRANT SELECT, INSERT, UPDATE, DELETE ON ken.accounts TO ken_app;
