//! Blame: what the agents of a run were shown, what of it was new since the last good run, and how
//! far the entries of one source have spread.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Outcome, Relation, RunEffects};
use ken_core::ledger::source::ContributionSource;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};
use ken_core::trust::outcome::{ObservedRun, step};
use ken_core::trust::run::exposure_log::{ExposureDecision, ExposureRecord, exposure_records};
use ken_core::trust::run::{ExposureChannel, Run};
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::time::Timestamp;
use ken_ledger::git::GitRunner;

use super::PastRun;
use super::store::RunStore;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::git::{COMMIT_CHARS, LoggedCommit, read_log};

/// Trailer of a commit message that names the run it was made in.
pub const RUN_TRAILER: &str = "Ken-Run:";

/// Milliseconds after the last note of a run within which a commit still belongs to it: the agent
/// commits after its last tool call.
pub(super) const COMMIT_AFTER_MS: u64 = 10 * 60 * 1_000;

/// Number of commits that are searched for those of a run, newest first.
const COMMITS_SEARCHED: usize = 5_000;

/// How a run was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunJoin {
    /// By its name.
    Named,
    /// By the trailer of the commit.
    Trailer,
    /// By a hook that saw the commit made.
    Observed,
    /// By the time of the commit.
    Time,
}

/// What the agents of a run were shown.
#[derive(Clone, Debug)]
pub struct RunBlame {
    pub run: String,
    pub join: RunJoin,
    /// The last run before it that succeeded.
    pub last_good: Option<PastRun>,
    /// Those that are new first, then by the time they were shown.
    pub entries: Vec<BlamedEntry>,
    /// Agents that read a file with too many entries to list.
    pub saw_everything: BTreeSet<Actor>,
}

/// An entry that an agent was shown.
#[derive(Clone, Debug)]
pub struct BlamedEntry {
    pub entry: Entry,
    pub agents: BTreeSet<Actor>,
    pub channel: ExposureChannel,
    pub was_used: bool,
    /// Not shown in the last good run, or changed since.
    pub is_new: bool,
    /// The entries it was made from.
    pub derived_from: BTreeSet<EntryId>,
}

/// How far the entries of a source have spread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlastRadius {
    pub entries: BTreeSet<EntryId>,
    /// Entries of other sources that were made from them.
    pub derived: BTreeSet<EntryId>,
    /// Runs in which an agent was shown one of them.
    pub runs: BTreeSet<String>,
    /// Short ids of commits made in these runs.
    pub commits: BTreeSet<String>,
    /// Clones that recorded these runs, by their node ids.
    pub clones: BTreeSet<String>,
}

/// A run on this machine with its exposures.
struct LocalRun {
    run: Run,
    exposures: Vec<ExposureRecord>,
}

/// Returns what the agents of a run were shown. `target` names the run or a commit.
pub(crate) fn blame(engine: &Engine, target: &str) -> Result<RunBlame, EngineError> {
    let local = local_runs(engine)?;
    let (found, join) = find_run(engine, &local, target)?;
    let good = last_good_run(engine, found)?;
    let good_shown = good.as_ref().and_then(|good| {
        let notes = local.iter().find(|it| it.run.id == good.closed.run);
        notes.map(|it| shown_entries(&it.exposures))
    });
    let mut saw_everything = BTreeSet::new();
    let mut by_entry: BTreeMap<EntryId, BlamedEntry> = BTreeMap::new();
    let mut order = Vec::new();
    for record in &found.exposures {
        let ExposureDecision::Shown(channel) = record.decision else {
            continue;
        };
        let Some(id) = record.entry else {
            saw_everything.insert(record.agent.clone());
            continue;
        };
        let blamed = match by_entry.entry(id) {
            Slot::Occupied(known) => known.into_mut(),
            Slot::Vacant(free) => {
                // Deleted since, by a rewritten history.
                let Ok(entry) = engine.entry(id) else {
                    continue;
                };
                order.push(id);
                let is_new = good.as_ref().is_none_or(|good| {
                    // Without the notes of the good run only the time of a change tells.
                    let was_shown = good_shown.as_ref().is_none_or(|it| it.contains(&id));
                    !was_shown || last_change(&entry) > good.at
                });
                free.insert(BlamedEntry {
                    derived_from: sources_of(&entry),
                    entry,
                    agents: BTreeSet::new(),
                    channel,
                    was_used: false,
                    is_new,
                })
            }
        };
        blamed.agents.insert(record.agent.clone());
        blamed.was_used |= record.was_used;
    }
    let entries = order.iter().filter_map(|id| by_entry.remove(id));
    let mut entries: Vec<BlamedEntry> = entries.collect();
    // A stable sort: each part keeps the order in which its entries were shown.
    entries.sort_by_key(|it| !it.is_new);
    Ok(RunBlame {
        run: found.run.id.clone(),
        join,
        last_good: good,
        entries,
        saw_everything,
    })
}

/// Returns how far the entries of a source have spread, as far as this clone knows.
pub(crate) fn blast_radius(
    engine: &Engine,
    source: &ContributionSource,
) -> Result<BlastRadius, EngineError> {
    let all = engine.index.list(&EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    })?;
    let own = all.iter().filter(|it| source.matches_entry(it));
    let entries: BTreeSet<EntryId> = own.map(|it| it.id).collect();
    let derived = derived_entries(&all, &entries);
    let mut radius = BlastRadius {
        derived,
        ..BlastRadius::default()
    };
    let spread: BTreeSet<EntryId> = entries.union(&radius.derived).copied().collect();
    let local = local_runs(engine)?;
    for run in &local {
        let shown = shown_entries(&run.exposures);
        if !shown.is_disjoint(&spread) {
            radius.runs.insert(run.run.id.clone());
        }
    }
    // Runs of other machines, and those whose notes were deleted here.
    for recorded in engine.index.of_type::<RunEffects>()? {
        let Some(data) = recorded.event.get::<RunEffects>() else {
            continue;
        };
        let mut effects = data.effects.iter();
        if effects.any(|it| it.shown > 0 && spread.contains(&it.entry)) {
            radius.runs.insert(data.run.clone());
            radius.clones.insert(recorded.event.at.node.to_string());
        }
    }
    let observed = super::observed_runs(engine)?;
    for commit in recent_commits(engine) {
        let named = trailer_run(&commit).or_else(|| maker(&observed, &commit));
        let run = match named {
            Some(run) => Some(run.to_owned()),
            None => run_at(&local, commit.at).map(|it| it.run.id.clone()),
        };
        if run.is_some_and(|it| radius.runs.contains(&it)) {
            radius.commits.insert(commit.id[..COMMIT_CHARS].to_owned());
        }
    }
    radius.entries = entries;
    Ok(radius)
}

/// Returns the entries that were made from `sources`, directly or through others.
fn derived_entries(all: &[Entry], sources: &BTreeSet<EntryId>) -> BTreeSet<EntryId> {
    let mut derived = BTreeSet::new();
    loop {
        let is_next = |it: &&Entry| {
            let from = sources_of(it);
            let rests_on = |id: &EntryId| sources.contains(id) || derived.contains(id);
            let is_known = sources.contains(&it.id) || derived.contains(&it.id);
            !is_known && from.iter().any(rests_on)
        };
        let next: Vec<EntryId> = all.iter().filter(is_next).map(|it| it.id).collect();
        if next.is_empty() {
            return derived;
        }
        derived.extend(next);
    }
}

/// Returns the entries that an entry was made from.
fn sources_of(entry: &Entry) -> BTreeSet<EntryId> {
    let links = entry.links.iter();
    let linked = links.filter(|it| it.rel == Relation::DerivedFrom);
    let mut found: BTreeSet<EntryId> = linked.map(|it| it.to).collect();
    found.extend(&entry.merged_from);
    let created = entry.created.as_ref();
    found.extend(created.iter().flat_map(|it| &it.promoted_from));
    found
}

fn last_change(entry: &Entry) -> Timestamp {
    let created = entry.created.as_ref().map(|it| it.event);
    let events = entry.revision.iter().copied().chain(created);
    events.map(EventId::timestamp).max().unwrap_or_default()
}

fn local_runs(engine: &Engine) -> Result<Vec<LocalRun>, EngineError> {
    let mut found = Vec::new();
    for notes in RunStore::new(&engine.place)?.all_notes()? {
        let exposures = exposure_records(&notes);
        let run = Run::from_records(notes);
        found.extend(run.map(|run| LocalRun { run, exposures }));
    }
    Ok(found)
}

fn shown_entries(exposures: &[ExposureRecord]) -> BTreeSet<EntryId> {
    let shown = exposures.iter().filter(|it| match it.decision {
        ExposureDecision::Shown(_) => true,
        ExposureDecision::Withheld { .. } | ExposureDecision::Omitted => false,
    });
    shown.filter_map(|it| it.entry).collect()
}

fn find_run<'r>(
    engine: &Engine,
    local: &'r [LocalRun],
    target: &str,
) -> Result<(&'r LocalRun, RunJoin), EngineError> {
    let named = |id: &str| local.iter().rev().find(|it| it.run.id == id);
    if let Some(run) = named(target) {
        return Ok((run, RunJoin::Named));
    }
    let commits = match &engine.place.git {
        Some(dirs) => {
            let git = GitRunner::new(&engine.place.root, dirs);
            read_log(&git, &["--max-count=1", "--end-of-options", target, "--"]).unwrap_or_default()
        }
        None => Vec::new(),
    };
    let Some(commit) = commits.first() else {
        return Err(EngineError::Usage(format!(
            "`{target}` is neither a commit nor a run that this machine knows"
        )));
    };
    if let Some(id) = trailer_run(commit) {
        let run = named(id).ok_or_else(|| {
            EngineError::Usage(format!("run `{id}` of this commit is on another machine"))
        })?;
        return Ok((run, RunJoin::Trailer));
    }
    let observed = super::observed_runs(engine)?;
    if let Some(run) = maker(&observed, commit).and_then(named) {
        return Ok((run, RunJoin::Observed));
    }
    let run = run_at(local, commit.at).ok_or_else(|| {
        EngineError::Usage("no run on this machine was open when the commit was made".to_owned())
    })?;
    Ok((run, RunJoin::Time))
}

/// Returns the run that a commit message names.
pub(super) fn trailer_run(commit: &LoggedCommit) -> Option<&str> {
    let lines = commit.body.lines().rev();
    let mut runs = lines.filter_map(|it| it.trim().strip_prefix(RUN_TRAILER));
    runs.next().map(str::trim)
}

/// Returns the run whose hooks saw a commit made.
fn maker<'r>(observed: &'r [ObservedRun], commit: &LoggedCommit) -> Option<&'r str> {
    let made = |it: &&ObservedRun| {
        let mut commits = it.facts.commits.iter();
        commits.any(|id| step::is_same_commit(id, &commit.id))
    };
    observed.iter().rev().find(made).map(|it| it.run.as_str())
}

/// Returns the last opened of the runs that were open at this time.
fn run_at(local: &[LocalRun], at: Timestamp) -> Option<&LocalRun> {
    let was_open = |it: &&LocalRun| {
        // Git counts whole seconds.
        it.run.opened.millis() / 1_000 <= at.millis() / 1_000
            && at <= it.run.last.plus_millis(COMMIT_AFTER_MS)
    };
    local.iter().filter(was_open).max_by_key(|it| it.run.opened)
}

fn last_good_run(engine: &Engine, bad: &LocalRun) -> Result<Option<PastRun>, EngineError> {
    let earlier = super::past_runs(engine)?.into_iter();
    let mut good = earlier.filter(|it| {
        it.at <= bad.run.opened
            && it.closed.run != bad.run.id
            && it.known_outcome() == Some(Outcome::Succeeded)
    });
    Ok(good.next_back())
}

fn recent_commits(engine: &Engine) -> Vec<LoggedCommit> {
    let Some(dirs) = &engine.place.git else {
        return Vec::new();
    };
    let git = GitRunner::new(&engine.place.root, dirs);
    let count = format!("--max-count={COMMITS_SEARCHED}");
    // A branch without commits.
    read_log(&git, &[&count]).unwrap_or_default()
}
