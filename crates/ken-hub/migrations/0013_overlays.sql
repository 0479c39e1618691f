-- Overlays of people: which entries a person pinned or muted for themselves. They are no events, because they concern nobody
-- else: neither other readers nor clones.

CREATE TABLE ken.overlays (
    workspace_id uuid NOT NULL,
    -- The person who set it.
    actor text COLLATE "C" NOT NULL,
    entry text COLLATE "C" NOT NULL,
    overlay text COLLATE "C" NOT NULL CHECK (overlay IN ('pin', 'mute')),
    set_at bigint NOT NULL,
    PRIMARY KEY (workspace_id, actor, entry, overlay)
);

ALTER TABLE ken.overlays ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ken.overlays USING (workspace_id = ken.workspace());
GRANT SELECT, INSERT, UPDATE, DELETE ON ken.overlays TO ken_app;
