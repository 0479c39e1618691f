-- What follows from the log: entries, what a search reads of them, the workspace's own state.

CREATE EXTENSION IF NOT EXISTS vector;

-- For whoever asks by hand: words come here by their stems already and are taken as they are.
CREATE TEXT SEARCH CONFIGURATION ken.words (COPY = pg_catalog.simple);

CREATE TABLE ken.entries (
    workspace_id uuid NOT NULL,
    id text COLLATE "C" NOT NULL,
    memory text NOT NULL,
    kind text,
    status text NOT NULL,
    lens text,
    alias text COLLATE "C",
    -- Clock readings, which sort as text; empty while no proposal is known.
    created text COLLATE "C" NOT NULL,
    updated text COLLATE "C" NOT NULL,
    worded boolean NOT NULL,
    live boolean NOT NULL,
    archived boolean NOT NULL,
    retracted boolean NOT NULL,
    tombstone boolean NOT NULL,
    -- Whether the whole organization is shown it.
    global boolean NOT NULL,
    tags text[] NOT NULL,
    -- Exactly what the fold wrote: another spelling would be another state.
    json text NOT NULL,
    PRIMARY KEY (workspace_id, id)
) PARTITION BY HASH (workspace_id);
CREATE INDEX entries_created ON ken.entries (workspace_id, created, id);
CREATE INDEX entries_alias ON ken.entries (workspace_id, alias) WHERE alias IS NOT NULL;
CREATE INDEX entries_tombstone ON ken.entries (workspace_id, id) WHERE tombstone;

-- Entries as a search sees them, those laid aside by their words only. A workspace is read whole: no index beside its key
-- pays at that size.
CREATE TABLE ken.searchable (
    workspace_id uuid NOT NULL,
    entry text COLLATE "C" NOT NULL,
    live boolean NOT NULL,
    words tsvector NOT NULL,
    -- Words it has, repeated ones counted.
    length integer NOT NULL,
    paths text[] NOT NULL,
    -- The model that made the vector; vectors of two models are never compared.
    model text NOT NULL,
    vector halfvec(256),
    PRIMARY KEY (workspace_id, entry)
) PARTITION BY HASH (workspace_id);

CREATE TABLE ken.workspace_states (
    workspace_id uuid PRIMARY KEY,
    json text NOT NULL
);

DO $$
BEGIN
    FOR n IN 0..7 LOOP
        EXECUTE format('CREATE TABLE ken.entries_%s PARTITION OF ken.entries FOR VALUES WITH (MODULUS 8, REMAINDER %s) WITH (fillfactor = 85)', n, n);
        EXECUTE format('CREATE TABLE ken.searchable_%s PARTITION OF ken.searchable FOR VALUES WITH (MODULUS 8, REMAINDER %s)', n, n);
        EXECUTE format('ALTER TABLE ken.entries_%s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', n);
        EXECUTE format('ALTER TABLE ken.searchable_%s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', n);
    END LOOP;
END
$$;

ALTER TABLE ken.entries ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.searchable ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.workspace_states ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own ON ken.entries USING (workspace_id = ken.workspace());
CREATE POLICY own ON ken.searchable USING (workspace_id = ken.workspace());
CREATE POLICY own ON ken.workspace_states USING (workspace_id = ken.workspace());

GRANT SELECT, INSERT, UPDATE, DELETE ON ken.entries, ken.searchable, ken.workspace_states TO ken_app;

-- Takes the workspace's row and returns everything an append has to know, each part seen after the row was taken:
-- 0 the head; 1 events held; 2 events that are to be blanked; 3 entries; 4 events of entries that are folded again.
CREATE FUNCTION ken.for_append(of uuid, which uuid, ids uuid[], touched text[], whole text[])
    RETURNS TABLE (part smallint, event uuid, entry text, seq bigint, is_global boolean, line text)
    LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT 0::smallint, NULL::uuid, NULL::text, w.head, NULL::boolean, NULL::text
        FROM ken.workspaces w WHERE w.organization_id = of AND w.id = which FOR NO KEY UPDATE;
    RETURN QUERY SELECT 1::smallint, e.id, NULL::text, e.seq, NULL::boolean, e.line
        FROM ken.events e WHERE e.workspace_id = which AND e.id = ANY (ids);
    RETURN QUERY SELECT 2::smallint, o.target, NULL::text, NULL::bigint, NULL::boolean, NULL::text
        FROM ken.orders o WHERE o.workspace_id = which AND o.target = ANY (ids)
        UNION SELECT 2::smallint, r.event, NULL::text, NULL::bigint, NULL::boolean, NULL::text
        FROM ken.remembered r WHERE r.workspace_id = which AND r.event = ANY (ids);
    RETURN QUERY SELECT 3::smallint, NULL::uuid, n.id, NULL::bigint, n.global, n.json
        FROM ken.entries n WHERE n.workspace_id = which AND n.id = ANY (touched);
    -- Of entries there are none of, there are no events either.
    IF FOUND OR '' = ANY (whole) THEN
        -- One event after the other, by its key: a join might read the whole log to find three.
        RETURN QUERY SELECT 4::smallint, e.id, s.entry, s.seq, NULL::boolean, e.line
            FROM ken.subjects s CROSS JOIN LATERAL (
                SELECT l.id, l.line FROM ken.events l WHERE l.workspace_id = which AND l.seq = s.seq OFFSET 0
            ) AS e
            WHERE s.workspace_id = which AND s.entry = ANY (whole);
    END IF;
END
$$;
