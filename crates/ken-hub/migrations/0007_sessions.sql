-- What sessions saw in runs that ended: one that goes on has seen what it saw.

CREATE TABLE ken.sessions (
    workspace_id uuid NOT NULL,
    -- A hash: a session's own name is somebody else's text.
    session bytea NOT NULL,
    -- An entry, or `*` where it saw more than anybody counts.
    entry text COLLATE "C" NOT NULL,
    seen_at bigint NOT NULL,
    PRIMARY KEY (workspace_id, session, entry)
);

ALTER TABLE ken.sessions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ken.sessions USING (workspace_id = ken.workspace());
GRANT SELECT, INSERT, UPDATE, DELETE ON ken.sessions TO ken_app;
