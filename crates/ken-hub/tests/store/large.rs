//! Search index of large workspaces: what it finds beside an exact scan, how it is read, and that
//! it follows every change.

use std::collections::BTreeSet;

use ken_core::ledger::event::{
    ArchiveReason, Archived, BlankReason, Channel, EventBlanked, EventBody, RecordedEvent,
    RetractReason, Retracted, Revised,
};
use ken_core::ledger::store::EntryFilter;
use ken_core::retrieval::ranking::{MatchThreshold, SearchCandidate};
use ken_core::values::anchor::CodeLocation;
use ken_core::values::content::ContentChanges;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_hub::store::{FRESH_MAX, StoreQuery};
use ken_testkit::build::EventWriter;

use crate::environment::{BlockingWorkspace, StoreTestEnvironment};

/// Results compared, and the share of the exact scan's that must be among them.
const COMPARED: usize = 10;
const RECALL_MIN: f64 = 0.98;

/// Largest difference between sums of the same numbers in another order.
const SUM_ERROR_MAX: f64 = 1e-6;

/// Events per append.
const BATCH: usize = 250;

const SYLLABLES: [&str; 16] = [
    "ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "wo", "xu", "za",
];
const KNOWN: [&str; 32] = [
    "cache", "payment", "retry", "server", "index", "lock", "token", "session", "report", "queue",
    "worker", "schema", "column", "parser", "router", "module", "release", "branch", "commit",
    "review", "fixture", "thread", "buffer", "stream", "socket", "folder", "config", "option",
    "cursor", "offset", "digest", "policy",
];

/// Pseudo-random numbers (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((it ^ (it >> 31)) % end as u64) as usize
    }

    /// Returns a word, some a thousand times as often as others, as in real text.
    fn word(&mut self) -> String {
        let rank = 1 << self.below(13);
        let rank = rank + self.below(rank);
        if let Some(word) = KNOWN.get(rank - 1) {
            return (*word).to_owned();
        }
        let syllable = |shift: usize| SYLLABLES[(rank >> shift) % SYLLABLES.len()];
        [syllable(0), syllable(4), syllable(8), syllable(12)].concat()
    }

    fn sentence(&mut self) -> String {
        let count = 10 + self.below(30);
        let words: Vec<String> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }
}

/// A workspace with generated lessons, and questions made of their words.
struct LargeWorkspace {
    workspace: BlockingWorkspace,
    scribe: EventWriter,
    lessons: Vec<(EntryId, RecordedEvent)>,
    questions: Vec<String>,
}

impl LargeWorkspace {
    fn fill(workspace: BlockingWorkspace, count: usize) -> Self {
        let (mut dice, mut scribe) = (Dice(7), EventWriter::new(7));
        let (mut lessons, mut questions) = (Vec::new(), Vec::new());
        for n in 0..count {
            let text = dice.sentence();
            let words: Vec<&str> = text.split(' ').collect();
            let asked = (0..5).map(|_| words[dice.below(words.len())]);
            questions.push(asked.collect::<Vec<_>>().join(" "));
            lessons.push(scribe.propose_with(EntryKind::Learning, &text, |data| {
                let at: CodeLocation = format!("src/part{}/mod.rs", n % 50).parse().unwrap();
                data.content.anchors = vec![at.into()];
            }));
        }
        for batch in lessons.chunks(BATCH) {
            let copies: Vec<RecordedEvent> = batch.iter().map(|(_, copy)| copy.clone()).collect();
            workspace.wait(workspace.append(copies));
        }
        // Questions of one and two frequent words are the hardest for lists that are cut off.
        questions.truncate(40);
        questions.extend(["cache", "payment retry", "server index lock"].map(str::to_owned));
        Self {
            workspace,
            scribe,
            lessons,
            questions,
        }
    }

    fn index(&self) -> u64 {
        let world = &self.workspace.world;
        let index = world
            .database
            .index_workspace(world.organization, self.workspace.workspace);
        self.workspace.wait(index).unwrap()
    }

    fn search(&self, text: &str) -> Vec<SearchCandidate> {
        let query = query(text);
        let found = self.workspace.ask(async |it| it.candidates(&query).await);
        found.unwrap()
    }

    fn scan(&self, text: &str) -> Vec<SearchCandidate> {
        let query = query(text);
        let found = self
            .workspace
            .ask(async |it| it.exact_candidates(&query).await);
        found.unwrap()
    }

    /// Returns the share of the exact scan's first results that a search has among its own.
    fn recall(&self) -> f64 {
        let (mut found, mut wanted) = (0, 0);
        for text in &self.questions {
            let (exact, ours) = (first(&self.scan(text)), first(&self.search(text)));
            found += exact.intersection(&ours).count();
            wanted += exact.len();
        }
        found as f64 / wanted as f64
    }

    fn append(&self, copies: Vec<RecordedEvent>) {
        self.workspace.wait(self.workspace.append(copies));
    }

    fn number(&self, sql: &str) -> i64 {
        self.workspace.world.bare.sql(sql).trim().parse().unwrap()
    }
}

fn query(text: &str) -> StoreQuery<'_> {
    static ANY: EntryFilter = EntryFilter {
        memory: None,
        kind: None,
        status: None,
        tag: None,
        kinds: Vec::new(),
        tags: Vec::new(),
        lens: None,
        lifecycle: ken_core::ledger::store::LifecycleFilter::Live,
        limit: None,
    };
    StoreQuery {
        text,
        filter: &ANY,
        paths: &[],
        least: MatchThreshold::NOTHING,
        limit: 50,
    }
}

fn first(found: &[SearchCandidate]) -> BTreeSet<EntryId> {
    let ids = found.iter().map(|it| it.entry.id);
    ids.take(COMPARED).collect()
}

fn reword(scribe: &mut EventWriter, lesson: &(EntryId, RecordedEvent), to: &str) -> RecordedEvent {
    let body = EventBody::Revised(Revised {
        changes: ContentChanges {
            statement: Some(to.parse().unwrap()),
            ..Default::default()
        },
        replaces: vec![lesson.1.event.id],
        channel: Channel::Command,
        reason: None,
        origin: None,
    });
    scribe.about(lesson.0, body)
}

#[test]
fn without_an_index_a_search_is_the_exact_scan_and_with_one_it_misses_almost_nothing() {
    let world = StoreTestEnvironment::new();
    let large = LargeWorkspace::fill(world.workspace("w"), 3_000);
    for text in &large.questions {
        let (found, exact) = (large.search(text), large.scan(text));
        let ids = |of: &[SearchCandidate]| -> Vec<_> { of.iter().map(|it| it.entry.id).collect() };
        assert_eq!(ids(&found), ids(&exact), "{text}");
        assert_same_scores(text, &found, &exact, SUM_ERROR_MAX);
    }
    assert_eq!(large.index(), 3_000);
    let recall = large.recall();
    assert!(recall >= RECALL_MIN, "{recall}");
    // The score of an entry is that of the exact scan, wherever it was found.
    for text in &large.questions {
        assert_same_scores(text, &large.search(text), &large.scan(text), 0.02);
    }
}

/// Asserts that candidates in both lists have the same scores. The database sums in any order.
fn assert_same_scores(
    text: &str,
    found: &[SearchCandidate],
    exact: &[SearchCandidate],
    relevance_error_max: f64,
) {
    for ours in found {
        let Some(exact) = exact.iter().find(|it| it.entry.id == ours.entry.id) else {
            continue;
        };
        let error = |a: f64, b: f64| (a - b).abs();
        assert!(
            error(exact.keywords, ours.keywords) < SUM_ERROR_MAX,
            "{text}"
        );
        assert!(
            error(exact.coverage, ours.coverage) < SUM_ERROR_MAX,
            "{text}"
        );
        let relevance = error(exact.relevance, ours.relevance);
        assert!(relevance < relevance_error_max, "{text}");
    }
}

#[test]
fn a_search_of_an_indexed_workspace_reads_what_it_found() {
    let world = StoreTestEnvironment::new();
    let large = LargeWorkspace::fill(world.workspace("w"), 4_000);
    large.index();
    world
        .bare
        .sql("ANALYZE ken.searchable, ken.entries, ken.postings, ken.segments");
    let query = query("sadebaba cache vipodeba");
    let plan = large
        .workspace
        .ask(async |it| it.explain_candidates(&query).await)
        .unwrap();
    for table in ["searchable", "entries", "postings"] {
        assert!(!plan.contains(&format!("Seq Scan on {table}")), "{plan}");
    }
    assert!(plan.contains("postings_pkey"), "{plan}");
    assert!(plan.contains("_workspace_id_live_place_idx"), "{plan}");
    // No table is read as a whole, whatever the name of the step.
    let reads = plan
        .lines()
        .filter(|line| line.contains(" on searchable_") || line.contains(" on entries_"));
    let rows = reads
        .filter_map(|line| line.split("rows=").nth(2)?.split(['.', ' ']).next())
        .map(|it| it.parse::<u64>().unwrap());
    assert!(rows.max().unwrap() <= 50, "{plan}");
    let graph = "SET LOCAL enable_sort = off; SET LOCAL enable_seqscan = off;
        SET LOCAL plan_cache_mode = force_generic_plan";
    let explained = "EXPLAIN SELECT s.place FROM ken.searchable s
        WHERE s.workspace_id = ken.workspace() AND s.live AND s.place IS NOT NULL AND s.model = 'm'
        ORDER BY s.vector <=> (SELECT array_agg(random())::halfvec FROM generate_series(1, 256)) LIMIT 200";
    let plan = large.workspace.wait(async {
        let mut tenant = large.workspace.tenant().await;
        sqlx::raw_sql(graph)
            .execute(tenant.connection())
            .await
            .unwrap();
        let rows = sqlx::query(explained)
            .fetch_all(tenant.connection())
            .await
            .unwrap();
        let lines: Vec<String> = rows.iter().map(|row| sqlx::Row::get(row, 0)).collect();
        lines.join("\n")
    });
    assert!(plan.contains("_vector_idx"), "{plan}");
    assert!(!plan.contains("->  Sort "), "{plan}");
}

#[test]
fn redacted_words_and_paths_leave_the_index_with_the_words_of_older_wordings() {
    let world = StoreTestEnvironment::new();
    let mut large = LargeWorkspace::fill(world.workspace("w"), 60);
    let mut teach = |text: &str, path: &str| {
        let at: CodeLocation = path.parse().unwrap();
        large
            .scribe
            .propose_with(EntryKind::Learning, text, |data| {
                data.content.anchors = vec![at.into()];
            })
    };
    let reworded = teach("The cache of zanzibarium retries", "src/zanzibarium/mod.rs");
    let kept = teach("The cache of quokkadrome retries", "src/quokkadrome.rs");
    large.append(vec![reworded.1.clone(), kept.1.clone()]);
    assert_eq!(large.index(), 62);
    // From here on the entry has no place, and nothing but the lists knows its first words.
    let change = reword(&mut large.scribe, &reworded, "The cache retries");
    large.append(vec![change]);
    let words = "SELECT count(*) FROM ken.postings WHERE word ~ 'zanzibar|quokkadr'";
    let paths = "SELECT count(*) FROM ken.path_places WHERE key ~ 'zanzibar|quokkadr'";
    let lists = "SELECT count(*) FROM ken.postings";
    assert!(large.number(words) > 0 && large.number(paths) > 0);
    let before = (large.number(lists), large.search("cache").len());
    large.scribe.by("human:ann");
    let orders = [&reworded, &kept].map(|(_, copy)| {
        let order = EventBody::EventBlanked(EventBlanked {
            event: copy.event.id,
            reason: BlankReason::Secret,
        });
        large.scribe.write(Vec::new(), order)
    });
    large.append(orders.to_vec());
    assert_eq!((large.number(words), large.number(paths)), (0, 0));
    // Lists of words that others have are shorter, and not gone.
    assert!(large.number(lists) + 8 > before.0, "{before:?}");
    assert!(large.search("cache").len() + 2 >= before.1, "{before:?}");
    assert!(large.recall() >= RECALL_MIN);
}

#[test]
fn an_index_follows_changes_rebuilds_and_evictions() {
    let world = StoreTestEnvironment::new();
    let mut large = LargeWorkspace::fill(world.workspace("w"), 600);
    assert_eq!(large.index(), 600);
    let places = "SELECT count(*) FROM ken.searchable WHERE place IS NOT NULL";
    let stale = "SELECT coalesce(sum(stale), 0) FROM ken.segments";
    let (scribe, lessons) = (&mut large.scribe, &large.lessons);
    let archiving = EventBody::Archived(Archived {
        because: ArchiveReason::Manual,
        rests_on: None,
    });
    let retracting = EventBody::Retracted(Retracted {
        reason: RetractReason::False,
        channel: Channel::Command,
        note: None,
    });
    let changes = vec![
        reword(scribe, &lessons[0], "Quokkas charge twice"),
        scribe.about(lessons[1].0, archiving.clone()),
        scribe.about(lessons[2].0, retracting),
    ];
    large.append(changes);
    assert_eq!((large.number(places), large.number(stale)), (597, 3));
    assert_eq!(large.search("quokkas")[0].entry.id, large.lessons[0].0);
    for gone in [1, 2] {
        let statement = large.lessons[gone]
            .1
            .event
            .get::<ken_core::ledger::event::Proposed>();
        let text = statement.unwrap().content.statement.to_string();
        let found = large.search(&text);
        assert!(found.iter().all(|it| it.entry.id != large.lessons[gone].0));
    }
    assert!(large.recall() >= RECALL_MIN);

    // A segment that is mostly stale is written anew.
    let (scribe, lessons) = (&mut large.scribe, &large.lessons);
    let many = lessons[3..303].iter();
    let many: Vec<RecordedEvent> = many
        .map(|it| scribe.about(it.0, archiving.clone()))
        .collect();
    for batch in many.chunks(BATCH) {
        large.append(batch.to_vec());
    }
    assert_eq!((large.number(places), large.number(stale)), (297, 303));
    assert_eq!(large.index(), 1, "the reworded one");
    assert_eq!((large.number(places), large.number(stale)), (298, 0));
    let orphans = "SELECT count(*) FROM ken.postings p, unnest(p.places) AS u (place)
        WHERE NOT EXISTS (SELECT FROM ken.searchable s WHERE s.workspace_id = p.workspace_id AND s.place = u.place)";
    assert_eq!(large.number(orphans), 0);
    assert!(large.recall() >= RECALL_MIN);

    large.workspace.rebuild();
    let left = "SELECT (SELECT count(*) FROM ken.segments) + (SELECT count(*) FROM ken.postings)
        + (SELECT count(*) FROM ken.path_places)";
    assert_eq!((large.number(places), large.number(left)), (0, 0));
    for text in &large.questions {
        assert_eq!(large.search(text), large.scan(text), "{text}");
    }
    assert_eq!(large.index(), 298);
    assert!(large.recall() >= RECALL_MIN);
    large.workspace.evict();
    assert_eq!((large.number(places), large.number(left)), (0, 0));
    assert_eq!(large.search("quokkas")[0].entry.id, large.lessons[0].0);
}

#[test]
fn a_repeated_claim_is_recognized_in_an_indexed_workspace() {
    let world = StoreTestEnvironment::new();
    let large = LargeWorkspace::fill(world.workspace("w"), 1_500);
    large.index();
    for (id, copy) in large.lessons.iter().step_by(100) {
        let claim = copy
            .event
            .get::<ken_core::ledger::event::Proposed>()
            .unwrap();
        let text = claim.content.statement.to_string();
        let similar = large
            .workspace
            .ask(async |it| it.similar_entries(&text, 10).await);
        let similar = similar.unwrap();
        assert!(similar.iter().any(|it| it.id == *id), "{text}");
    }
}

#[test]
fn many_small_segments_become_one() {
    let world = StoreTestEnvironment::new();
    let large = LargeWorkspace::fill(world.workspace("w"), 600);
    for _ in 0..12 {
        large.workspace.wait(async {
            let mut tenant = large.workspace.tenant().await;
            sqlx::query("SELECT ken.index_entries(ken.workspace(), 50)")
                .execute(tenant.connection())
                .await
                .unwrap();
            tenant.commit().await.unwrap();
        });
    }
    let segments = "SELECT count(*) FROM ken.segments";
    let entries = "SELECT sum(entries - stale) FROM ken.segments";
    assert_eq!(
        (large.number(segments), large.number(entries)),
        (5, 600),
        "eight as one, and four after them"
    );
    // Every word of every entry is in exactly one list.
    let words = "SELECT count(*) FROM ken.searchable s, unnest(s.words)";
    let listed = "SELECT sum(cardinality(places)) FROM ken.postings";
    assert_eq!(large.number(words), large.number(listed));
    assert!(large.recall() >= RECALL_MIN);
}

#[test]
fn paths_and_filters_narrow_an_indexed_workspace_as_any_other() {
    let world = StoreTestEnvironment::new();
    let large = LargeWorkspace::fill(world.workspace("w"), 1_500);
    let paths = |path: &str| {
        let paths = [path.to_owned()];
        let asked = StoreQuery {
            paths: &paths,
            limit: 2_000,
            ..query("nothing of that")
        };
        let found = large.workspace.ask(async |it| it.candidates(&asked).await);
        let mut found = found.unwrap();
        found.retain(|it| it.anchored);
        let ids: BTreeSet<EntryId> = found.iter().map(|it| it.entry.id).collect();
        ids
    };
    let filter = EntryFilter {
        kind: Some(EntryKind::Bug),
        ..EntryFilter::default()
    };
    let none = StoreQuery {
        filter: &filter,
        ..query("cache payment")
    };
    let asked = [
        "src/part7",
        "src/part7/mod.rs",
        "src/part7/mod.rs/x",
        "src/part",
        "rc",
    ];
    let before = asked.map(paths);
    assert_eq!(before.each_ref().map(BTreeSet::len), [30, 30, 30, 0, 0]);
    large.index();
    assert_eq!(asked.map(paths), before);
    let found = large.workspace.ask(async |it| it.candidates(&none).await);
    assert_eq!(found.unwrap(), []);
}

#[test]
fn a_search_that_compares_too_many_entries_starts_the_index() {
    let world = StoreTestEnvironment::new();
    let count = usize::try_from(FRESH_MAX).unwrap();
    let mut large = LargeWorkspace::fill(world.workspace("w"), count);
    let (database, organization) = (&world.database, world.organization);
    let search = async || {
        let workspace = large.workspace.workspace;
        let query = query("cache");
        let tenant = database.begin_search(organization, workspace, &query).await;
        tenant.unwrap().candidates(&query).await.unwrap().len()
    };
    let segments = "SELECT count(*) FROM ken.segments";
    assert_eq!(large.workspace.wait(search()), 50);
    assert_eq!(large.number(segments), 0, "few enough to compare");
    let (_, one_more) = large.scribe.propose("One lesson more");
    large.append(vec![one_more]);
    while large.number(segments) == 0 {
        assert_eq!(large.workspace.wait(search()), 50);
    }
}

#[test]
fn appends_go_on_while_a_workspace_is_indexed() {
    let world = StoreTestEnvironment::new();
    let mut large = LargeWorkspace::fill(world.workspace("w"), 1_000);
    let (scribe, lessons) = (&mut large.scribe, &large.lessons);
    let changes: Vec<RecordedEvent> = lessons
        .iter()
        .step_by(10)
        .map(|it| reword(scribe, it, "Bandicoots pay once"))
        .collect();
    let (database, organization) = (&world.database, world.organization);
    large.workspace.wait(async {
        let index = async {
            for _ in 0..3 {
                let indexed = database.index_workspace(organization, large.workspace.workspace);
                indexed.await.unwrap();
            }
        };
        let append = async {
            for change in changes {
                large.workspace.append(vec![change]).await;
            }
        };
        tokio::join!(index, append);
    });
    large.index();
    let wrong = "SELECT (SELECT sum(entries - stale) FROM ken.segments)
        - (SELECT count(*) FROM ken.searchable WHERE place IS NOT NULL)
        + (SELECT count(*) FROM ken.searchable WHERE place IS NULL)";
    assert_eq!(large.number(wrong), 0);
    assert_eq!(
        first(&large.search("bandicoots")),
        first(&large.scan("bandicoots"))
    );
}
