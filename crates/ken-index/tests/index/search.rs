//! Search results, and their consistency with the entries.

use std::collections::BTreeSet;

use ken_core::ledger::event::{
    BlankReason, Channel, EventBlanked, EventBody, RecordedEvent, RetractReason, Retracted,
};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::retrieval::code_names::CodeNames;
use ken_core::retrieval::ranking::JointThreshold;
use ken_core::values::content::{KindDetail, SpikeConfidence, SpikeDetail};
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_index::{
    Backend, CandidateQuery, Embedder, FoundCandidates, Index, MatchThreshold, SearchCandidate,
};
use ken_testkit::any_event::{STEPS_LIGHT, any_histories};
use ken_testkit::build::EventWriter;
use ken_testkit::laws::{self, CaseShare};
use proptest::prelude::*;

use crate::branch::MemoryBranch;

const STATEMENTS: [&str; 8] = [
    "handleRequest must hold the session lock before it writes the cache",
    "A retried payment is charged twice unless the key of the request is kept",
    "The scheduler of src/jobs.rs drops a task whose deadline lies in the past",
    "Größere Pakete werden vom Prüfdienst zerlegt",
    "缓存失效后必须重新加载配置",
    "Миграция схемы требует остановки записи",
    "Color themes are read once, when the window opens",
    "Cats sleep on the keyboard during the release",
];

/// Returns a branch with the statements, indexed in `index`.
fn index_statements(index: &mut Index) -> (EventWriter, Vec<EntryId>, MemoryBranch) {
    let mut scribe = EventWriter::new(5);
    let proposals = STATEMENTS.map(|statement| scribe.propose(statement));
    let (entries, copies): (Vec<EntryId>, Vec<RecordedEvent>) = proposals.into_iter().unzip();
    let mut branch = MemoryBranch::default();
    branch.put("a", &copies);
    branch.refresh(index).unwrap();
    (scribe, entries, branch)
}

fn find_candidates(
    index: &mut Index,
    text: &str,
    model: Option<&dyn Embedder>,
) -> Vec<SearchCandidate> {
    find_filtered(index, text, model, &EntryFilter::default())
}

fn find_filtered(
    index: &mut Index,
    text: &str,
    embedder: Option<&dyn Embedder>,
    filter: &EntryFilter,
) -> Vec<SearchCandidate> {
    index.prepare_search(embedder, &mut |_, _| {}).unwrap();
    let query = CandidateQuery {
        text,
        filter,
        paths: &[],
        names: &CodeNames::default(),
        other_names: &[],
        least: MatchThreshold::NOTHING,
        or_nearest: false,
        embedder,
        limit: 1000,
    };
    index.candidates(&query).unwrap().candidates
}

fn first_entry(found: &[SearchCandidate]) -> Option<EntryId> {
    found.first().map(|candidate| candidate.entry.id)
}

fn static_model() -> Box<dyn Embedder> {
    Backend::Static.built_in().unwrap()
}

#[test]
fn entries_are_found_by_words_identifiers_and_scripts_without_spaces() {
    let mut index = Index::open_in_memory().unwrap();
    let (_, entries, _) = index_statements(&mut index);
    for (query, wanted) in [
        ("handle request", 0),
        ("HANDLEREQUEST", 0),
        ("how does the payment retried work?", 1),
        ("jobs.rs", 2),
        ("groessere prufdienst", 3),
        ("PRÜFDIENST", 3),
        ("配置", 4),
        ("миграция", 5),
    ] {
        for embedder in [None, Some(static_model())] {
            let found = find_candidates(&mut index, query, embedder.as_deref());
            assert_eq!(first_entry(&found), Some(entries[wanted]), "{query}");
            assert!(found[0].keywords > 0.0, "{query}");
        }
    }
}

/// Words shared by a thousand entries weigh little, but they decide if the query has no others.
#[test]
fn a_common_word_alone_finds_the_newest_too() {
    let mut scribe = EventWriter::new(6);
    let copies = (0..1_100).map(|n| scribe.propose(&format!("The cache of part {n} is cold")));
    let (entries, copies): (Vec<EntryId>, Vec<RecordedEvent>) = copies.unzip();
    let mut branch = MemoryBranch::default();
    branch.put("a", &copies);
    let mut index = Index::open_in_memory().unwrap();
    branch.refresh(&mut index).unwrap();
    // So many words that the threshold for a common word is at its minimum of a thousand entries.
    let text = format!("cache {}", "cold part ".repeat(40));
    let found = find_candidates(&mut index, &text, None);
    assert_eq!(found.len(), 200);
    let newest = find_candidates(&mut index, "cache of part 1099", None);
    assert_eq!(first_entry(&newest), entries.last().copied());
    assert!((newest[0].coverage - 1.0).abs() < 1e-9);
}

#[test]
fn a_word_of_any_part_of_the_file_finds_the_entry() {
    let mut index = Index::open_in_memory().unwrap();
    let (mut scribe, _, mut branch) = index_statements(&mut index);
    let (spike, copy) = scribe.propose_with(EntryKind::Spike, "SQLite is fast", |data| {
        let content = &mut data.content;
        content.body = Some("It was tried on an okapi.".parse().unwrap());
        content.verify.push("run the walrus suite".parse().unwrap());
        content.tags.insert("heron".parse().unwrap());
        content.lens = Some("performance".parse().unwrap());
        content.depends_on.push("pkg:cargo/ibis@*".parse().unwrap());
        content.detail = Some(KindDetail::Spike(SpikeDetail {
            question: "Is it faster than a giraffe?".parse().unwrap(),
            answer: "As fast as an otter".parse().unwrap(),
            confidence: SpikeConfidence::Conclusive,
            constraints: vec!["only near a beetle".parse().unwrap()],
        }));
    });
    branch.append("a", &[copy]);
    branch.refresh(&mut index).unwrap();
    for word in [
        "sqlite",
        "okapi",
        "walrus",
        "heron",
        "performance",
        "ibis",
        "giraffe",
        "otter",
        "beetle",
    ] {
        let found = find_candidates(&mut index, word, None);
        assert_eq!(first_entry(&found), Some(spike), "{word}");
    }
}

#[test]
fn words_nobody_wrote_and_no_words_find_nothing() {
    let mut index = Index::open_in_memory().unwrap();
    index_statements(&mut index);
    for query in ["quetzalcoatl", "", "?!", "\"", "NEAR(", "statement:cache*"] {
        let found = find_candidates(&mut index, query, None);
        let expected = usize::from(query.contains("cache"));
        assert_eq!(found.len(), expected, "{query:?}");
    }
}

#[test]
fn what_means_the_same_is_found_without_a_common_word() {
    let mut index = Index::open_in_memory().unwrap();
    let (_, entries, _) = index_statements(&mut index);
    let query = "kitten naps";
    assert!(find_candidates(&mut index, query, None).is_empty());
    let found = find_candidates(&mut index, query, Some(&*static_model()));
    assert_eq!(first_entry(&found), Some(entries[7]));
    assert!(found[0].keywords == 0.0 && found[0].cosine > 0.3);
}

#[test]
fn the_nearest_entries_are_found_only_where_none_is_relevant() {
    let mut index = Index::open_in_memory().unwrap();
    let (_, entries, _) = index_statements(&mut index);
    let nearest = find_candidates(&mut index, "session lock cache", None);
    assert_eq!(first_entry(&nearest), Some(entries[0]));
    let found = |coverage, or_nearest| {
        let query = CandidateQuery {
            text: "session lock cache",
            filter: &EntryFilter::default(),
            paths: &[],
            names: &CodeNames::default(),
            other_names: &[],
            least: MatchThreshold {
                cosine: f64::INFINITY,
                coverage,
                sum: f64::INFINITY,
                joint: JointThreshold::NEVER,
            },
            or_nearest,
            embedder: None,
            limit: 1000,
        };
        index.candidates(&query).unwrap()
    };
    let most = nearest[0].coverage;
    let relevant = found(most, true);
    assert_eq!(relevant.candidates, [nearest[0].clone()]);
    assert!(!relevant.is_nearest);
    assert_eq!(found(most + 0.1, false), FoundCandidates::default());
    let none = found(most + 0.1, true);
    assert_eq!((none.candidates, none.is_nearest), (nearest, true));
}

#[test]
fn a_filter_is_asked_before_entries_are_ranked() {
    let mut index = Index::open_in_memory().unwrap();
    let (mut scribe, entries, mut branch) = index_statements(&mut index);
    let cold = "The cache is cold after a deploy";
    let (other, copy) = scribe.propose_with(EntryKind::Learning, cold, |data| {
        data.content.tags.insert("deploy/cold".parse().unwrap());
    });
    let exact = scribe.propose_with(EntryKind::Learning, "A session needs a deploy", |data| {
        data.content.tags.insert("deploy".parse().unwrap());
    });
    let alike = scribe.propose_with(EntryKind::Learning, "A session has a lock", |data| {
        data.content.tags.insert("deployment".parse().unwrap());
    });
    branch.append("a", &[copy, exact.1, alike.1]);
    branch.refresh(&mut index).unwrap();
    let filter = EntryFilter {
        tag: Some("deploy".parse().unwrap()),
        ..EntryFilter::default()
    };
    let found = find_filtered(
        &mut index,
        "session lock cache",
        Some(&*static_model()),
        &filter,
    );
    let ids: BTreeSet<EntryId> = found.iter().map(|it| it.entry.id).collect();
    assert_eq!(ids, [other, exact.0].into(), "the tag and those below it");
    let all = find_candidates(&mut index, "session lock cache", None);
    assert_eq!(first_entry(&all), Some(entries[0]));
}

#[test]
fn what_is_taken_back_is_found_no_more_and_what_comes_is() {
    let mut index = Index::open_in_memory().unwrap();
    let (mut scribe, entries, mut branch) = index_statements(&mut index);
    let model = static_model();
    assert_eq!(
        first_entry(&find_candidates(&mut index, "deadline", Some(&*model))),
        Some(entries[2])
    );
    let retraction = EventBody::Retracted(Retracted {
        reason: RetractReason::False,
        channel: Channel::Command,
        note: None,
    });
    let (new, copy) = scribe.propose("Deadlines are checked by the reaper");
    branch.append("a", &[scribe.about(entries[2], retraction), copy]);
    branch.refresh(&mut index).unwrap();
    let found = find_candidates(&mut index, "deadline reaper", Some(&*model));
    let ids: Vec<EntryId> = found.iter().map(|it| it.entry.id).collect();
    assert!(ids.contains(&new) && !ids.contains(&entries[2]), "{ids:?}");
}

#[test]
fn changing_the_model_makes_every_vector_again() {
    let mut index = Index::open_in_memory().unwrap();
    let (_, entries, _) = index_statements(&mut index);
    let model = static_model();
    let mut told = Vec::new();
    let mut tell = |done, of| told.push((done, of));
    assert_eq!(
        index.prepare_search(None, &mut tell).unwrap(),
        entries.len()
    );
    assert_eq!(index.prepare_search(None, &mut tell).unwrap(), 0);
    let made = index.prepare_search(Some(&*model), &mut tell).unwrap();
    assert_eq!(made, entries.len());
    assert_eq!(told, [(8, 8), (8, 8)]);
    assert!(!find_candidates(&mut index, "kitten naps", Some(&*model)).is_empty());
    assert!(find_candidates(&mut index, "kitten naps", None).is_empty());
}

fn write_redaction(scribe: &mut EventWriter, event: EventId) -> RecordedEvent {
    let body = EventBody::EventBlanked(EventBlanked {
        event,
        reason: BlankReason::Secret,
    });
    scribe.write(Vec::new(), body)
}

/// Returns true if a file in `folder` contains `word`.
fn is_on_disk(folder: &std::path::Path, word: &str) -> bool {
    let files = std::fs::read_dir(folder).unwrap();
    let mut texts = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
    texts.any(|text| text.windows(word.len()).any(|at| at == word.as_bytes()))
}

#[test]
fn blanked_words_leave_the_file_with_the_next_refresh() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Index::open(&folder.path().join("knowledge.db")).unwrap();
    let (mut scribe, _, mut branch) = index_statements(&mut index);
    let (entry, copy) = scribe.propose("The door opens with marzipanschlüssel");
    let secret = copy.event.id;
    branch.append("a", &[copy]);
    branch.refresh(&mut index).unwrap();
    let found = find_candidates(&mut index, "marzipanschlüssel", Some(&*static_model()));
    assert_eq!(first_entry(&found), Some(entry));
    assert!(is_on_disk(folder.path(), "marzipan"));
    index.record_scanned(&[[7; 16]]).unwrap();
    assert!(index.is_scanned(&[7; 16]).unwrap());
    assert!(!index.is_scanned(&[8; 16]).unwrap());
    branch.append("a", &[write_redaction(&mut scribe, secret)]);
    branch.refresh(&mut index).unwrap();
    assert!(index.event(secret).unwrap().unwrap().is_redacted());
    assert!(!is_on_disk(folder.path(), "marzipan"));
    assert!(find_candidates(&mut index, "marzipanschlüssel", None).is_empty());
    // A digest may be that of the redacted text.
    assert!(!index.is_scanned(&[7; 16]).unwrap());
}

proptest! {
    #![proptest_config(laws::proptest_config(CaseShare::percent(1), "tests/search.regressions"))]

    /// Searching between changes does not alter the result of a search at the end.
    #[test]
    fn searching_in_between_changes_nothing(
        history in any_histories(STEPS_LIGHT),
        seed: u64,
        cut in 0..100_usize,
    ) {
        let copies = laws::shuffle_deliveries(&history, seed);
        let cut = copies.len() * cut / 100;
        let model = static_model();
        let mut branch = MemoryBranch::default();
        branch.put("a", &copies[..cut]);
        let mut index = Index::open_in_memory().unwrap();
        branch.refresh(&mut index).unwrap();
        find_candidates(&mut index, "claim holds", Some(&*model));
        branch.append("a", &copies[cut..]);
        branch.refresh(&mut index).unwrap();
        let mut fresh = Index::open_in_memory().unwrap();
        branch.refresh(&mut fresh).unwrap();
        let sorted = |mut found: Vec<SearchCandidate>| {
            found.sort_by_key(|it| it.entry.id);
            found
        };
        for query in ["claim holds", "src charge", "security"] {
            let found = sorted(find_candidates(&mut index, query, Some(&*model)));
            prop_assert_eq!(found, sorted(find_candidates(&mut fresh, query, Some(&*model))));
        }
    }
}
