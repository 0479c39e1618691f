-- Which hubs may serve this schema, so that hubs of two versions can share a database during an upgrade.

-- One row, of no tenant. A migration that a hub without it could not serve beside ("contract") changes it.
CREATE TABLE ken.compatibility (
    is_single boolean PRIMARY KEY DEFAULT true CHECK (is_single),
    -- Name of a migration. A hub that does not contain it is too old for this database.
    oldest_hub text NOT NULL
);
INSERT INTO ken.compatibility (oldest_hub) VALUES ('0001_directory');
ALTER TABLE ken.compatibility ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY everybody ON ken.compatibility USING (true);
GRANT SELECT ON ken.compatibility TO ken_app;
