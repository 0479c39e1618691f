//! What must hold at the end of a history, found out without Ken's own readers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ken_core::event::Recorded;
use ken_core::id::EventId;
use ken_core::state::State;
use ken_core::store::Store as _;
use ken_engine::check::Severity;
use ken_engine::recover::Scope;
use ken_engine::verify::{Scope as Checked, Verified};
use ken_engine::view::document;
use ken_engine::{Engine, GitEnv};
use ken_index::Index;

use super::history::{History, Outcome, chain, person};
use super::site::Site;

/// The gate that looks for blanked data.
const BLANKED_GATE: &str = "knowledge.blanked";

impl History {
    /// Checks everything.
    pub(crate) fn judge(&mut self) -> Outcome {
        for site in 0..self.sites.len() {
            self.gate_sees_copies(site)?;
        }
        for site in 0..self.sites.len() {
            self.recover(site)?;
        }
        for site in 0..self.sites.len() {
            self.sync(site)?;
            self.gate_passes(site)?;
            self.state_is_the_fold(site)?;
            self.blanked_text_is_gone(site)?;
        }
        self.nothing_is_lost()
    }

    /// Compares what a site's index says with a fold of its files.
    pub(crate) fn state_is_the_fold(&mut self, site: usize) -> Outcome {
        let place = self.sites[site].clone();
        files_are_of_their_entries(&place)?;
        let mut engine = self.open(site)?;
        let expected = place.events()?.fold();
        let kept = indexed(&place)?;
        same(&place.name, "the index kept in step", &kept, &expected)?;
        engine.rebuild_index().map_err(|e| chain(&e))?;
        same(
            &place.name,
            "the index built anew",
            &indexed(&place)?,
            &expected,
        )
    }

    /// Checks that no blanked text can be found where this clone knows it is blanked.
    pub(crate) fn blanked_text_is_gone(&mut self, site: usize) -> Outcome {
        let place = &self.sites[site];
        let mut files = Vec::new();
        walk(&place.root.join(".ken"), &mut files);
        walk(&place.common.join("ken"), &mut files);
        let quoted = self.quoted(site, &files)?;
        match quoted.iter().find(|(_, file)| !holds_edit(file)) {
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

    /// Returns which of `files` hold, or are named after, a word this clone knows is blanked.
    fn quoted(&self, site: usize, files: &[PathBuf]) -> Result<Vec<(String, PathBuf)>, String> {
        let place = &self.sites[site];
        let here = place.blanked()?;
        let mut told: Vec<Recorded> = place.events()?.events().collect();
        told.extend(place.journalled());
        let mut found = Vec::new();
        for (id, word) in self.blanked.iter().filter(|(id, _)| here.contains(id)) {
            let Some(word) = word else { continue };
            // Somebody wrote the word into another event, by keeping both halves of a conflict.
            let elsewhere = |it: &Recorded| it.event.id != *id && it.line().contains(word.as_str());
            if told.iter().any(elsewhere) {
                continue;
            }
            for file in files {
                let bytes = fs::read(file).unwrap_or_default();
                let named = file.display().to_string().contains(word.as_str());
                if named || contains(&bytes, word.as_bytes()) {
                    found.push((word.clone(), file.clone()));
                }
            }
        }
        Ok(found)
    }

    /// Checks that the gate fails while a copy of blanked data is in the tree.
    fn gate_sees_copies(&mut self, site: usize) -> Outcome {
        let place = self.sites[site].clone();
        let copies = full_copies(&place)?;
        let mut files = Vec::new();
        walk(&place.ken("entries"), &mut files);
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

    /// Checks that the gate finds no blanked data after a sync, and nothing damaged at all.
    fn gate_passes(&mut self, site: usize) -> Outcome {
        let place = self.sites[site].clone();
        let copies = full_copies(&place)?;
        if !copies.is_empty() {
            return Err(format!(
                "{}: after a sync {copies:?} are still there",
                place.name
            ));
        }
        let mut engine = self.open(site)?;
        let verified = verify(&mut engine)?;
        let mut quotes = verified.findings.iter().filter(|f| f.gate == BLANKED_GATE);
        if let Some(finding) = quotes.find(|f| !holds_edit(&place.root.join(&f.at))) {
            let text = fs::read_to_string(place.root.join(&finding.at)).unwrap_or_default();
            return Err(format!("{}: {finding:?}\n{text}", place.name));
        }
        let checked = engine.check_ledger().map_err(|e| chain(&e))?;
        match checked
            .findings
            .iter()
            .find(|f| f.severity == Severity::Damage)
        {
            Some(finding) => Err(format!("{}: {finding:?}", place.name)),
            None => Ok(()),
        }
    }

    fn recover(&mut self, site: usize) -> Outcome {
        let by = person(&self.sites[site]);
        let mut restored = 0;
        self.ken(site, &by, "recover --all", |engine| {
            let recovered = engine.recover(Scope::All)?;
            restored = recovered.restored.values().sum();
            Ok(Vec::new())
        })?;
        self.note(format!("    # {restored} events"));
        self.tally.add("events recovered", restored);
        Ok(())
    }

    /// Checks that every acknowledged event is in some tree or reached by some ref.
    fn nothing_is_lost(&mut self) -> Outcome {
        let mut found: BTreeSet<String> = BTreeSet::new();
        let mut blank: BTreeSet<EventId> = BTreeSet::new();
        let mut take = |recorded: &Recorded| {
            if recorded.is_blanked() {
                blank.insert(recorded.event.id);
            }
            found.insert(recorded.line().to_owned());
        };
        let mut repositories = BTreeSet::from([self.remote.clone()]);
        for site in &self.sites {
            site.lines()?
                .iter()
                .for_each(|(_, recorded)| take(recorded));
            repositories.insert(site.root.clone());
        }
        for root in repositories {
            Site::reachable(&root)?.iter().for_each(&mut take);
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

    /// Opens a site for reading.
    pub(crate) fn open(&mut self, site: usize) -> Result<Engine, String> {
        let world = Box::new(self.world());
        let place = &self.sites[site];
        Engine::open(&place.root, &GitEnv::default(), Some(person(place)), world)
            .map_err(|e| format!("{}: opening failed: {}", place.name, chain(&e)))
    }
}

/// Returns the full copies of events in the tree that should be blanked.
fn verify(engine: &mut Engine) -> Result<Verified, String> {
    let by = "ci:test".parse().unwrap();
    let verified = engine.verify(Checked::Everything, &by, &mut |_, _| ());
    verified.map_err(|e| chain(&e))
}

fn full_copies(place: &Site) -> Result<Vec<(String, EventId)>, String> {
    let blanked = place.blanked()?;
    let lines = place.lines()?.into_iter();
    Ok(lines
        .filter(|(_, it)| blanked.contains(&it.event.id) && !it.is_blanked())
        .filter(|(_, it)| ken_core::state::blanks(&it.event).is_none())
        .map(|(path, it)| (path, it.event.id))
        .collect())
}

/// Returns whether a file holds an edit that is no event yet. One that rests on a blanked event
/// waits for a person, and the gate fails until then.
fn holds_edit(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    document::read(&text).is_ok_and(|reading| !reading.is_rendered())
}

/// Checks that no merge put one entry's text into another's file.
fn files_are_of_their_entries(place: &Site) -> Outcome {
    for name in place.entry_files() {
        let text = fs::read_to_string(place.ken("entries").join(&name)).unwrap_or_default();
        let Ok(reading) = document::read(&text) else {
            continue;
        };
        if !name.starts_with(&reading.id.to_string()) {
            return Err(format!("{}: {name} says it is {}", place.name, reading.id));
        }
    }
    Ok(())
}

fn indexed(place: &Site) -> Result<State, String> {
    let index = Index::open(&place.ken(".index/knowledge.db")).map_err(|e| chain(&e))?;
    index.state().map_err(|e| chain(&e))
}

fn same(site: &str, what: &str, found: &State, expected: &State) -> Outcome {
    if found.to_bytes() == expected.to_bytes() {
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

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for item in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = item.path();
        if path.is_dir() {
            walk(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}
