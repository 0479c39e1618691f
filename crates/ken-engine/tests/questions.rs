//! Ordinary questions find the entry that answers them, also if the two share few words.
//!
//! The entries are short lessons about a Python SDK, the questions those of its users. The
//! relevance floor was chosen on other data (`cargo ken-bench eval`), never on these.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;

use ken_core::decide::Proposal;
use ken_core::ledger::event::Origin;
use ken_core::values::actor::Actor;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::Content;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_engine::runtime::FixedRuntime;
use ken_engine::search::{RelevanceFloor, SearchQuery};
use ken_engine::{Engine, GitEnv, init};
use serde::Deserialize;
use tempfile::TempDir;

/// Questions that must be answered.
const ANSWERED_MIN: usize = 15;

/// Questions about everyday life, which no entry answers.
const UNRELATED: [&str; 20] = [
    "what is the best recipe for apple pie",
    "when did my sister move to the new apartment",
    "how long does the train to the mountains take",
    "who painted the ceiling of the chapel",
    "which dog breed needs the least exercise",
    "what did we buy for her birthday last year",
    "how do I get rid of moss in the lawn",
    "where can I see the northern lights in winter",
    "what color should we paint the kitchen",
    "how many calories are in a banana",
    "when is the next school holiday",
    "which museum is open on Mondays",
    "how do I learn to play the violin",
    "what does the doctor say about my knee",
    "who won the football final in 2014",
    "how much does a wedding dress cost",
    "where did grandfather hide the old letters",
    "what is the tallest mountain in Europe",
    "how often should I water the roses",
    "which book did the club choose for May",
];

#[derive(Deserialize)]
struct Trial {
    entries: Vec<Lesson>,
    questions: Vec<Question>,
}

#[derive(Deserialize)]
struct Lesson {
    name: String,
    statement: String,
    tags: Vec<String>,
}

#[derive(Deserialize)]
struct Question {
    text: String,
    answer: String,
}

/// A knowledge base with the lessons, and their ids by name.
struct KnownLessons {
    engine: Engine,
    ids: BTreeMap<String, EntryId>,
    _folder: TempDir,
}

impl KnownLessons {
    fn new(lessons: Vec<Lesson>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        init::init(folder.path(), &GitEnv::default()).unwrap();
        let world = FixedRuntime::new("2026-11-17T09:00:00Z".parse().unwrap(), 1);
        let root = folder.path();
        let mut engine = Engine::open(root, &GitEnv::default(), None, Box::new(world)).unwrap();
        let by: Actor = "human:ada@example.com".parse().unwrap();
        let evidence: CitationSource = "pr:142".parse().unwrap();
        let mut ids = BTreeMap::new();
        for lesson in lessons {
            let mut content = Content::new(lesson.statement.parse().unwrap());
            content.tags = lesson.tags.iter().map(|it| it.parse().unwrap()).collect();
            let citations = vec![evidence.clone().cite(&by, engine.now())];
            let proposal = Proposal::new(EntryKind::Learning, content, citations, Origin::Human);
            ids.insert(lesson.name, engine.add(proposal, &by).unwrap().id);
        }
        Self {
            engine,
            ids,
            _folder: folder,
        }
    }

    /// Returns the entries that answer `query`.
    fn search(&mut self, query: &str, floor: RelevanceFloor) -> Vec<EntryId> {
        let search = SearchQuery {
            query: query.to_owned(),
            floor,
            ..SearchQuery::default()
        };
        let answer = self.engine.search(&search, &mut |_, _| ()).unwrap();
        answer.hits.iter().map(|hit| hit.entry.id).collect()
    }
}

#[test]
fn questions_find_their_answer_although_they_share_few_words() {
    let trial: Trial = serde_json::from_str(include_str!("questions/sentry.json")).unwrap();
    let mut known = KnownLessons::new(trial.entries);
    let mut missed = Vec::new();
    for Question { text, answer } in &trial.questions {
        let found = known.search(text, RelevanceFloor::default());
        if !found.contains(&known.ids[answer]) {
            missed.push(text.as_str());
        }
    }
    let answered = trial.questions.len() - missed.len();
    assert_eq!(trial.questions.len(), 18);
    assert!(
        answered >= ANSWERED_MIN,
        "{answered} of 18; missed: {missed:?}"
    );
}

#[test]
fn unrelated_questions_find_nothing_at_the_strict_floor() {
    let trial: Trial = serde_json::from_str(include_str!("questions/sentry.json")).unwrap();
    let mut known = KnownLessons::new(trial.entries);
    for question in UNRELATED {
        let found = known.search(question, RelevanceFloor::Strict);
        assert!(found.is_empty(), "{question}: {found:?}");
    }
}
