//! What a search finds, and that it keeps in step with the entries.

use ken_core::event::{
    BlankReason, Body, Channel, EventBlanked, Recorded, RetractReason, Retracted,
};
use ken_core::id::{EntryId, EventId};
use ken_core::kind::Kind;
use ken_core::store::{Filter, Store as _};
use ken_index::{Candidate, Embedder, Index, Least, Query, Rung};
use ken_testkit::any_event::{STEPS_LIGHT, any_histories};
use ken_testkit::build::Scribe;
use ken_testkit::laws::{self, Share};
use proptest::prelude::*;

use crate::branch::Branch;

const STATEMENTS: [&str; 8] = [
    "handleRequest must hold the session lock before it writes the cache",
    "A retried payment is charged twice unless the key of the request is kept",
    "The scheduler of src/jobs.rs drops a task whose deadline lies in the past",
    "Größere Pakete werden vom Prüfdienst zerlegt",
    "缓存失效后必须重新加载配置",
    "Миграция схемы требует остановки записи",
    "Colour themes are read once, when the window opens",
    "Cats sleep on the keyboard during the release",
];

/// A branch with the statements, indexed at `index`.
fn library(index: &mut Index) -> (Scribe, Vec<EntryId>, Branch) {
    let mut scribe = Scribe::new(5);
    let proposals = STATEMENTS.map(|statement| scribe.propose(statement));
    let (entries, copies): (Vec<EntryId>, Vec<Recorded>) = proposals.into_iter().unzip();
    let mut branch = Branch::default();
    branch.put("a", &copies);
    branch.refresh(index).unwrap();
    (scribe, entries, branch)
}

fn ask(index: &mut Index, text: &str, model: Option<&dyn Embedder>) -> Vec<Candidate> {
    ask_within(index, text, model, &Filter::default())
}

fn ask_within(
    index: &mut Index,
    text: &str,
    embedder: Option<&dyn Embedder>,
    filter: &Filter,
) -> Vec<Candidate> {
    index.prepare_search(embedder, &mut |_, _| {}).unwrap();
    let query = Query {
        text,
        filter,
        paths: &[],
        least: Least::NOTHING,
        embedder,
        limit: 1000,
    };
    index.candidates(&query).unwrap()
}

fn first(found: &[Candidate]) -> Option<EntryId> {
    found.first().map(|candidate| candidate.entry.id)
}

fn model() -> Box<dyn Embedder> {
    Rung::Static.built_in().unwrap()
}

#[test]
fn entries_are_found_by_words_identifiers_and_scripts_without_spaces() {
    let mut index = Index::open_in_memory().unwrap();
    let (_, entries, _) = library(&mut index);
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
        for embedder in [None, Some(model())] {
            let found = ask(&mut index, query, embedder.as_deref());
            assert_eq!(first(&found), Some(entries[wanted]), "{query}");
            assert!(0.0 < found[0].keywords, "{query}");
        }
    }
}

/// Words that a thousand entries have say little, but where nothing else is asked they say all.
#[test]
fn a_common_word_alone_finds_the_newest_too() {
    let mut scribe = Scribe::new(6);
    let copies = (0..1_100).map(|n| scribe.propose(&format!("The cache of part {n} is cold")));
    let (entries, copies): (Vec<EntryId>, Vec<Recorded>) = copies.unzip();
    let mut branch = Branch::default();
    branch.put("a", &copies);
    let mut index = Index::open_in_memory().unwrap();
    branch.refresh(&mut index).unwrap();
    // So many words that a thousand places are many for one.
    let text = format!("cache {}", "cold part ".repeat(40));
    let found = ask(&mut index, &text, None);
    assert_eq!(found.len(), 200);
    let newest = ask(&mut index, "cache of part 1099", None);
    assert_eq!(first(&newest), entries.last().copied());
    assert!((newest[0].coverage - 1.0).abs() < 1e-9);
}

#[test]
fn words_nobody_wrote_and_no_words_find_nothing() {
    let mut index = Index::open_in_memory().unwrap();
    library(&mut index);
    for query in ["quetzalcoatl", "", "?!", "\"", "NEAR(", "statement:cache*"] {
        let found = ask(&mut index, query, None);
        let expected = usize::from(query.contains("cache"));
        assert_eq!(found.len(), expected, "{query:?}");
    }
}

#[test]
fn what_means_the_same_is_found_without_a_common_word() {
    let mut index = Index::open_in_memory().unwrap();
    let (_, entries, _) = library(&mut index);
    let query = "kitten naps";
    assert!(ask(&mut index, query, None).is_empty());
    let found = ask(&mut index, query, Some(&*model()));
    assert_eq!(first(&found), Some(entries[7]));
    assert!(found[0].keywords == 0.0 && 0.3 < found[0].cosine);
}

#[test]
fn a_filter_is_asked_before_entries_are_ranked() {
    let mut index = Index::open_in_memory().unwrap();
    let (mut scribe, entries, mut branch) = library(&mut index);
    let cold = "The cache is cold after a deploy";
    let (other, copy) = scribe.propose_with(Kind::Learning, cold, |data| {
        data.content.tags.insert("deploy/cold".parse().unwrap());
    });
    branch.append("a", &[copy]);
    branch.refresh(&mut index).unwrap();
    let filter = Filter {
        tag: Some("deploy".parse().unwrap()),
        ..Filter::default()
    };
    let found = ask_within(&mut index, "session lock cache", Some(&*model()), &filter);
    let ids: Vec<EntryId> = found.iter().map(|it| it.entry.id).collect();
    assert_eq!(ids, [other]);
    let all = ask(&mut index, "session lock cache", None);
    assert_eq!(first(&all), Some(entries[0]));
}

#[test]
fn what_is_taken_back_is_found_no_more_and_what_comes_is() {
    let mut index = Index::open_in_memory().unwrap();
    let (mut scribe, entries, mut branch) = library(&mut index);
    let model = model();
    assert_eq!(
        first(&ask(&mut index, "deadline", Some(&*model))),
        Some(entries[2])
    );
    let retraction = Body::Retracted(Retracted {
        reason: RetractReason::False,
        channel: Channel::Command,
        note: None,
    });
    let (new, copy) = scribe.propose("Deadlines are checked by the reaper");
    branch.append("a", &[scribe.about(entries[2], retraction), copy]);
    branch.refresh(&mut index).unwrap();
    let found = ask(&mut index, "deadline reaper", Some(&*model));
    let ids: Vec<EntryId> = found.iter().map(|it| it.entry.id).collect();
    assert!(ids.contains(&new) && !ids.contains(&entries[2]), "{ids:?}");
}

#[test]
fn changing_the_model_makes_every_vector_again() {
    let mut index = Index::open_in_memory().unwrap();
    let (_, entries, _) = library(&mut index);
    let model = model();
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
    assert!(!ask(&mut index, "kitten naps", Some(&*model)).is_empty());
    assert!(ask(&mut index, "kitten naps", None).is_empty());
}

fn order(scribe: &mut Scribe, event: EventId) -> Recorded {
    let body = Body::EventBlanked(EventBlanked {
        event,
        reason: BlankReason::Secret,
    });
    scribe.write(Vec::new(), body)
}

/// Returns whether some file below `folder` holds `word`.
fn is_on_disk(folder: &std::path::Path, word: &str) -> bool {
    let files = std::fs::read_dir(folder).unwrap();
    let mut texts = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
    texts.any(|text| text.windows(word.len()).any(|at| at == word.as_bytes()))
}

#[test]
fn blanked_words_leave_the_file_with_the_next_refresh() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Index::open(&folder.path().join("knowledge.db")).unwrap();
    let (mut scribe, _, mut branch) = library(&mut index);
    let (entry, copy) = scribe.propose("The door opens with marzipanschlüssel");
    let secret = copy.event.id;
    branch.append("a", &[copy]);
    branch.refresh(&mut index).unwrap();
    let found = ask(&mut index, "marzipanschlüssel", Some(&*model()));
    assert_eq!(first(&found), Some(entry));
    assert!(is_on_disk(folder.path(), "marzipan"));
    branch.append("a", &[order(&mut scribe, secret)]);
    branch.refresh(&mut index).unwrap();
    assert!(index.event(secret).unwrap().unwrap().is_blanked());
    assert!(!is_on_disk(folder.path(), "marzipan"));
    assert!(ask(&mut index, "marzipanschlüssel", None).is_empty());
}

proptest! {
    #![proptest_config(laws::config(Share::percent(1), "tests/search.regressions"))]

    /// Searching between changes finds the same as searching once at the end.
    #[test]
    fn searching_in_between_changes_nothing(
        history in any_histories(STEPS_LIGHT),
        seed: u64,
        cut in 0..100_usize,
    ) {
        let copies = laws::deliveries(&history, seed);
        let cut = copies.len() * cut / 100;
        let model = model();
        let mut branch = Branch::default();
        branch.put("a", &copies[..cut]);
        let mut index = Index::open_in_memory().unwrap();
        branch.refresh(&mut index).unwrap();
        ask(&mut index, "claim holds", Some(&*model));
        branch.append("a", &copies[cut..]);
        branch.refresh(&mut index).unwrap();
        let mut fresh = Index::open_in_memory().unwrap();
        branch.refresh(&mut fresh).unwrap();
        let sorted = |mut found: Vec<Candidate>| {
            found.sort_by_key(|it| it.entry.id);
            found
        };
        for query in ["claim holds", "src charge", "security"] {
            let found = sorted(ask(&mut index, query, Some(&*model)));
            prop_assert_eq!(found, sorted(ask(&mut fresh, query, Some(&*model))));
        }
    }
}
