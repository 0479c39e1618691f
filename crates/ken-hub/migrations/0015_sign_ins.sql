-- Sign-ins of people in a browser, and devices that ask a person for a token.

CREATE FUNCTION ken.shown_secret() RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT decode(nullif(current_setting('ken.shown_secret', true), ''), 'hex') $$;

-- A row lives as long as the sign-in: ending one deletes it.
CREATE TABLE ken.sign_ins (
    organization_id uuid NOT NULL REFERENCES ken.organizations (id),
    id uuid NOT NULL,
    -- Of the cookie, which only the browser has.
    hash bytea NOT NULL UNIQUE,
    actor text NOT NULL,
    role text NOT NULL CHECK (role IN ('reader', 'member', 'curator', 'admin')),
    -- Every workspace of the organization where nothing is named.
    workspaces uuid[],
    -- The token it was made with; its role and workspaces are those of the token, and it ends with it.
    token_id uuid,
    -- Subject and session at the identity provider, which may end them.
    provider_subject text,
    provider_session text,
    -- The provider's refresh token, encrypted with a key that only the cookie yields.
    sealed_refresh bytea,
    created_at bigint NOT NULL,
    used_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    -- When the provider was asked last, and when it last confirmed the person.
    checked_at bigint NOT NULL,
    verified_at bigint NOT NULL,
    address text,
    -- The result of the last action, until a page has shown it.
    notice text,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX sign_ins_session ON ken.sign_ins (provider_session) WHERE provider_session IS NOT NULL;
CREATE INDEX sign_ins_subject ON ken.sign_ins (provider_subject) WHERE provider_subject IS NOT NULL;

ALTER TABLE ken.sign_ins ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ken.sign_ins USING (organization_id = ken.organization());
-- The organization of a cookie is not known yet, so its hash selects the row.
CREATE POLICY shown ON ken.sign_ins FOR SELECT USING (hash = ken.shown_secret());
-- The identity provider names a session or a subject, and no organization.
CREATE POLICY provided ON ken.sign_ins FOR SELECT USING (
    provider_session = nullif(current_setting('ken.provider_session', true), '')
    OR provider_subject = nullif(current_setting('ken.provider_subject', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON ken.sign_ins TO ken_app;

-- Returns the sign-in with this hash and the name of its organization. One made with a token has the role and workspaces
-- of the token now, and is not found once the token is revoked or expired.
CREATE FUNCTION ken.sign_in_by_hash(shown bytea, now bigint) RETURNS TABLE (
    organization_id uuid, organization text, id uuid, actor text, role text, workspaces uuid[], token_id uuid,
    created_at bigint, used_at bigint, expires_at bigint, checked_at bigint, verified_at bigint, sealed_refresh bytea,
    notice text, provider_subject text) LANGUAGE plpgsql AS $$
DECLARE
    found ken.sign_ins;
    token ken.tokens;
    named text;
    before text := current_setting('ken.organization', true);
BEGIN
    PERFORM set_config('ken.shown_secret', encode(shown, 'hex'), true);
    SELECT * INTO found FROM ken.sign_ins s WHERE s.hash = shown
        -- A restored backup may have revived a sign-in that was ended.
        AND (SELECT greatest(i.tokens_from, i.restored_at) FROM ken.instance i) <= s.created_at;
    PERFORM set_config('ken.shown_secret', '', true);
    IF found.id IS NULL THEN
        RETURN;
    END IF;
    PERFORM set_config('ken.organization', found.organization_id::text, true);
    SELECT o.name INTO named FROM ken.organizations o WHERE o.id = found.organization_id;
    IF found.token_id IS NOT NULL THEN
        SELECT * INTO token FROM ken.tokens t WHERE t.organization_id = found.organization_id AND t.id = found.token_id
            AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR now < t.expires_at);
        found.role := token.role;
        found.actor := token.actor;
        found.workspaces := token.workspaces;
    END IF;
    PERFORM set_config('ken.organization', coalesce(before, ''), true);
    IF named IS NOT NULL AND found.role IS NOT NULL THEN
        RETURN QUERY SELECT found.organization_id, named, found.id, found.actor, found.role, found.workspaces, found.token_id,
            found.created_at, found.used_at, found.expires_at, found.checked_at, found.verified_at, found.sealed_refresh,
            found.notice, found.provider_subject;
    END IF;
END
$$;

-- Returns the organizations with sign-ins of a session or subject at the identity provider.
CREATE FUNCTION ken.provided_organizations(session text, subject text) RETURNS SETOF uuid LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('ken.provider_session', coalesce(session, ''), true),
        set_config('ken.provider_subject', coalesce(subject, ''), true);
    RETURN QUERY SELECT DISTINCT s.organization_id FROM ken.sign_ins s
        WHERE s.provider_session = session OR s.provider_subject = subject;
    PERFORM set_config('ken.provider_session', '', true), set_config('ken.provider_subject', '', true);
END
$$;

-- A device that asks for a token (RFC 8628). It belongs to no organization until a person confirms it.
CREATE TABLE ken.device_grants (
    -- Of the secret that the device keeps.
    device_hash bytea PRIMARY KEY,
    -- Of the code that the person types.
    code_hash bytea NOT NULL UNIQUE,
    name text NOT NULL,
    address text,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    polled_at bigint,
    -- Set by the person's decision.
    decision text CHECK (decision IN ('confirmed', 'refused')),
    organization_id uuid REFERENCES ken.organizations (id),
    -- The sign-in of the decision. A token is issued only while it exists.
    sign_in_id uuid,
    actor text,
    role text,
    workspaces uuid[],
    days integer
);
ALTER TABLE ken.device_grants ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ken.device_grants USING (organization_id = ken.organization());
-- The device shows its secret, the person the code.
CREATE POLICY shown ON ken.device_grants USING (ken.shown_secret() IN (device_hash, code_hash));
-- The owner deletes expired grants of all organizations.
CREATE POLICY expired ON ken.device_grants TO CURRENT_USER USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON ken.device_grants TO ken_app;
CREATE INDEX device_grants_expires ON ken.device_grants (expires_at);

-- Deletes grants that expired an hour ago. Runs as the owner: a device sees its own grant only.
CREATE FUNCTION ken.clear_device_grants(now bigint) RETURNS void LANGUAGE sql SECURITY DEFINER
    SET search_path = ken, pg_catalog, pg_temp AS $$
    DELETE FROM ken.device_grants WHERE expires_at < now - 3600000
$$;
REVOKE ALL ON FUNCTION ken.clear_device_grants(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ken.clear_device_grants(bigint) TO ken_app;

CREATE FUNCTION ken.begin_device_grant(device bytea, code bytea, called text, from_address text, now bigint, until bigint)
    RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('ken.shown_secret', encode(device, 'hex'), true);
    PERFORM ken.clear_device_grants(now);
    INSERT INTO ken.device_grants (device_hash, code_hash, name, address, created_at, expires_at)
        VALUES (device, code, called, from_address, now, until);
    PERFORM set_config('ken.shown_secret', '', true);
END
$$;

CREATE FUNCTION ken.device_grant_by_code(code bytea, now bigint) RETURNS TABLE (name text, address text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('ken.shown_secret', encode(code, 'hex'), true);
    RETURN QUERY SELECT g.name, g.address FROM ken.device_grants g
        WHERE g.code_hash = code AND now < g.expires_at AND g.decision IS NULL;
    PERFORM set_config('ken.shown_secret', '', true);
END
$$;

-- Notes a person's decision. Returns whether the code was still open.
CREATE FUNCTION ken.decide_device_grant(code bytea, now bigint, decided text, of uuid, by_sign_in uuid, by_actor text,
    by_role text, within uuid[], lasting integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    changed boolean;
BEGIN
    PERFORM set_config('ken.shown_secret', encode(code, 'hex'), true);
    UPDATE ken.device_grants SET decision = decided, organization_id = of, sign_in_id = by_sign_in,
        actor = by_actor, role = by_role, workspaces = within, days = lasting
        WHERE code_hash = code AND now < expires_at AND decision IS NULL;
    changed := FOUND;
    PERFORM set_config('ken.shown_secret', '', true);
    RETURN changed;
END
$$;

-- Answers a device. Returns 'unknown', 'expired', 'fast' (it asks too often), 'pending', 'refused', or 'confirmed' with the
-- organization, whose transaction then deletes the grant and issues the token.
CREATE FUNCTION ken.poll_device_grant(device bytea, now bigint, pause bigint, OUT state text, OUT organization_id uuid)
    LANGUAGE plpgsql AS $$
DECLARE
    found ken.device_grants;
BEGIN
    PERFORM set_config('ken.shown_secret', encode(device, 'hex'), true);
    SELECT * INTO found FROM ken.device_grants g WHERE g.device_hash = device FOR UPDATE;
    IF found.device_hash IS NULL THEN
        state := 'unknown';
    ELSIF found.expires_at <= now THEN
        state := 'expired';
    ELSIF found.decision IS NULL AND now - coalesce(found.polled_at, 0) < pause THEN
        state := 'fast';
    ELSE
        state := coalesce(found.decision, 'pending');
    END IF;
    IF state = 'refused' THEN
        DELETE FROM ken.device_grants g WHERE g.device_hash = device;
    ELSIF state = 'confirmed' THEN
        organization_id := found.organization_id;
    ELSE
        UPDATE ken.device_grants g SET polled_at = now WHERE g.device_hash = device;
    END IF;
    PERFORM set_config('ken.shown_secret', '', true);
END
$$;
