-- Federation: what an organization publishes to others, and what it receives from them.

-- A publication and the public key that signs it. The private key is never here.
CREATE TABLE ken.publications (
    organization_id uuid NOT NULL REFERENCES ken.organizations (id),
    name text COLLATE "C" NOT NULL,
    publisher text COLLATE "C" NOT NULL,
    key text NOT NULL,
    policy text NOT NULL,
    -- Who may read it: everybody, or tokens of this organization with the role peer or more.
    audience text NOT NULL CHECK (audience IN ('public', 'peers')),
    created_at bigint NOT NULL,
    closed_at bigint,
    -- The head: the newest batch.
    epoch bigint,
    number bigint,
    PRIMARY KEY (organization_id, name)
);
-- The address of a publication names no organization.
CREATE UNIQUE INDEX publications_address ON ken.publications (publisher, name);

-- Signed manifests of the current epoch, and of earlier ones those with orders.
CREATE TABLE ken.publication_batches (
    organization_id uuid NOT NULL,
    publication text COLLATE "C" NOT NULL,
    epoch bigint NOT NULL,
    number bigint NOT NULL,
    has_orders boolean NOT NULL,
    signed text NOT NULL,
    PRIMARY KEY (organization_id, publication, epoch, number),
    FOREIGN KEY (organization_id, publication) REFERENCES ken.publications (organization_id, name) ON DELETE CASCADE
);

-- Published lines, each with the workspace and the events it came from.
CREATE TABLE ken.publication_lines (
    organization_id uuid NOT NULL,
    publication text COLLATE "C" NOT NULL,
    line uuid NOT NULL,
    source_workspace uuid NOT NULL,
    sources uuid[] NOT NULL,
    -- The line as it was signed; nothing once one of its sources was redacted.
    words text,
    -- The line without its data, which keeps its checksum, so that the manifest still fits.
    redacted text NOT NULL,
    PRIMARY KEY (organization_id, publication, line),
    FOREIGN KEY (organization_id, publication) REFERENCES ken.publications (organization_id, name) ON DELETE CASCADE
);
CREATE INDEX publication_lines_source ON ken.publication_lines (organization_id, source_workspace);

-- A publication of another organization, which a person added after comparing its key.
CREATE TABLE ken.peers (
    organization_id uuid NOT NULL REFERENCES ken.organizations (id),
    id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    publisher text COLLATE "C" NOT NULL,
    publication text COLLATE "C" NOT NULL,
    key text NOT NULL,
    source text NOT NULL,
    -- Environment variable with the token for the address. The token itself is never here.
    token_variable text,
    hops smallint NOT NULL CHECK (1 <= hops AND hops <= 3),
    weight_max double precision CHECK (0 <= weight_max AND weight_max <= 0.5),
    -- The reason of a suspension; nothing while the peer is active.
    suspended text,
    -- Days of rejected batches.
    strikes text NOT NULL DEFAULT '',
    -- What was accepted so far: ids and checksums, no words.
    replica text NOT NULL,
    -- Of the replica, for searches.
    is_forked boolean NOT NULL DEFAULT false,
    published_at bigint,
    expires_at bigint,
    -- Of the observations, for searches.
    trust double precision NOT NULL,
    mean double precision NOT NULL,
    created_at bigint NOT NULL,
    pulled_at bigint,
    -- The reason why the last pull stopped.
    stopped text,
    PRIMARY KEY (organization_id, id),
    UNIQUE (organization_id, name)
);

-- Lines that were accepted, with what a person decided.
CREATE TABLE ken.peer_lines (
    organization_id uuid NOT NULL,
    peer_id uuid NOT NULL,
    line uuid NOT NULL,
    entry text COLLATE "C" NOT NULL,
    first_seen text COLLATE "C" NOT NULL,
    -- The line as it came; without its data once its publisher redacted it.
    event text NOT NULL,
    is_redacted boolean NOT NULL,
    -- False once its publisher withdrew it or left it out of a new epoch.
    is_published boolean NOT NULL,
    verdict text NOT NULL CHECK (verdict IN ('waiting', 'approved', 'rejected')),
    -- The event of the person's decision.
    decision text,
    PRIMARY KEY (organization_id, peer_id, line),
    FOREIGN KEY (organization_id, peer_id) REFERENCES ken.peers (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX peer_lines_verdict ON ken.peer_lines (organization_id, peer_id, verdict, first_seen, entry);

-- Approved entries that are published still, as searches read them.
CREATE TABLE ken.peer_entries (
    organization_id uuid NOT NULL,
    peer_id uuid NOT NULL,
    entry text COLLATE "C" NOT NULL,
    line uuid NOT NULL,
    first_seen text COLLATE "C" NOT NULL,
    json text NOT NULL,
    words tsvector NOT NULL,
    length integer NOT NULL,
    model text NOT NULL,
    vector halfvec(256),
    PRIMARY KEY (organization_id, peer_id, entry),
    FOREIGN KEY (organization_id, peer_id) REFERENCES ken.peers (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX peer_entries_vector ON ken.peer_entries USING hnsw (vector halfvec_cosine_ops);
CREATE INDEX peer_entries_words ON ken.peer_entries USING gin (words);

-- What was observed of a peer; trust follows from it.
CREATE TABLE ken.peer_observations (
    organization_id uuid NOT NULL,
    peer_id uuid NOT NULL,
    id uuid NOT NULL,
    at bigint NOT NULL,
    alpha_milli integer NOT NULL,
    beta_milli integer NOT NULL,
    by text NOT NULL,
    why text NOT NULL,
    PRIMARY KEY (organization_id, peer_id, id),
    FOREIGN KEY (organization_id, peer_id) REFERENCES ken.peers (organization_id, id) ON DELETE CASCADE
);

ALTER TABLE ken.publications ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.publication_batches ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.publication_lines ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.peers ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.peer_lines ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.peer_entries ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.peer_observations ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own ON ken.publications USING (organization_id = ken.organization());
CREATE POLICY own ON ken.publication_batches USING (organization_id = ken.organization());
CREATE POLICY own ON ken.publication_lines USING (organization_id = ken.organization());
CREATE POLICY own ON ken.peers USING (organization_id = ken.organization());
CREATE POLICY own ON ken.peer_lines USING (organization_id = ken.organization());
CREATE POLICY own ON ken.peer_entries USING (organization_id = ken.organization());
CREATE POLICY own ON ken.peer_observations USING (organization_id = ken.organization());
-- Before it is known whose a publication is: a reader names the publisher.
CREATE POLICY named ON ken.publications FOR SELECT USING (publisher = nullif(current_setting('ken.publisher', true), ''));

GRANT SELECT, INSERT, UPDATE, DELETE ON ken.publications, ken.publication_batches, ken.publication_lines, ken.peers,
    ken.peer_lines, ken.peer_entries, ken.peer_observations TO ken_app;

-- Returns the organization of a publication, unless that was removed, and begins to see it.
CREATE FUNCTION ken.enter_publication(of text, which text) RETURNS TABLE (organization_id uuid, audience text)
    LANGUAGE plpgsql AS $$
DECLARE
    found ken.publications;
BEGIN
    PERFORM set_config('ken.publisher', of, true);
    SELECT * INTO found FROM ken.publications p WHERE p.publisher = of AND p.name = which;
    PERFORM set_config('ken.publisher', '', true);
    IF found.name IS NULL THEN
        RETURN;
    END IF;
    PERFORM set_config('ken.organization', found.organization_id::text, true);
    IF EXISTS (SELECT FROM ken.organizations o WHERE o.id = found.organization_id) THEN
        RETURN QUERY SELECT found.organization_id, found.audience;
    END IF;
END
$$;

-- An erased workspace leaves no words in what it published.
CREATE FUNCTION ken.redact_published() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE ken.publication_lines SET words = NULL
        WHERE organization_id = OLD.organization_id AND source_workspace = OLD.id AND words IS NOT NULL;
    RETURN OLD;
END
$$;
CREATE TRIGGER erased_workspaces_publish_nothing AFTER DELETE ON ken.workspaces
    FOR EACH ROW EXECUTE FUNCTION ken.redact_published();

-- A role for tokens of other organizations, which read publications and nothing else.
ALTER TABLE ken.tokens DROP CONSTRAINT tokens_role_check;
ALTER TABLE ken.tokens ADD CONSTRAINT tokens_role_check
    CHECK (role IN ('peer', 'reader', 'agent', 'member', 'curator', 'admin'));
