-- When a run was last written to: what nobody writes to any more is closed, whoever began it. Of older rows nothing is
-- known but when they were opened.
ALTER TABLE ken.runs ADD COLUMN noted_at bigint;

-- Open runs are few among all; `noted_at` stays out of the index, so that a note changes no index.
CREATE INDEX runs_open ON ken.runs (workspace_id, opened_at) WHERE closed_at IS NULL;
