-- People as opaque ids: the one place of a hub with their names, which can be erased. Events, tokens and the audit log contain the
-- ids, so no digest of the audit log's chain covers a name.

CREATE TABLE ken.people (
    organization_id uuid NOT NULL REFERENCES ken.organizations (id),
    id text COLLATE "C" NOT NULL CHECK (id ~ '^p-[0-9a-hjkmnp-tv-z]{12}$'),
    name text,
    -- The name by which the issuer knows the person, in lower case if it is an address.
    subject text COLLATE "C",
    created_at bigint NOT NULL,
    PRIMARY KEY (organization_id, id),
    UNIQUE (organization_id, subject)
);
ALTER TABLE ken.people ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ken.people USING (organization_id = ken.organization());
GRANT SELECT, INSERT, UPDATE, DELETE ON ken.people TO ken_app;

-- Whether people who sign in are listed under a new id; nothing means no.
ALTER TABLE ken.organizations ADD COLUMN lists_people boolean;

-- A name is evidence like any other: no version of the hub deletes it while a hold keeps something of the organization. The erasure
-- of an organization asks for holds before.
CREATE FUNCTION ken.refuse_held_person() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF ken.is_held(OLD.organization_id, NULL) THEN
        RAISE EXCEPTION 'a legal hold keeps this' USING ERRCODE = 'object_in_use';
    END IF;
    RETURN OLD;
END
$$;
CREATE TRIGGER holds_keep_people BEFORE DELETE ON ken.people FOR EACH ROW EXECUTE FUNCTION ken.refuse_held_person();
