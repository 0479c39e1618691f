//! What others do to the index while a model is being asked.

use std::fmt;
use std::path::Path;
use std::sync::Mutex;

use ken_core::event::{Body, Channel, RetractReason, Retracted};
use ken_core::id::EntryId;
use ken_core::store::Filter;
use ken_index::{Candidate, EmbedError, Embedder, Index, Least, Model, Query, Rung, Vector};
use ken_testkit::build::Scribe;

use crate::branch::Branch;

type Act = Box<dyn FnOnce() + Send>;

/// The built-in model, slow enough that something happens while it is first asked.
struct Slow {
    model: Box<dyn Embedder>,
    act: Mutex<Option<Act>>,
}

impl fmt::Debug for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slow").finish_non_exhaustive()
    }
}

impl Embedder for Slow {
    fn model(&self) -> &Model {
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

fn slow(act: impl FnOnce() + Send + 'static) -> Slow {
    Slow {
        model: Rung::Static.built_in().unwrap(),
        act: Mutex::new(Some(Box::new(act))),
    }
}

/// An index in `dir` with two entries, and the branch it was made from.
fn library(dir: &Path) -> (Index, Scribe, Branch, [EntryId; 2]) {
    let mut scribe = Scribe::new(5);
    let (kept, one) = scribe.propose("A retried payment is charged twice");
    let (gone, other) = scribe.propose("Payments are retried three times");
    let mut branch = Branch::default();
    branch.put("a", &[one, other]);
    let mut index = Index::open(&dir.join("index.db")).unwrap();
    branch.refresh(&mut index).unwrap();
    (index, scribe, branch, [kept, gone])
}

fn ask(index: &Index, embedder: &dyn Embedder) -> Vec<Candidate> {
    let query = Query {
        text: "payment charged again",
        filter: &Filter::default(),
        paths: &[],
        least: Least::NOTHING,
        embedder: Some(embedder),
        limit: 10,
    };
    index.candidates(&query).unwrap()
}

#[test]
fn others_write_while_a_model_is_asked_and_what_they_changed_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let (mut index, mut scribe, mut branch, [kept, gone]) = library(dir.path());
    let path = dir.path().join("index.db");
    let retraction = Body::Retracted(Retracted {
        reason: RetractReason::False,
        channel: Channel::Command,
        note: None,
    });
    let copy = scribe.about(gone, retraction);
    let slow = slow(move || {
        branch.append("a", &[copy]);
        let mut other = Index::open(&path).unwrap();
        branch.refresh(&mut other).unwrap();
    });
    index.prepare_search(Some(&slow), &mut |_, _| ()).unwrap();
    assert_eq!(index.held().unwrap().waiting, 0);
    let found = ask(&index, &slow);
    let ids: Vec<EntryId> = found.iter().map(|it| it.entry.id).collect();
    assert_eq!(ids, [kept]);
    assert!(0.0 < found[0].cosine);
}

#[test]
fn who_chose_last_has_the_index_and_vectors_of_two_models_are_never_compared() {
    let dir = tempfile::tempdir().unwrap();
    let (mut index, mut scribe, mut branch, _) = library(dir.path());
    let built_in = Rung::Static.built_in();
    index
        .prepare_search(built_in.as_deref(), &mut |_, _| ())
        .unwrap();
    let (_, copy) = scribe.propose("Who is charged twice asks for the payment back");
    branch.append("a", &[copy]);
    branch.refresh(&mut index).unwrap();
    let path = dir.path().join("index.db");
    let slow = slow(move || {
        let mut other = Index::open(&path).unwrap();
        other.prepare_search(None, &mut |_, _| ()).unwrap();
    });
    index.prepare_search(Some(&slow), &mut |_, _| ()).unwrap();
    assert!(index.holds_vectors_of("").unwrap());
    let found = ask(&index, &slow);
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|it| it.cosine == 0.0), "words alone");
}
