//! Results and order of workspace search and organization search.

use ken_core::ledger::event::{
    ApprovalGranted, ArchiveReason, Archived, Channel, EventBody, OriginRevoked, RecordedEvent,
    RetractReason, Retracted, Revised, Switch,
};
use ken_core::ledger::source::ContributionSource;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::retrieval::ranking::{JointThreshold, MatchThreshold, SearchCandidate};
use ken_core::values::content::EntryScope;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_embed::{Embedder as _, StaticTable};
use ken_hub::store::{GlobalCandidate, StoreQuery};
use ken_testkit::build::EventWriter;

use crate::environment::{BlockingWorkspace, StoreTestEnvironment};

fn append_all(workspace: &BlockingWorkspace, copies: &[RecordedEvent]) {
    workspace
        .ask(async |tenant| tenant.append(copies.to_vec()).await)
        .unwrap();
}

struct QueryFixture<'a> {
    text: &'a str,
    filter: EntryFilter,
    paths: Vec<String>,
    least: MatchThreshold,
    limit: u32,
}

impl<'a> QueryFixture<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            filter: EntryFilter::default(),
            paths: Vec::new(),
            least: MatchThreshold::NOTHING,
            limit: 10,
        }
    }

    fn query(&self) -> StoreQuery<'_> {
        StoreQuery {
            text: self.text,
            filter: &self.filter,
            paths: &self.paths,
            least: self.least,
            limit: self.limit,
        }
    }

    fn of(&self, workspace: &BlockingWorkspace) -> Vec<SearchCandidate> {
        workspace
            .ask(async |tenant| tenant.candidates(&self.query()).await)
            .unwrap()
    }

    fn elsewhere(&self, workspace: &BlockingWorkspace) -> Vec<GlobalCandidate> {
        workspace
            .ask(async |tenant| tenant.global_candidates(&self.query()).await)
            .unwrap()
    }
}

/// Proposes a lesson with tags and anchors.
fn propose_lesson(
    scribe: &mut EventWriter,
    statement: &str,
    tags: &[&str],
    anchors: &[&str],
) -> (EntryId, RecordedEvent) {
    scribe.propose_with(EntryKind::Learning, statement, |data| {
        data.content.tags = tags.iter().map(|it| it.parse().unwrap()).collect();
        data.content.anchors = anchors
            .iter()
            .map(|it| {
                it.parse::<ken_core::values::anchor::CodeLocation>()
                    .unwrap()
                    .into()
            })
            .collect();
    })
}

fn add_lessons(workspace: &BlockingWorkspace) -> Vec<EntryId> {
    let mut scribe = EventWriter::new(3);
    let lessons = [
        propose_lesson(
            &mut scribe,
            "Retrying a payment needs an idempotency key",
            &["payments"],
            &["src/pay/charge.rs#charge"],
        ),
        propose_lesson(
            &mut scribe,
            "The cache is invalidated by handleRequest after every write",
            &["cache/http"],
            &["src/http/server.rs"],
        ),
        propose_lesson(
            &mut scribe,
            "Migrations run under an advisory lock so that two deployments do not race",
            &["database"],
            &["migrations"],
        ),
        propose_lesson(
            &mut scribe,
            "Dates in reports are in the reader's own time zone",
            &["reports"],
            &[],
        ),
        propose_lesson(
            &mut scribe,
            "Größe und Anzahl werden vor dem Speichern geprüft 缓存失效",
            &["forms"],
            &[],
        ),
    ];
    let (ids, copies): (Vec<_>, Vec<_>) = lessons.into_iter().unzip();
    append_all(workspace, &copies);
    ids
}

fn candidate_ids(found: &[SearchCandidate]) -> Vec<EntryId> {
    found.iter().map(|it| it.entry.id).collect()
}

#[test]
fn a_question_asked_with_the_message_that_enters_is_answered_the_same() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    add_lessons(&workspace);
    let hostile = "'; DROP TABLE ken.entries; -- {\"a\",\\} \u{0} $1 payment";
    let texts = [
        "retry a payment",
        "",
        "the",
        hostile,
        "handleRequest l\u{f3}ck",
    ];
    let mut found = 0;
    for text in texts {
        let mut asked = QueryFixture::new(text);
        let (database, organization) = (&world.database, world.organization);
        let at_once = workspace.wait(async {
            let query = asked.query();
            let tenant = database.begin_search(organization, workspace.workspace, &query);
            let mut tenant = tenant.await.unwrap();
            // A different query is not answered with the preloaded results.
            let other = StoreQuery { limit: 1, ..query };
            assert!(tenant.candidates(&other).await.unwrap().len() <= 1);
            tenant.rollback().await.unwrap();
            let tenant = database.begin_search(organization, workspace.workspace, &query);
            let mut tenant = tenant.await.unwrap();
            tenant.candidates(&query).await.unwrap()
        });
        assert_eq!(at_once, asked.of(&workspace), "{text}");
        // With a path the hub uses another statement with bound values; no entry matches this path.
        asked.paths = vec!["no/such/folder".to_owned()];
        assert_eq!(at_once, asked.of(&workspace), "{text}");
        found += at_once.len();
    }
    assert!(found > 10);
}

#[test]
fn words_and_meaning_find_what_was_meant() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let all = add_lessons(&workspace);
    for (text, wanted) in [
        ("idempotency key for payments", 0),
        ("paying twice when a request is retried", 0),
        ("handle request", 1),
        ("HANDLEREQUEST", 1),
        ("how are deployments kept from racing each other", 2),
        ("time zones of dates", 3),
        ("缓存", 4),
        ("Speichern", 4),
    ] {
        let found = QueryFixture::new(text).of(&workspace);
        assert_eq!(found[0].entry.id, all[wanted], "{text}");
        assert!(
            found
                .windows(2)
                .all(|two| two[1].relevance <= two[0].relevance),
            "{text}"
        );
        assert!(
            found.iter().all(|it| (0.0..=1.0).contains(&it.relevance)),
            "{text}"
        );
        assert!(
            found
                .iter()
                .all(|it| (0.0..=1.000_001).contains(&it.coverage)),
            "{text}"
        );
    }
    let whole = QueryFixture::new("idempotency key").of(&workspace);
    assert!((whole[0].coverage - 1.0).abs() < 1e-9);
    assert!(
        whole[1..]
            .iter()
            .all(|it| it.coverage == 0.0 && it.keywords == 0.0)
    );
}

#[test]
fn cosines_are_those_of_the_model_itself() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    add_lessons(&workspace);
    let text = "retry a payment";
    let table = StaticTable::new();
    for found in QueryFixture::new(text).of(&workspace) {
        let content = found.entry.content.as_ref().unwrap();
        let mut said = content.statement.to_string();
        for tag in &content.tags {
            said = format!("{said} {tag}");
        }
        let vectors = table.embed(&[text, &said]).unwrap();
        let exact = vectors[0].cosine(&vectors[1]);
        assert!(
            (exact - found.cosine).abs() < 1e-6,
            "{exact} {}",
            found.cosine
        );
    }
}

#[test]
fn what_does_not_answer_well_enough_is_left_out() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let all = add_lessons(&workspace);
    let mut asked = QueryFixture::new("idempotency key");
    asked.least = MatchThreshold {
        cosine: 2.0,
        coverage: 0.9,
        sum: f64::INFINITY,
        joint: JointThreshold::NEVER,
    };
    assert_eq!(candidate_ids(&asked.of(&workspace)), [all[0]]);
    asked.least = MatchThreshold {
        cosine: 2.0,
        coverage: 2.0,
        sum: f64::INFINITY,
        joint: JointThreshold::NEVER,
    };
    assert_eq!(asked.of(&workspace), []);
    asked.paths = vec!["src/http".to_owned()];
    let found = asked.of(&workspace);
    assert_eq!(candidate_ids(&found), [all[1]]);
    assert!(found[0].anchored);
    let mut limited = QueryFixture::new("idempotency key");
    limited.limit = 2;
    assert_eq!(limited.of(&workspace).len(), 2);
}

#[test]
fn paths_find_what_is_at_them_below_them_and_around_them() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let all = add_lessons(&workspace);
    for (path, wanted) in [
        ("src/pay/charge.rs", vec![all[0]]),
        ("src/pay/", vec![all[0]]),
        ("src", vec![all[0], all[1]]),
        ("migrations/0001.sql", vec![all[2]]),
        ("src/pay/charge", vec![]),
        ("sr", vec![]),
        ("%", vec![]),
    ] {
        let mut asked = QueryFixture::new("");
        asked.paths = vec![path.to_owned()];
        let mut found = asked.of(&workspace);
        found.retain(|it| it.anchored);
        let mut found = candidate_ids(&found);
        found.sort();
        let mut wanted = wanted;
        wanted.sort();
        assert_eq!(found, wanted, "{path}");
    }
}

#[test]
fn a_filter_narrows_a_search_as_it_narrows_a_list() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let all = add_lessons(&workspace);
    let mut asked = QueryFixture::new("idempotency key for payments");
    asked.filter.tag = Some("cache".parse().unwrap());
    assert_eq!(candidate_ids(&asked.of(&workspace)), [all[1]]);
    asked.filter.kind = Some(EntryKind::Bug);
    assert_eq!(asked.of(&workspace), []);
}

#[test]
fn hostile_questions_are_only_questions() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    add_lessons(&workspace);
    let long = "payment ".repeat(100_000);
    for text in [
        "",
        " ",
        "'",
        "''; DROP TABLE ken.events; --",
        "a & | ! ( ) : * <->",
        "\0",
        "\\",
        "%_",
        "\u{1f600}",
        &long,
    ] {
        QueryFixture::new(text).of(&workspace);
        QueryFixture::new(text).elsewhere(&workspace);
    }
    assert_eq!(workspace.state().unwrap().entries.len(), 5);
}

#[test]
fn what_was_laid_aside_reworded_or_blanked_is_not_found_by_what_it_said() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let mut scribe = EventWriter::new(9);
    let (archived, one) = scribe.propose("Quokkas charge twice");
    let (retracted, two) = scribe.propose("Wombats charge twice");
    let (reworded, three) = scribe.propose("Numbats charge twice");
    let archiving = scribe.about(
        archived,
        EventBody::Archived(Archived {
            because: ArchiveReason::Manual,
            rests_on: None,
        }),
    );
    let retracting = scribe.about(
        retracted,
        EventBody::Retracted(Retracted {
            reason: RetractReason::False,
            channel: Channel::Command,
            note: None,
        }),
    );
    let rewording = scribe.about(
        reworded,
        EventBody::Revised(Revised {
            changes: ken_core::values::content::ContentChanges {
                statement: Some("Bandicoots pay once".parse().unwrap()),
                ..Default::default()
            },
            replaces: vec![three.event.id],
            channel: Channel::Command,
            reason: None,
            origin: None,
        }),
    );
    append_all(&workspace, &[one, two, three]);
    let mut asked = QueryFixture::new("quokkas wombats numbats");
    asked.least = MatchThreshold {
        cosine: 2.0,
        coverage: 0.1,
        sum: f64::INFINITY,
        joint: JointThreshold::NEVER,
    };
    assert_eq!(asked.of(&workspace).len(), 3);
    append_all(&workspace, &[archiving, retracting, rewording]);
    assert_eq!(asked.of(&workspace), []);
    asked.text = "bandicoots";
    assert_eq!(candidate_ids(&asked.of(&workspace)), [reworded]);
    workspace.rebuild();
    assert_eq!(candidate_ids(&asked.of(&workspace)), [reworded]);
}

/// Proposes a global lesson, and another person's approval of it.
fn propose_global_lesson(seed: u64, statement: &str) -> (EntryId, Vec<RecordedEvent>, EventWriter) {
    let mut scribe = EventWriter::new(seed);
    scribe.by("agent:finder/1");
    let (entry, proposal) = scribe.propose_with(EntryKind::Learning, statement, |data| {
        data.scope = EntryScope::Global;
        data.alias = Some("secret-alias".parse().unwrap());
        data.thread = Some("secret-thread".parse().unwrap());
        data.content.tags = ["payments".parse().unwrap()].into();
        data.content.anchors = vec![
            "src/secret/place.rs"
                .parse::<ken_core::values::anchor::CodeLocation>()
                .unwrap()
                .into(),
        ];
    });
    scribe.by("human:ann");
    let approval = scribe.about(entry, approval_body(entry, proposal.event.id));
    (entry, vec![proposal, approval], scribe)
}

fn approval_body(entry: EntryId, covers: EventId) -> EventBody {
    EventBody::ApprovalGranted(ApprovalGranted {
        entry,
        artifact: "digest".parse().unwrap(),
        signature: Some("signature of ann".to_owned()),
        covers: vec![covers],
    })
}

#[test]
fn the_organization_is_shown_what_was_approved_without_what_it_rests_on() {
    let world = StoreTestEnvironment::new();
    let (from, to) = (world.workspace("from"), world.workspace("to"));
    let (entry, copies, _) =
        propose_global_lesson(5, "Retrying a payment needs an idempotency key");
    let asked = QueryFixture::new("idempotency of payments");
    append_all(&from, &copies[..1]);
    assert_eq!(asked.elsewhere(&to), [], "nobody approved it");
    append_all(&from, &copies[1..]);
    let found = asked.elsewhere(&to);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].workspace, found[0].candidate.entry.id),
        (from.workspace, entry)
    );
    let shown = serde_json::to_string(&found[0].candidate.entry).unwrap();
    assert!(!shown.contains("secret"), "{shown}");
    assert!(!shown.contains("signature"), "{shown}");
    assert!(found[0].candidate.coverage > 0.5);
    assert_eq!(
        asked.elsewhere(&from),
        [],
        "its own workspace has it anyway"
    );

    // Another organization sees none of it.
    world.runtime.block_on(async {
        let other = world
            .database
            .create_organization(&"other".parse().unwrap())
            .await
            .unwrap()
            .unwrap();
        let mut other = world.database.begin_organization(other).await.unwrap();
        assert_eq!(other.global_candidates(&asked.query()).await.unwrap(), []);
        let mut own = world
            .database
            .begin_organization(world.organization)
            .await
            .unwrap();
        assert_eq!(
            own.global_candidates(&asked.query()).await.unwrap().len(),
            1
        );
    });

    // A rebuild and an eviction leave it unchanged.
    from.rebuild();
    assert_eq!(asked.elsewhere(&to).len(), 1);
    from.evict();
    assert_eq!(asked.elsewhere(&to).len(), 1);
}

#[test]
fn what_is_reworded_waits_for_the_next_approval_and_what_is_revoked_is_gone() {
    let world = StoreTestEnvironment::new();
    let (from, to) = (world.workspace("from"), world.workspace("to"));
    let (entry, copies, mut scribe) =
        propose_global_lesson(5, "Retrying a payment needs an idempotency key");
    let asked = QueryFixture::new("idempotency of payments");
    append_all(&from, &copies);
    assert_eq!(asked.elsewhere(&to).len(), 1);
    let rewording = scribe.about(
        entry,
        EventBody::Revised(Revised {
            changes: ken_core::values::content::ContentChanges {
                statement: Some("Never retry a payment at all".parse().unwrap()),
                ..Default::default()
            },
            replaces: vec![copies[0].event.id],
            channel: Channel::Command,
            reason: None,
            origin: None,
        }),
    );
    append_all(&from, std::slice::from_ref(&rewording));
    assert_eq!(asked.elsewhere(&to), []);
    scribe.by("human:bob");
    let again = scribe.about(entry, approval_body(entry, rewording.event.id));
    append_all(&from, &[again]);
    assert_eq!(asked.elsewhere(&to).len(), 1);
    let revoke = |scribe: &mut EventWriter, state, replaces| {
        let source = ContributionSource::Author("agent:finder/1".parse().unwrap());
        scribe.write(
            Vec::new(),
            EventBody::OriginRevoked(OriginRevoked {
                source,
                state,
                replaces,
            }),
        )
    };
    let revoked = revoke(&mut scribe, Switch::On, Vec::new());
    append_all(&from, std::slice::from_ref(&revoked));
    assert_eq!(asked.elsewhere(&to), []);
    from.rebuild();
    assert_eq!(asked.elsewhere(&to), []);
    let back = revoke(&mut scribe, Switch::Off, vec![revoked.event.id]);
    append_all(&from, &[back]);
    assert_eq!(asked.elsewhere(&to).len(), 1);
}

#[test]
fn the_graph_serves_a_search_among_many() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let sql = "INSERT INTO ken.global_entries SELECT o.id, gen_random_uuid(), 'L-00000000', '{}', '', 1, 'm',
            (SELECT array_agg(random() - 0.5 + (n + g) * 0)::halfvec FROM generate_series(1, 256) g)
        FROM ken.organizations o, generate_series(1, 300) n; ANALYZE ken.global_entries";
    world.bare.sql(sql);
    workspace.wait(async {
        let mut tenant = workspace.tenant().await;
        // With three hundred rows a sequential scan is cheaper; the vector index must still be
        // usable.
        let set = "SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off";
        sqlx::raw_sql(set).execute(tenant.connection()).await.unwrap();
        let query = "EXPLAIN SELECT entry FROM ken.global_entries
            ORDER BY vector <=> (SELECT array_agg(random())::halfvec FROM generate_series(1, 256)) LIMIT 10";
        let plan = sqlx::query(query).fetch_all(tenant.connection()).await.unwrap();
        let plan: Vec<String> = plan.iter().map(|row| sqlx::Row::get(row, 0)).collect();
        let plan = plan.join("\n");
        assert!(plan.contains("global_entries_vector"), "{plan}");
    });
}

#[test]
fn what_was_said_before_is_recognized_inflected_laid_aside_and_whatever_its_fields_hold() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let mut scribe = EventWriter::new(4);
    let (live, one) = scribe.propose("Retrying payments needs idempotency keys");
    let (aside, two) = scribe.propose_with(
        EntryKind::Learning,
        "A retried payment charges twice",
        |data| {
            data.schema_version = "1\0".to_owned();
        },
    );
    let (_, other) = scribe.propose("Dates are in the reader's own time zone");
    let archiving = scribe.about(
        aside,
        EventBody::Archived(Archived {
            because: ArchiveReason::Manual,
            rests_on: None,
        }),
    );
    append_all(&workspace, &[one, two, other, archiving]);
    for text in ["retries of payments", "a payment is retried", "PAYMENTS"] {
        let like = workspace.ask(async |tenant| tenant.similar_entries(text, 10).await);
        let mut found: Vec<EntryId> = like.unwrap().iter().map(|it| it.id).collect();
        found.sort();
        let mut wanted = [live, aside];
        wanted.sort();
        assert_eq!(found, wanted, "{text}");
    }
    let none = workspace.ask(async |tenant| tenant.similar_entries("?!", 10).await);
    assert_eq!(none.unwrap(), []);
    assert!(!candidate_ids(&QueryFixture::new("payments retried").of(&workspace)).contains(&aside));
}

#[test]
fn a_small_organization_among_large_ones_finds_all_of_its_own() {
    let world = StoreTestEnvironment::new();
    let (from, to) = (world.workspace("from"), world.workspace("to"));
    let sql = "INSERT INTO ken.organizations (id, name, created_at) VALUES (gen_random_uuid(), 'large', 0);
        INSERT INTO ken.global_entries SELECT o.id, gen_random_uuid(), 'L-00000000', '{}', '', 1, 'm',
            (SELECT array_agg(random() - 0.5 + (n + g) * 0)::halfvec FROM generate_series(1, 256) g)
        FROM ken.organizations o, generate_series(1, 500) n WHERE name = 'large'";
    world.bare.sql(sql);
    let (entry, copies, _) =
        propose_global_lesson(5, "Retrying a payment needs an idempotency key");
    append_all(&from, &copies);
    let found = QueryFixture::new("how often may money be taken").elsewhere(&to);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].candidate.entry.id, entry);
}
