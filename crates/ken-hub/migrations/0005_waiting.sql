-- What has not become an event yet: runs under way, and events that wait for a person.

CREATE TABLE ken.runs (
    workspace_id uuid NOT NULL,
    id text COLLATE "C" NOT NULL,
    by text NOT NULL,
    opened_at bigint NOT NULL,
    closed_at bigint,
    PRIMARY KEY (workspace_id, id)
);

CREATE TABLE ken.run_notes (
    workspace_id uuid NOT NULL,
    run text COLLATE "C" NOT NULL,
    n integer NOT NULL,
    note text NOT NULL,
    PRIMARY KEY (workspace_id, run, n),
    FOREIGN KEY (workspace_id, run) REFERENCES ken.runs (workspace_id, id) ON DELETE CASCADE
);

CREATE TABLE ken.held (
    workspace_id uuid NOT NULL,
    event uuid NOT NULL,
    line text NOT NULL,
    why text NOT NULL,
    by text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (workspace_id, event)
);

ALTER TABLE ken.runs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.run_notes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.held ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ken.runs USING (workspace_id = ken.workspace());
CREATE POLICY own ON ken.run_notes USING (workspace_id = ken.workspace());
CREATE POLICY own ON ken.held USING (workspace_id = ken.workspace());
GRANT SELECT, INSERT, UPDATE, DELETE ON ken.runs, ken.run_notes, ken.held TO ken_app;
