-- Search in large workspaces. A search compares entries one by one while there are few; beyond that it finds them through
-- posting lists (words) and a graph (vectors), both filled in batches by `ken.index_entries`.
--
-- A GIN index cannot serve here: row-level security evaluates `words @@ …` after the policy, because the operator is not
-- leakproof. Comparing a word with a key is, so posting lists are rows under a B-tree, one list per word and batch.

-- The place of an entry in lists and graph; null while it is compared one by one.
ALTER TABLE ken.searchable ADD COLUMN place integer;
CREATE INDEX searchable_place ON ken.searchable (workspace_id, live, place);
CREATE INDEX searchable_vector ON ken.searchable USING hnsw (vector halfvec_cosine_ops) WHERE place IS NOT NULL;

-- A batch of indexed entries: the places after the segment before it, up to `last`.
CREATE TABLE ken.segments (
    workspace_id uuid NOT NULL,
    last integer NOT NULL,
    entries integer NOT NULL,
    -- Words of all its entries, repeated ones counted.
    length bigint NOT NULL,
    -- Entries that changed or went away since.
    stale integer NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace_id, last)
) WITH (fillfactor = 70);

-- Entries of a segment that have a word, those with the highest impact first: the share of the word's weight that BM25 gives
-- them, in 1/10000.
CREATE TABLE ken.postings (
    workspace_id uuid NOT NULL,
    word text COLLATE "C" NOT NULL,
    last integer NOT NULL,
    entries integer NOT NULL,
    places integer[] NOT NULL,
    impacts smallint[] NOT NULL,
    -- The beginning of a long list again: of a frequent word no more is read, and the rest need not be fetched.
    top_places integer[],
    top_impacts smallint[],
    PRIMARY KEY (workspace_id, word, last)
);

ALTER TABLE ken.segments ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE ken.postings ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ken.segments USING (workspace_id = ken.workspace());
CREATE POLICY own ON ken.postings USING (workspace_id = ken.workspace());
GRANT SELECT, INSERT, UPDATE, DELETE ON ken.segments, ken.postings TO ken_app;

-- Every file and every folder around it, folders with a slash at the end.
CREATE FUNCTION ken.path_keys(paths text[]) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT key), '{}') FROM unnest(paths) AS u (path) CROSS JOIN LATERAL (
        SELECT path AS key
        UNION ALL
        SELECT array_to_string((string_to_array(path, '/'))[:n], '/') || '/'
        FROM generate_series(1, cardinality(string_to_array(path, '/')) - 1) AS n
    ) AS keys
$$;

-- Indexed entries at or below a path.
CREATE TABLE ken.path_places (
    workspace_id uuid NOT NULL,
    key text COLLATE "C" NOT NULL,
    place integer NOT NULL,
    PRIMARY KEY (workspace_id, key, place)
);
ALTER TABLE ken.path_places ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ken.path_places USING (workspace_id = ken.workspace());
GRANT SELECT, INSERT, UPDATE, DELETE ON ken.path_places TO ken_app;

-- An indexed entry that changes is compared one by one again; its segment counts it as stale.
CREATE FUNCTION ken.count_stale() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- A segment that was merged while this waited for it is gone; the next statement sees the merged one.
    FOR attempt IN 1..2 LOOP
        UPDATE ken.segments g SET stale = g.stale + 1 WHERE g.workspace_id = OLD.workspace_id AND g.last = (
            SELECT min(n.last) FROM ken.segments n WHERE n.workspace_id = OLD.workspace_id AND OLD.place <= n.last);
        EXIT WHEN FOUND;
    END LOOP;
    RETURN NULL;
END
$$;
CREATE TRIGGER searchable_changed AFTER UPDATE OF place ON ken.searchable FOR EACH ROW
    WHEN (OLD.place IS NOT NULL AND NEW.place IS NULL) EXECUTE FUNCTION ken.count_stale();
CREATE TRIGGER searchable_deleted AFTER DELETE ON ken.searchable FOR EACH ROW
    WHEN (OLD.place IS NOT NULL) EXECUTE FUNCTION ken.count_stale();

-- A list of places with their impacts, as it is stored: of a long list the beginning again.
CREATE FUNCTION ken.list_top(list anycompatiblearray) RETURNS anycompatiblearray LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN 512 < cardinality(list) THEN list[:256] END
$$;

-- Indexes up to `most` entries as a new segment and returns how many. Nothing is done, and 0 returned, while another
-- transaction indexes or rebuilds the workspace. Never waits for an append: rows in use are left to the next batch.
CREATE FUNCTION ken.index_entries(which uuid, most integer) RETURNS integer LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    base integer;
    taken integer;
    average float8;
BEGIN
    IF NOT pg_try_advisory_xact_lock(uuid_hash_extended(which, 11)) THEN
        RETURN 0;
    END IF;
    PERFORM ken.compact_segments(which);
    SELECT coalesce(max(last), 0) INTO base FROM ken.segments WHERE workspace_id = which;
    WITH chosen AS MATERIALIZED (
        SELECT entry FROM ken.searchable WHERE workspace_id = which AND live AND place IS NULL
        ORDER BY entry LIMIT most FOR UPDATE SKIP LOCKED
    ), placed AS MATERIALIZED (
        SELECT entry, base + (row_number() OVER (ORDER BY entry))::integer AS place FROM chosen
    )
    UPDATE ken.searchable s SET place = p.place FROM placed p WHERE s.workspace_id = which AND s.entry = p.entry;
    GET DIAGNOSTICS taken = ROW_COUNT;
    IF taken = 0 THEN
        RETURN 0;
    END IF;
    INSERT INTO ken.segments (workspace_id, last, entries, length)
        SELECT which, base + taken, count(*), sum(length) FROM ken.searchable
        WHERE workspace_id = which AND live AND place > base;
    SELECT greatest(sum(length) / sum(entries), 1) INTO average FROM ken.segments WHERE workspace_id = which;
    INSERT INTO ken.postings (workspace_id, word, last, entries, places, impacts, top_places, top_impacts)
        SELECT which, word, base + taken, cardinality(places), places, impacts, ken.list_top(places), ken.list_top(impacts)
        FROM (
            SELECT word, array_agg(place ORDER BY impact DESC, place) AS places,
                array_agg(impact ORDER BY impact DESC, place) AS impacts
            FROM (
                SELECT word, place, (10000 * often / (often + 1.2 * (0.25 + 0.75 * length / average)))::smallint AS impact
                FROM (
                    SELECT u.lexeme AS word, s.place, s.length, 1.644934 * ts_rank('{0.5, 0.5, 1, 1}', s.words,
                        ('''' || replace(replace(u.lexeme, '\', '\\'), '''', '''''') || '''')::tsquery)::float8 AS often
                    FROM ken.searchable s CROSS JOIN unnest(s.words) AS u
                    WHERE s.workspace_id = which AND s.live AND s.place > base
                ) AS held
            ) AS weighed
            GROUP BY word
        ) AS lists;
    INSERT INTO ken.path_places (workspace_id, key, place)
        SELECT which, key, place FROM ken.searchable CROSS JOIN unnest(ken.path_keys(paths)) AS k (key)
        WHERE workspace_id = which AND live AND place > base;
    RETURN taken;
END
$$;

-- Keeps lists few and short: a search reads one list per word and segment. A segment of which more than a quarter is stale is
-- written anew, and eight neighbors of about the same size become one, so that their number grows with the logarithm of the
-- entries. Segments of more than 65,536 entries are not merged further, which bounds the work of one call.
CREATE FUNCTION ken.compact_segments(which uuid) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    range record;
BEGIN
    FOR range IN
        WITH sized AS (
            SELECT last, entries, stale, coalesce(lag(last) OVER (ORDER BY last), 0) AS before,
                floor(log(8, greatest(entries, 2000) * 1.5 / 2000)) AS tier
            FROM ken.segments WHERE workspace_id = which
        ), runs AS (
            SELECT *, row_number() OVER (ORDER BY last) - row_number() OVER (PARTITION BY tier ORDER BY last) AS run FROM sized
        )
        SELECT before, last FROM sized WHERE entries < 4 * stale
        UNION ALL
        SELECT min(before), max(last) FROM runs WHERE entries <= 65536 GROUP BY tier, run HAVING 8 <= count(*)
        ORDER BY 1 LIMIT 1
    LOOP
        PERFORM ken.rewrite_segments(which, range.before, range.last);
    END LOOP;
END
$$;

-- Writes the segments after place `first` up to `final` as one, without the places of stale entries.
CREATE FUNCTION ken.rewrite_segments(which uuid, first integer, final integer) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    kept integer[];
    words bigint;
    known bigint;
    now_stale bigint;
BEGIN
    -- One statement, so that all of it is of one moment. Entries that become stale later are counted by their trigger.
    SELECT array_agg(place), sum(length), (SELECT sum(stale) FROM ken.segments
            WHERE workspace_id = which AND last > first AND last <= final)
        INTO kept, words, known
        FROM ken.searchable WHERE workspace_id = which AND live AND place > first AND place <= final;
    -- No segment ends at place 0: the old lists are kept there until they are merged.
    UPDATE ken.postings SET last = 0 WHERE workspace_id = which AND last = final;
    INSERT INTO ken.postings (workspace_id, word, last, entries, places, impacts, top_places, top_impacts)
        SELECT which, word, final, cardinality(places), places, impacts, ken.list_top(places), ken.list_top(impacts)
        FROM (
            SELECT p.word, array_agg(u.place ORDER BY u.impact DESC, u.place) AS places,
                array_agg(u.impact ORDER BY u.impact DESC, u.place) AS impacts
            FROM ken.postings p CROSS JOIN unnest(p.places, p.impacts) AS u (place, impact)
                JOIN unnest(kept) AS k (place) ON k.place = u.place
            WHERE p.workspace_id = which AND (p.last = 0 OR p.last > first AND p.last < final)
            GROUP BY p.word
        ) AS lists;
    DELETE FROM ken.postings WHERE workspace_id = which AND (last = 0 OR last > first AND last < final);
    DELETE FROM ken.path_places p WHERE workspace_id = which AND place > first AND place <= final
        AND NOT EXISTS (SELECT FROM unnest(kept) AS k (place) WHERE k.place = p.place);
    -- Last, because an append that makes an entry stale waits for its segment.
    WITH gone AS (
        DELETE FROM ken.segments WHERE workspace_id = which AND last > first AND last <= final RETURNING stale
    )
    SELECT sum(stale) INTO now_stale FROM gone;
    IF 0 < cardinality(kept) THEN
        INSERT INTO ken.segments (workspace_id, last, entries, length, stale)
            VALUES (which, final, cardinality(kept), words, now_stale - known);
    END IF;
END
$$;

-- The extension has to be loaded before its settings can be named.
DO $$ BEGIN PERFORM '[1]'::halfvec; END $$;

-- Places of the indexed entries nearest to a vector. The settings make the planner walk the graph whatever it believes of the
-- size of a workspace, and the graph go on until enough of this workspace's entries were found.
CREATE FUNCTION ken.near_places(which uuid, of_model text, near halfvec, most integer) RETURNS SETOF integer
    LANGUAGE plpgsql STABLE ROWS 100
    SET enable_sort = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
    SET hnsw.iterative_scan = 'strict_order' SET hnsw.ef_search = 100
AS $$
BEGIN
    IF near IS NOT NULL THEN
        RETURN QUERY SELECT s.place FROM ken.searchable s
            WHERE s.workspace_id = which AND s.live AND s.place IS NOT NULL AND s.model = of_model
            ORDER BY s.vector <=> near LIMIT most;
    END IF;
END
$$;

-- The place of the entry farthest from a vector: the one nearest to its opposite. It only sets the scale of the cosines, so
-- a shorter walk is enough.
CREATE FUNCTION ken.far_place(which uuid, of_model text, near halfvec) RETURNS SETOF integer
    LANGUAGE plpgsql STABLE ROWS 1
    SET enable_sort = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
    SET hnsw.iterative_scan = 'strict_order' SET hnsw.ef_search = 80
AS $$
DECLARE
    opposite halfvec := array_fill(0, ARRAY[vector_dims(near)])::halfvec - near;
BEGIN
    IF near IS NOT NULL THEN
        RETURN QUERY SELECT s.place FROM ken.searchable s
            WHERE s.workspace_id = which AND s.live AND s.place IS NOT NULL AND s.model = of_model
            ORDER BY s.vector <=> opposite LIMIT 1;
    END IF;
END
$$;
