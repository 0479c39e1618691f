-- What a whole organization knows: entries some workspace promoted, without what they rest on there.
--
-- One table for all: a search across all partitions walks a graph in each.

CREATE TABLE ken.global_entries (
    organization_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    entry text COLLATE "C" NOT NULL,
    json text NOT NULL,
    words tsvector NOT NULL,
    length integer NOT NULL,
    model text NOT NULL,
    vector halfvec(256),
    PRIMARY KEY (organization_id, workspace_id, entry)
);
CREATE INDEX global_entries_vector ON ken.global_entries USING hnsw (vector halfvec_cosine_ops);
CREATE INDEX global_entries_words ON ken.global_entries USING gin (words);

ALTER TABLE ken.global_entries ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ken.global_entries USING (organization_id = ken.organization());
GRANT SELECT, INSERT, UPDATE, DELETE ON ken.global_entries TO ken_app;
