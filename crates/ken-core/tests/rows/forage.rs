//! Rows of the forager: provenance, trust in domains, learned strategies, signals and the ranking
//! ceiling.

use std::collections::BTreeSet;

use ken_core::decide::{Refusal, learn_strategy, override_domain};
use ken_core::health::{FORAGE_SIGNALS_MAX, evaluate_rules};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{
    DomainAction, FetchLevel, ForageMode, ForageProvenance, Origin, Provenance, RecordedEvent,
};
use ken_core::ledger::fold::fold_entry;
use ken_core::ledger::workspace::{FetchStrategy, WorkspaceState, fold_workspace};
use ken_core::retrieval::ranking::{ConflictMap, SearchHit, SearchResults};
use ken_core::retrieval::score::ExplainedScore;
use ken_core::trust::facts::EntryFacts;
use ken_core::values::actor::Actor;
use ken_core::values::kind::EntryKind;
use ken_core::values::time::Timestamp;

use crate::health::{health_facts, with_tags};
use crate::stage::{TestLedger, proposal};

/// Generated answers.
const ANSWERS: u64 = 20_000;

fn ada() -> Actor {
    "human:ada".parse().unwrap()
}

fn provenance() -> ForageProvenance {
    ForageProvenance {
        source_url: "https://docs.example.org/timeouts".parse().unwrap(),
        fetch_timestamp: "2026-11-18T09:00:00Z".parse().unwrap(),
        fetch_level: FetchLevel::Html,
        forager_trigger: ForageMode::Reactive,
        forager_query: Some("set timeout request".parse().unwrap()),
        quality_score_milli: 712,
        content: "b3:00ff".parse().unwrap(),
        license: Some("MIT".parse().unwrap()),
    }
}

fn foraged_entry() -> (TestLedger, Entry) {
    let mut ledger = TestLedger::new();
    let mut proposal = proposal(EntryKind::Learning, "Documentation says: set a timeout");
    proposal.origin = Origin::Web;
    proposal.foraged = Some(Box::new(provenance()));
    let id = ledger.propose(proposal);
    let entry = ledger.entry(id);
    (ledger, entry)
}

#[test]
fn a_foraged_entry_carries_its_provenance_through_line_and_fold() {
    let (ledger, entry) = foraged_entry();
    assert_eq!(
        entry.created.as_ref().unwrap().foraged,
        Some(Box::new(provenance()))
    );
    let line = ledger.last_line();
    for name in [
        "source_url",
        "fetch_timestamp",
        "fetch_level",
        "forager_trigger",
        "forager_query",
        "\"quality_score_milli\":712",
        "license",
    ] {
        assert!(line.contains(name), "{name}: {line}");
    }
    let copy = RecordedEvent::parse(line.as_bytes()).unwrap();
    assert_eq!(copy.event.unknown_fields, 0);
    let again = fold_entry(entry.id, [&copy.event]).unwrap();
    assert_eq!(again.created, entry.created);
}

fn fold(ledger: &TestLedger) -> WorkspaceState {
    fold_workspace(&ledger.events)
}

#[test]
fn trust_in_a_domain_covers_the_hosts_below_survives_replay_and_ends_with_a_reset() {
    let mut ledger = TestLedger::new();
    let set = |ledger: &mut TestLedger, domain: &str, action| {
        let draft = override_domain(&fold(ledger), domain, action, &ada())?;
        Ok::<_, Refusal>(ledger.write(draft))
    };
    set(&mut ledger, "Example.org", DomainAction::Distrust).unwrap();
    set(&mut ledger, "docs.example.org", DomainAction::Trust).unwrap();
    let workspace = fold(&ledger);
    let of = |host: &str| workspace.domain_override(host);
    assert_eq!(of("example.org"), Some(DomainAction::Distrust));
    assert_eq!(of("a.b.example.org"), Some(DomainAction::Distrust));
    assert_eq!(of("docs.example.org"), Some(DomainAction::Trust));
    assert_eq!(of("badexample.org"), None);
    // Replay in another order, with every event twice.
    let twice = ledger.events.iter().rev().chain(&ledger.events);
    assert_eq!(fold_workspace(twice), workspace);
    assert_eq!(
        set(&mut ledger, "example.org", DomainAction::Distrust),
        Err(Refusal::NothingChanges)
    );
    set(&mut ledger, "example.org", DomainAction::Reset).unwrap();
    assert_eq!(fold(&ledger).domain_override("example.org"), None);
    assert_eq!(fold(&ledger).domain_overrides().count(), 1);
    assert_eq!(
        set(&mut ledger, "never.set.org", DomainAction::Reset),
        Err(Refusal::NothingChanges)
    );
}

#[test]
fn only_a_person_decides_about_a_domain() {
    for action in [
        DomainAction::Trust,
        DomainAction::Distrust,
        DomainAction::Reset,
    ] {
        for by in ["agent:bot", "ci:main", "import:forage/packages"] {
            let workspace = WorkspaceState::default();
            let refused = override_domain(&workspace, "example.org", action, &by.parse().unwrap());
            assert!(
                matches!(refused, Err(Refusal::PersonNeeded { .. })),
                "{by} {refused:?}"
            );
        }
    }
}

#[test]
fn a_learned_strategy_is_written_once_and_a_renewed_pause_again() {
    let mut ledger = TestLedger::new();
    let host = "docs.example.org";
    let draft = learn_strategy(&fold(&ledger), host, FetchStrategy::Markdown).unwrap();
    ledger.write(draft);
    let again = learn_strategy(&fold(&ledger), host, FetchStrategy::Markdown);
    assert_eq!(again, Err(Refusal::NothingChanges));
    ledger.later("2026-11-15T10:00:00Z");
    let draft = learn_strategy(&fold(&ledger), host, FetchStrategy::Nothing).unwrap();
    ledger.write(draft);
    ledger.later("2026-12-24T10:00:00Z");
    let draft = learn_strategy(&fold(&ledger), host, FetchStrategy::Nothing).unwrap();
    ledger.write(draft);
    let workspace = fold_workspace(ledger.events.iter().rev());
    let learned = workspace.fetch_strategy(host).unwrap();
    assert_eq!(learned.strategy, FetchStrategy::Nothing);
    assert_eq!(learned.since.date().to_string(), "2026-12-24");
    assert_eq!(workspace.fetch_strategies().count(), 1);
}

#[test]
fn a_report_has_at_most_three_signals_for_the_forager_the_most_urgent_first() {
    let mut entries = Vec::new();
    for domain in ["auth", "cache", "disk", "http", "queue"] {
        let statements = [
            &format!("{domain} sessions end after a day"),
            &format!("{domain} keys rotate"),
            &format!("{domain} errors are logged"),
        ];
        let mut stage = TestLedger::new();
        for _ in 0..entries.len() {
            // Ids differ from those of the other domains.
            let _ = stage.fresh();
        }
        for statement in statements {
            let id = stage.add(EntryKind::Learning, statement);
            entries.push(with_tags(stage.entry(id), &[domain]));
        }
    }
    let mut facts = health_facts(entries.clone());
    facts.errors = entries.iter().map(|it| (it.id, 3)).collect();
    facts.errors.insert(entries[1].id, 9);
    let found = evaluate_rules(&facts);
    let signals: Vec<_> = found
        .iter()
        .filter_map(|it| it.forage_signal.as_ref())
        .collect();
    assert!(found.len() >= 5, "{}", found.len());
    assert_eq!(signals.len(), FORAGE_SIGNALS_MAX);
    assert_eq!(signals[0].question, "auth: auth keys rotate");
}

/// Small generator: xorshift, so that every run sees the same answers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns a multiple of an eighth, so that ties are frequent.
    fn eighth(&mut self) -> f64 {
        f64::from(u32::try_from(self.below(9)).unwrap()) / 8.0
    }
}

/// Returns entries of every standing: run-earned, from the web, and from the web but confirmed.
fn entries_of_every_standing() -> Vec<Entry> {
    let mut ledger = TestLedger::new();
    let mut ids = Vec::new();
    for n in 0..12 {
        let mut proposal = proposal(EntryKind::Learning, &format!("claim{n} word{n} sign{n}"));
        if n % 3 != 0 {
            proposal.origin = Origin::Web;
        }
        let id = ledger.propose(proposal);
        if n % 3 == 2 {
            let how = [Provenance::Independent, Provenance::Manual];
            let _ = ledger.found(id, how[n % 2], "2026-11-14");
        }
        ids.push(id);
    }
    ids.into_iter().map(|id| ledger.entry(id)).collect()
}

/// Returns a hit with any relevance and score, as a draw could give it.
fn any_hit(entry: &Entry, facts: &EntryFacts, numbers: &mut Numbers) -> SearchHit {
    SearchHit {
        entry: entry.clone(),
        facts: facts.clone(),
        relevance: numbers.eighth(),
        cosine: 0.0,
        coverage: 0.0,
        anchored: false,
        named: false,
        conflicts: Vec::new(),
        explained: ExplainedScore {
            score: numbers.eighth() * 1.5 - 0.1,
            parts: Vec::new(),
        },
    }
}

#[test]
fn for_unconfirmed_web_text_never_ranks_above_knowledge_that_is_as_relevant() {
    let entries = entries_of_every_standing();
    let web: BTreeSet<_> = entries
        .iter()
        .filter(|it| it.is_unconfirmed_web())
        .map(|it| it.id)
        .collect();
    assert_eq!(web.len(), 4, "a confirmed one is as any other");
    let facts: Vec<EntryFacts> = entries
        .iter()
        .map(|it| EntryFacts::from_entry(it, None, Timestamp::default()))
        .collect();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut lowered = 0_u64;
    for answer in 0..ANSWERS {
        let mut results = SearchResults::default();
        for (at, entry) in entries.iter().enumerate() {
            if numbers.below(3) == 0 {
                continue;
            }
            results.hits.push(any_hit(entry, &facts[at], &mut numbers));
        }
        let before: Vec<(_, f64)> = results
            .hits
            .iter()
            .map(|it| (it.entry.id, it.explained.score))
            .collect();
        results.mark_conflicts(&ConflictMap::new());
        for (at, hit) in results.hits.iter().enumerate() {
            let was = before.iter().find(|it| it.0 == hit.entry.id).unwrap().1;
            if !web.contains(&hit.entry.id) {
                assert_eq!(hit.explained.score.to_bits(), was.to_bits(), "{answer}");
                continue;
            }
            assert!(hit.explained.score <= was, "{answer}");
            if hit.explained.score < was {
                lowered += 1;
                assert!(
                    hit.explained
                        .parts
                        .iter()
                        .any(|it| it.name == "unconfirmed web")
                );
            }
            let below = &results.hits[at + 1..];
            let is_above = below
                .iter()
                .any(|it| !web.contains(&it.entry.id) && it.relevance >= hit.relevance);
            assert!(
                !is_above,
                "answer {answer}: {} ranks too high",
                hit.entry.id
            );
        }
    }
    assert!(lowered > ANSWERS / 2, "the ceiling had work: {lowered}");
}
