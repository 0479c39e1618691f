//! Invariants at the end of a history, checked without Ken's own readers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::state::LedgerState;
use ken_core::ledger::store::DerivedStore as _;
use ken_core::values::id::EventId;
use ken_engine::check::LedgerSeverity;
use ken_engine::recover::RecoverScope;
use ken_engine::verify::{VerifyOutcome, VerifyScope as Checked};
use ken_engine::view::entry_file;
use ken_engine::{Engine, GitEnv};
use ken_index::Index;

use super::history::{GitHistory, HistoryResult, error_chain, person};
use super::site::TestWorktree;

/// The gate that detects redacted data.
const REDACTED_GATE: &str = "knowledge.redacted";

impl GitHistory {
    /// Checks all invariants.
    pub(crate) fn judge(&mut self) -> HistoryResult {
        for site in 0..self.worktrees.len() {
            self.check_gate_fails(site)?;
        }
        for site in 0..self.worktrees.len() {
            self.recover(site)?;
        }
        for site in 0..self.worktrees.len() {
            self.sync(site)?;
            self.check_gate_passes(site)?;
            self.check_state(site)?;
            self.check_redacted_text(site)?;
        }
        self.check_nothing_lost()
    }

    /// Compares the state in a worktree's index with a fold of its files.
    pub(crate) fn check_state(&mut self, site: usize) -> HistoryResult {
        let place = self.worktrees[site].clone();
        check_file_names(&place)?;
        let mut engine = self.open(site)?;
        let expected = place.events()?.fold();
        let kept = indexed_state(&place)?;
        compare_states(&place.name, "the index kept in step", &kept, &expected)?;
        engine.rebuild_index().map_err(|e| error_chain(&e))?;
        compare_states(
            &place.name,
            "the index built anew",
            &indexed_state(&place)?,
            &expected,
        )
    }

    /// Checks that no redacted text is stored in a clone that has the redaction.
    pub(crate) fn check_redacted_text(&mut self, site: usize) -> HistoryResult {
        let place = &self.worktrees[site];
        let mut files = Vec::new();
        collect_files(&place.root.join(".ken"), &mut files);
        collect_files(&place.common.join("ken"), &mut files);
        let quoted = self.quoted(site, &files)?;
        match quoted.iter().find(|(_, file)| !has_pending_edit(file)) {
            Some((word, file)) => {
                let text = fs::read_to_string(file).unwrap_or_default();
                let file = file.display();
                Err(format!(
                    "{}: blanked {word} is in {file}:\n{text}",
                    place.name
                ))
            }
            None => Ok(()),
        }
    }

    /// Returns the files that contain, or are named after, a word that is redacted in this clone.
    fn quoted(&self, site: usize, files: &[PathBuf]) -> Result<Vec<(String, PathBuf)>, String> {
        let place = &self.worktrees[site];
        let here = place.blanked()?;
        let mut told: Vec<RecordedEvent> = place.events()?.events().collect();
        told.extend(place.journal_events());
        let mut found = Vec::new();
        for (id, word) in self.blanked.iter().filter(|(id, _)| here.contains(id)) {
            let Some(word) = word else { continue };
            // Keeping both halves of a conflict copied the word into another event.
            let elsewhere =
                |it: &RecordedEvent| it.event.id != *id && it.line().contains(word.as_str());
            if told.iter().any(elsewhere) {
                continue;
            }
            for file in files {
                let bytes = fs::read(file).unwrap_or_default();
                let named = file.display().to_string().contains(word.as_str());
                if named || contains_bytes(&bytes, word.as_bytes()) {
                    found.push((word.clone(), file.clone()));
                }
            }
        }
        Ok(found)
    }

    /// Checks that the gate fails while the worktree holds a copy of redacted data.
    fn check_gate_fails(&mut self, site: usize) -> HistoryResult {
        let place = self.worktrees[site].clone();
        let copies = full_copies(&place)?;
        let mut files = Vec::new();
        collect_files(&place.ken("entries"), &mut files);
        let quoted = self.quoted(site, &files)?;
        if copies.is_empty() && quoted.is_empty() {
            return Ok(());
        }
        self.tally.add(
            "entry files found that quote a blanked event",
            quoted.len() as u64,
        );
        self.tally.add(
            "copies of blanked events found in trees",
            copies.len() as u64,
        );
        self.note(format!("{}$ ken verify", place.name));
        if verify(&mut self.open(site)?)?.passes() {
            return Err(format!(
                "{}: the gate passes with {copies:?} and {quoted:?} in the tree",
                place.name
            ));
        }
        Ok(())
    }

    /// Checks that after a sync the gate finds no redacted data and no damage.
    fn check_gate_passes(&mut self, site: usize) -> HistoryResult {
        let place = self.worktrees[site].clone();
        let copies = full_copies(&place)?;
        if !copies.is_empty() {
            return Err(format!(
                "{}: after a sync {copies:?} are still there",
                place.name
            ));
        }
        let mut engine = self.open(site)?;
        let verified = verify(&mut engine)?;
        let mut quotes = verified.findings.iter().filter(|f| f.gate == REDACTED_GATE);
        if let Some(finding) = quotes.find(|f| !has_pending_edit(&place.root.join(&f.at))) {
            let text = fs::read_to_string(place.root.join(&finding.at)).unwrap_or_default();
            return Err(format!("{}: {finding:?}\n{text}", place.name));
        }
        let checked = engine.check_ledger().map_err(|e| error_chain(&e))?;
        match checked
            .findings
            .iter()
            .find(|f| f.severity == LedgerSeverity::Damage)
        {
            Some(finding) => Err(format!("{}: {finding:?}", place.name)),
            None => Ok(()),
        }
    }

    fn recover(&mut self, site: usize) -> HistoryResult {
        let by = person(&self.worktrees[site]);
        let mut restored = 0;
        self.ken(site, &by, "recover --all", |engine| {
            let recovered = engine.recover(RecoverScope::All)?;
            restored = recovered.restored.values().sum();
            Ok(Vec::new())
        })?;
        self.note(format!("    # {restored} events"));
        self.tally.add("events recovered", restored);
        Ok(())
    }

    /// Checks that every acknowledged event is in a worktree or reachable from a ref.
    fn check_nothing_lost(&mut self) -> HistoryResult {
        let mut found: BTreeSet<String> = BTreeSet::new();
        let mut blank: BTreeSet<EventId> = BTreeSet::new();
        let mut take = |recorded: &RecordedEvent| {
            if recorded.is_redacted() {
                blank.insert(recorded.event.id);
            }
            found.insert(recorded.line().to_owned());
        };
        let mut repositories = BTreeSet::from([self.remote.clone()]);
        for site in &self.worktrees {
            site.lines()?
                .iter()
                .for_each(|(_, recorded)| take(recorded));
            repositories.insert(site.root.clone());
        }
        for root in repositories {
            TestWorktree::reachable_lines(&root)?
                .iter()
                .for_each(&mut take);
        }
        self.tally
            .add("events acknowledged", self.acknowledged.len() as u64);
        for (id, it) in &self.acknowledged {
            let there = it.lines.iter().any(|line| found.contains(line));
            let redacted = blank.contains(id) && self.blanked.contains_key(id);
            if !there && !redacted {
                return Err(format!(
                    "event {id}, acknowledged at {}, is lost: {:?}",
                    it.at, it.lines
                ));
            }
        }
        Ok(())
    }

    /// Opens an engine on a worktree.
    pub(crate) fn open(&mut self, site: usize) -> Result<Engine, String> {
        let world = Box::new(self.world());
        let place = &self.worktrees[site];
        Engine::open(&place.root, &GitEnv::default(), Some(person(place)), world)
            .map_err(|e| format!("{}: opening failed: {}", place.name, error_chain(&e)))
    }
}

/// Runs the gate on everything.
fn verify(engine: &mut Engine) -> Result<VerifyOutcome, String> {
    let verified = engine.verify(Checked::Everything, &mut |_, _| ());
    verified.map_err(|e| error_chain(&e))
}

/// Returns the full copies, in the worktree, of events that should be redacted.
fn full_copies(place: &TestWorktree) -> Result<Vec<(String, EventId)>, String> {
    let blanked = place.blanked()?;
    let lines = place.lines()?.into_iter();
    Ok(lines
        .filter(|(_, it)| blanked.contains(&it.event.id) && !it.is_redacted())
        .filter(|(_, it)| ken_core::ledger::state::redaction_target(&it.event).is_none())
        .map(|(path, it)| (path, it.event.id))
        .collect())
}

/// Returns true if a file holds an edit that is not an event yet. An edit based on a redacted event
/// awaits a person, and the gate fails until then.
fn has_pending_edit(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    entry_file::parse(&text).is_ok_and(|reading| !reading.content_is_rendered())
}

/// Checks that no merge put one entry's text into another entry's file.
fn check_file_names(place: &TestWorktree) -> HistoryResult {
    for name in place.entry_files() {
        let text = fs::read_to_string(place.ken("entries").join(&name)).unwrap_or_default();
        let Ok(reading) = entry_file::parse(&text) else {
            continue;
        };
        if !name.starts_with(&reading.id.to_string()) {
            return Err(format!("{}: {name} says it is {}", place.name, reading.id));
        }
    }
    Ok(())
}

fn indexed_state(place: &TestWorktree) -> Result<LedgerState, String> {
    let index = Index::open(&place.ken(".index/knowledge.db")).map_err(|e| error_chain(&e))?;
    index.state().map_err(|e| error_chain(&e))
}

fn compare_states(
    site: &str,
    what: &str,
    found: &LedgerState,
    expected: &LedgerState,
) -> HistoryResult {
    if found.to_canonical_json() == expected.to_canonical_json() {
        return Ok(());
    }
    let ids: BTreeSet<_> = found
        .entries
        .keys()
        .chain(expected.entries.keys())
        .collect();
    let differing = ids
        .into_iter()
        .find(|id| found.entries.get(id) != expected.entries.get(id));
    let shown = differing.map(|id| (found.entries.get(id), expected.entries.get(id)));
    Err(format!(
        "{site}: {what} is not the fold of the files: {shown:#?}"
    ))
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for item in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = item.path();
        if path.is_dir() {
            collect_files(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn contains_bytes(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}
