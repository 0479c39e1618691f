-- The short way into the log, for events of which nothing was ever seen here.

-- Whether anybody ever took something back here. Of workspaces that are older than this nothing is known: it may be so.
ALTER TABLE ken.workspaces ADD COLUMN taken_back boolean;
ALTER TABLE ken.workspaces ALTER COLUMN taken_back SET DEFAULT false;

-- Enters a workspace, holds its row and makes places for new events at the end of its log; returns the last place before them.
--
-- Returns nothing, and changes nothing, where more has to be known: there is no such workspace or its entries were evicted, it
-- would hold more than it may, something of the events or entries is there or waits, or one was ordered to be blanked. Returns
-- -1 where something was taken back here and `proposed` says that it may be said again.
CREATE FUNCTION ken.take_places(of uuid, which uuid, ids uuid[], names text[], more_bytes bigint, now bigint,
    proposed boolean, most_events bigint, most_bytes bigint) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    more bigint := cardinality(ids);
    last bigint;
    may_repeat boolean;
BEGIN
    PERFORM set_config('ken.organization', of::text, true);
    PERFORM pg_advisory_xact_lock_shared(uuid_hash_extended(which, 9));
    SELECT w.head, proposed AND w.taken_back IS NOT FALSE INTO last, may_repeat
        FROM ken.workspaces w JOIN ken.organizations o ON o.id = w.organization_id
        WHERE w.organization_id = of AND w.id = which AND w.folded IS NOT NULL
            AND (w.events + more <= coalesce(o.events_max, most_events)) IS NOT FALSE
            AND (w.bytes + more_bytes <= coalesce(o.bytes_max, most_bytes)) IS NOT FALSE
        FOR NO KEY UPDATE OF w;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF may_repeat THEN
        RETURN -1;
    END IF;
    PERFORM set_config('ken.workspace', which::text, true);
    IF EXISTS (SELECT FROM ken.events e WHERE e.workspace_id = which AND e.id = ANY (ids))
        OR EXISTS (SELECT FROM ken.entries n WHERE n.workspace_id = which AND n.id = ANY (names))
        OR EXISTS (SELECT FROM ken.orders d WHERE d.workspace_id = which AND d.target = ANY (ids))
        OR EXISTS (SELECT FROM ken.remembered r WHERE r.workspace_id = which AND r.event = ANY (ids))
        OR EXISTS (SELECT FROM ken.held h WHERE h.workspace_id = which AND h.event = ANY (ids))
    THEN
        RETURN NULL;
    END IF;
    UPDATE ken.workspaces SET head = last + more, folded = last + more, events = events + more, bytes = bytes + more_bytes,
        appended_at = now
        WHERE organization_id = of AND id = which;
    RETURN last;
END
$$;
