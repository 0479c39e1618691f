-- The log: every event once, in the one form all replicas agree on, and what its events say about each other.

CREATE TABLE ken.events (
    workspace_id uuid NOT NULL,
    -- Where it stands in the log. An event whose form changes moves to the end, so that whoever follows sees it.
    seq bigint NOT NULL,
    id uuid NOT NULL,
    at text COLLATE "C" NOT NULL,
    type text NOT NULL,
    blanked boolean NOT NULL,
    line text NOT NULL,
    PRIMARY KEY (workspace_id, seq),
    UNIQUE (workspace_id, id)
) PARTITION BY HASH (workspace_id);
CREATE INDEX events_at ON ken.events (workspace_id, at);

-- Which events an entry is folded from; those the workspace's own state follows from have no entry's name.
CREATE TABLE ken.subjects (
    workspace_id uuid NOT NULL,
    entry text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (workspace_id, entry, seq)
) PARTITION BY HASH (workspace_id);

-- Orders to blank an event, by those who may give them.
CREATE TABLE ken.orders (
    workspace_id uuid NOT NULL,
    target uuid NOT NULL,
    event uuid NOT NULL,
    PRIMARY KEY (workspace_id, target, event)
);

-- Events that are blanked whatever the log says.
CREATE TABLE ken.remembered (
    workspace_id uuid NOT NULL,
    event uuid NOT NULL,
    PRIMARY KEY (workspace_id, event)
);

-- Where events stood before they moved: a reader's place there is still a place of this log.
CREATE TABLE ken.moved (
    workspace_id uuid NOT NULL,
    seq bigint NOT NULL,
    event uuid NOT NULL,
    PRIMARY KEY (workspace_id, seq)
);

DO $$
BEGIN
    FOR n IN 0..7 LOOP
        EXECUTE format('CREATE TABLE ken.events_%s PARTITION OF ken.events FOR VALUES WITH (MODULUS 8, REMAINDER %s)', n, n);
        EXECUTE format('CREATE TABLE ken.subjects_%s PARTITION OF ken.subjects FOR VALUES WITH (MODULUS 8, REMAINDER %s)', n, n);
        -- Nobody but the owner may name a partition, and without a policy not even the owner sees anything there.
        EXECUTE format('ALTER TABLE ken.events_%s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', n);
        EXECUTE format('ALTER TABLE ken.subjects_%s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', n);
    END LOOP;
END
$$;

ALTER TABLE ken.events ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.subjects ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.orders ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.remembered ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.moved ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own ON ken.events USING (workspace_id = ken.workspace());
CREATE POLICY own ON ken.subjects USING (workspace_id = ken.workspace());
CREATE POLICY own ON ken.orders USING (workspace_id = ken.workspace());
CREATE POLICY own ON ken.remembered USING (workspace_id = ken.workspace());
CREATE POLICY own ON ken.moved USING (workspace_id = ken.workspace());

GRANT SELECT, INSERT, UPDATE, DELETE ON ken.events, ken.subjects, ken.orders, ken.remembered, ken.moved TO ken_app;
