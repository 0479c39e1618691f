//! Lessons that travel with a dependency: which entries begin or end to apply when versions change.
//!
//! An entry with a `pkg:` condition applies while the lockfile resolves a matching version.
//! Comparing the lockfile of a commit with that of the work tree shows what a dependency update
//! changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use ken_core::federation::line::is_package_condition;
use ken_core::ledger::entry::Entry;
use ken_core::values::condition::TruthValue;
use ken_core::values::text::Condition;
use serde::Serialize;

use super::peer::PeerLedger;
use crate::config::RepositoryConfig;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::validity::{
    CodeVersion, CommitTree, Effort, EntryChecker, MoveSearch, VersionReader, WorkTree,
};

/// Where a lesson comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LessonSource {
    Repository,
    /// A peer, by the name this user gave it.
    Peer(String),
}

/// What a change of versions means for a lesson.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LessonTransition {
    Begins,
    Ends,
    Continues,
}

/// A lesson about a package version.
#[derive(Clone, Debug, PartialEq)]
pub struct DependencyLesson {
    pub entry: Entry,
    pub source: LessonSource,
    pub conditions: Vec<Condition>,
    pub transition: LessonTransition,
}

/// Returns the lessons that apply at `base`, in the work tree, or in both.
pub(crate) fn dependency_lessons(
    engine: &mut Engine,
    peers: &[PeerLedger],
    base: &str,
) -> Result<Vec<DependencyLesson>, EngineError> {
    let mut candidates = Vec::new();
    for entry in engine.index.checkable()? {
        candidates.push((entry, LessonSource::Repository));
    }
    for peer in peers {
        for entry in peer.engine.index.checkable()? {
            if peer.is_entry_shown(&entry) {
                candidates.push((entry, LessonSource::Peer(peer.peer.name.clone())));
            }
        }
    }
    candidates.retain(|(entry, _)| entry.is_live() && !package_conditions(entry).is_empty());
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let base = CodeVersion::Commit(Arc::new(CommitTree::from_revision(&engine.place, base)?));
    let head = CodeVersion::Work(WorkTree::new(&engine.place)?);
    let conditions = candidates.iter().flat_map(|(it, _)| package_conditions(it));
    let conditions: BTreeSet<Condition> = conditions.collect();
    let before = holding(engine, &base, &conditions)?;
    let after = holding(engine, &head, &conditions)?;
    let mut lessons = Vec::new();
    for (entry, source) in candidates {
        let conditions = package_conditions(&entry);
        let holds = |set: &BTreeSet<Condition>| conditions.iter().all(|it| set.contains(it));
        let transition = match (holds(&before), holds(&after)) {
            (false, true) => LessonTransition::Begins,
            (true, false) => LessonTransition::Ends,
            (true, true) => LessonTransition::Continues,
            (false, false) => continue,
        };
        lessons.push(DependencyLesson {
            entry,
            source,
            conditions,
            transition,
        });
    }
    lessons.sort_by(|a, b| {
        (a.transition, &a.source, a.entry.id).cmp(&(b.transition, &b.source, b.entry.id))
    });
    Ok(lessons)
}

/// Returns the conditions that hold in a version of the repository.
fn holding(
    engine: &mut Engine,
    version: &CodeVersion,
    conditions: &BTreeSet<Condition>,
) -> Result<BTreeSet<Condition>, EngineError> {
    let config = RepositoryConfig::load_or_default(version);
    let now = engine.now();
    let reader = VersionReader::new(version, &mut engine.index, now);
    let mut checker = EntryChecker::new(reader, MoveSearch::File, Effort::Full, &config.facts);
    let holds = conditions
        .iter()
        .filter(|it| checker.check_condition(it).truth == TruthValue::Holds);
    Ok(holds.cloned().collect())
}

fn package_conditions(entry: &Entry) -> Vec<Condition> {
    let content = entry.content.as_ref();
    let conditions = content
        .map(|it| it.depends_on.as_slice())
        .unwrap_or_default();
    conditions
        .iter()
        .filter(|it| is_package_condition(it))
        .cloned()
        .collect()
}
