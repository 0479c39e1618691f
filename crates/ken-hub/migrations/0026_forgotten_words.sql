-- Words and paths of what was redacted leave the index of a large workspace, too. A list keeps the place of an entry that
-- changed until its segment is written anew, and with it words that nothing else has any more.
--
-- Runs after the entries were written, so that the place of what changed is free, and under the lock of `ken.index_entries`:
-- a segment that is written meanwhile would bring the words back.
CREATE FUNCTION ken.forget_words(which uuid, forgotten text[], texts text[]) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    WITH kept AS MATERIALIZED (
        SELECT p.word, p.last, array_agg(u.place ORDER BY u.ord) AS places, array_agg(u.impact ORDER BY u.ord) AS impacts
        FROM ken.postings p CROSS JOIN LATERAL unnest(p.places, p.impacts) WITH ORDINALITY AS u (place, impact, ord)
            JOIN ken.searchable s ON s.workspace_id = which AND s.live AND s.place = u.place
        WHERE p.workspace_id = which AND p.word = ANY (forgotten)
        GROUP BY p.word, p.last
    ), gone AS (
        DELETE FROM ken.postings p WHERE p.workspace_id = which AND p.word = ANY (forgotten)
            AND NOT EXISTS (SELECT FROM kept k WHERE k.word = p.word AND k.last = p.last)
    )
    UPDATE ken.postings p SET entries = cardinality(k.places), places = k.places, impacts = k.impacts,
        top_places = ken.list_top(k.places), top_impacts = ken.list_top(k.impacts)
    FROM kept k WHERE p.workspace_id = which AND p.word = k.word AND p.last = k.last AND p.places <> k.places;
    DELETE FROM ken.path_places p WHERE p.workspace_id = which AND p.key = ANY (ken.path_keys(texts))
        AND NOT EXISTS (SELECT FROM ken.searchable s WHERE s.workspace_id = which AND s.live AND s.place = p.place);
END
$$;
