//! Concurrent changes of the index while an embedding model is running.

use std::fmt;
use std::path::Path;
use std::sync::Mutex;

use ken_core::ledger::event::{Channel, EventBody, RetractReason, Retracted};
use ken_core::ledger::store::EntryFilter;
use ken_core::retrieval::code_names::CodeNames;
use ken_core::values::id::EntryId;
use ken_index::{
    Backend, CandidateQuery, EmbedError, Embedder, EmbeddingModel, Index, MatchThreshold,
    SearchCandidate, Vector,
};
use ken_testkit::build::EventWriter;

use crate::branch::MemoryBranch;

type InterleavedAction = Box<dyn FnOnce() + Send>;

/// The built-in model; its first call runs an action before it embeds.
struct SlowEmbedder {
    model: Box<dyn Embedder>,
    act: Mutex<Option<InterleavedAction>>,
}

impl fmt::Debug for SlowEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slow").finish_non_exhaustive()
    }
}

impl Embedder for SlowEmbedder {
    fn model(&self) -> &EmbeddingModel {
        self.model.model()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let act = self.act.lock().unwrap().take();
        if let Some(act) = act {
            act();
        }
        self.model.embed(texts)
    }
}

fn slow_embedder(act: impl FnOnce() + Send + 'static) -> SlowEmbedder {
    SlowEmbedder {
        model: Backend::Static.built_in().unwrap(),
        act: Mutex::new(Some(Box::new(act))),
    }
}

/// Returns an index in `dir` with two entries, and the branch it was built from.
fn index_with_entries(dir: &Path) -> (Index, EventWriter, MemoryBranch, [EntryId; 2]) {
    let mut scribe = EventWriter::new(5);
    let (kept, one) = scribe.propose("A retried payment is charged twice");
    let (gone, other) = scribe.propose("Payments are retried three times");
    let mut branch = MemoryBranch::default();
    branch.put("a", &[one, other]);
    let mut index = Index::open(&dir.join("index.db")).unwrap();
    branch.refresh(&mut index).unwrap();
    (index, scribe, branch, [kept, gone])
}

fn find_candidates(index: &Index, embedder: &dyn Embedder) -> Vec<SearchCandidate> {
    let query = CandidateQuery {
        text: "payment charged again",
        filter: &EntryFilter::default(),
        paths: &[],
        names: &CodeNames::default(),
        other_names: &[],
        least: MatchThreshold::NOTHING,
        or_nearest: false,
        embedder: Some(embedder),
        limit: 10,
    };
    index.candidates(&query).unwrap().candidates
}

#[test]
fn others_write_while_a_model_is_asked_and_what_they_changed_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let (mut index, mut scribe, mut branch, [kept, gone]) = index_with_entries(dir.path());
    let path = dir.path().join("index.db");
    let retraction = EventBody::Retracted(Retracted {
        reason: RetractReason::False,
        channel: Channel::Command,
        note: None,
    });
    let copy = scribe.about(gone, retraction);
    let slow = slow_embedder(move || {
        branch.append("a", &[copy]);
        let mut other = Index::open(&path).unwrap();
        branch.refresh(&mut other).unwrap();
    });
    index.prepare_search(Some(&slow), &mut |_, _| ()).unwrap();
    assert_eq!(index.held().unwrap().waiting, 0);
    let found = find_candidates(&index, &slow);
    let ids: Vec<EntryId> = found.iter().map(|it| it.entry.id).collect();
    assert_eq!(ids, [kept]);
    assert!(found[0].cosine > 0.0);
}

#[test]
fn who_chose_last_has_the_index_and_vectors_of_two_models_are_never_compared() {
    let dir = tempfile::tempdir().unwrap();
    let (mut index, mut scribe, mut branch, _) = index_with_entries(dir.path());
    let built_in = Backend::Static.built_in();
    index
        .prepare_search(built_in.as_deref(), &mut |_, _| ())
        .unwrap();
    let (_, copy) = scribe.propose("Who is charged twice asks for the payment back");
    branch.append("a", &[copy]);
    branch.refresh(&mut index).unwrap();
    let path = dir.path().join("index.db");
    let slow = slow_embedder(move || {
        let mut other = Index::open(&path).unwrap();
        other.prepare_search(None, &mut |_, _| ()).unwrap();
    });
    index.prepare_search(Some(&slow), &mut |_, _| ()).unwrap();
    assert!(index.holds_vectors_of("").unwrap());
    let found = find_candidates(&index, &slow);
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|it| it.cosine == 0.0), "words alone");
}
