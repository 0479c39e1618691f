//! Ken operations of people and agents: commands, and hand edits of entry files.

use std::fs;

use ken_core::decide::Proposal;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{
    BlankReason, Cited, Origin, Overlay, Proposed, RecordedEvent, Relation, RetractReason, Revised,
    Switch,
};
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
use ken_core::values::actor::Actor;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::{Content, ContentChanges};
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_core::values::text::Statement;
use ken_engine::sync::BulkDeletion;
use ken_engine::{Engine, EngineError, GitEnv};

use super::dice::HistoryRng;
use super::history::{GitHistory, HistoryResult, agent, error_chain, person};

/// Number of concurrent writers.
const CONCURRENT_WRITERS: usize = 8;

/// A command on one random entry.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EntryCommand {
    Revise,
    Cite,
    Confirm,
    Retract,
    Restore,
    Archive,
    Link,
    Mark,
    Status,
}

impl GitHistory {
    pub(crate) fn add(&mut self, site: usize) -> HistoryResult {
        let by = self.somebody(site);
        let proposal = self.proposal(&by);
        let what = format!("add {:?}", proposal.content.statement.as_str());
        self.ken(site, &by, &what, |engine| {
            Ok(vec![engine.add(proposal, &by)?.id])
        })
    }

    /// Applies a command to one entry that is visible in the worktree.
    pub(crate) fn touch(&mut self, site: usize, verb: EntryCommand) -> HistoryResult {
        let by = match verb {
            EntryCommand::Retract | EntryCommand::Restore => person(&self.worktrees[site]),
            EntryCommand::Revise
            | EntryCommand::Cite
            | EntryCommand::Confirm
            | EntryCommand::Archive
            | EntryCommand::Link
            | EntryCommand::Mark
            | EntryCommand::Status => self.somebody(site),
        };
        let (text, word) = self.fresh_text();
        let mut dice = HistoryRng::new(self.dice.roll());
        self.ken(site, &by, &format!("{verb:?}"), |engine| {
            let mut entries = engine.list(&EntryFilter {
                lifecycle: LifecycleFilter::All,
                ..EntryFilter::default()
            })?;
            entries.sort_by_key(|entry| entry.id);
            let Some(entry) = pick_popular(&mut dice, entries.clone()) else {
                return Ok(Vec::new());
            };
            let other = dice.pick(&entries).map_or(entry.id, |other| other.id);
            let touched = apply_command(engine, verb, &entry, other, (&text, &word), &by)?;
            Ok(vec![touched.id])
        })
    }

    /// Adds entries from many concurrent writers, each with its own engine, like separate
    /// processes.
    pub(crate) fn add_concurrently(&mut self, site: usize) -> HistoryResult {
        self.note(format!(
            "{}$ {CONCURRENT_WRITERS} times ken add &",
            self.worktrees[site].name
        ));
        self.tally.count("crowds");
        let by = agent(&self.worktrees[site]);
        let jobs: Vec<_> = (0..CONCURRENT_WRITERS)
            .map(|_| (self.proposal(&by), self.world()))
            .collect();
        let root = self.worktrees[site].root.clone();
        let open =
            |world| Engine::open(&root, &GitEnv::default(), Some(by.clone()), Box::new(world));
        let added: Vec<Result<EntryId, String>> = std::thread::scope(|scope| {
            let running: Vec<_> = jobs
                .into_iter()
                .map(|(proposal, world)| {
                    let (open, by) = (&open, &by);
                    scope.spawn(move || {
                        let mut engine = open(world).map_err(|e| error_chain(&e))?;
                        engine
                            .add(proposal, by)
                            .map(|entry| entry.id)
                            .map_err(|e| error_chain(&e))
                    })
                })
                .collect();
            running
                .into_iter()
                .map(|job| job.join().expect("no panic"))
                .collect()
        });
        let world = self.world();
        let engine = open(world).map_err(|e| error_chain(&e))?;
        for id in added {
            let id = id.map_err(|e| format!("one of {CONCURRENT_WRITERS} writers failed: {e}"))?;
            let before = self.acknowledged.len();
            self.acknowledge(site, &engine, id)?;
            if self.acknowledged.len() == before {
                return Err(format!(
                    "{id} was added by one of {CONCURRENT_WRITERS} writers and is not there"
                ));
            }
        }
        Ok(())
    }

    /// Redacts a random event.
    pub(crate) fn blank(&mut self, site: usize) -> HistoryResult {
        let by = person(&self.worktrees[site]);
        let mut dice = HistoryRng::new(self.dice.roll());
        let mut target = None;
        self.ken(site, &by, "blank", |engine| {
            let entries = engine.list(&EntryFilter {
                lifecycle: LifecycleFilter::All,
                ..EntryFilter::default()
            })?;
            let Some(entry) = dice.pick(&entries) else {
                return Ok(Vec::new());
            };
            let Some(event) = dice.pick(&engine.history(entry.id)?) else {
                return Ok(Vec::new());
            };
            let id = event.event.id;
            // The redaction counts once its event is written, even if git blocks the rewrite.
            let word = unique_word(&event);
            let blanked = engine.redact(&id.to_string(), BlankReason::Secret, &by);
            match blanked {
                Err(EngineError::Refused(refusal)) => return Err(refusal.into()),
                other => drop(other?),
            }
            target = Some((id, word));
            Ok(vec![entry.id])
        })?;
        if let Some((id, word)) = target {
            self.tally.count("blanked events");
            self.note(format!("    # blanked {id} ({word:?})"));
            self.blanked.insert(id, word);
        }
        Ok(())
    }

    pub(crate) fn pack(&mut self, site: usize) -> HistoryResult {
        let by = person(&self.worktrees[site]);
        self.tally.count("packs");
        self.ken(site, &by, "ledger pack", |engine| {
            engine.pack().map(|_| Vec::new())
        })
    }

    pub(crate) fn sync(&mut self, site: usize) -> HistoryResult {
        let by = person(&self.worktrees[site]);
        self.ken(site, &by, "sync", |engine| {
            engine.sync(BulkDeletion::Refuse).map(|_| Vec::new())
        })
    }

    pub(crate) fn render(&mut self, site: usize) -> HistoryResult {
        let by = person(&self.worktrees[site]);
        self.ken(site, &by, "render", |engine| {
            engine.render_all().map(|_| Vec::new())
        })
    }

    /// Edits the statement in an entry's file, as with an editor.
    pub(crate) fn reword(&mut self, site: usize) -> HistoryResult {
        let (text, _) = self.fresh_text();
        self.edit(site, "reword", |old| {
            let body = old.find("\n---\n\n")? + "\n---\n\n".len();
            let end = body + old[body..].find("\n\nEvidence:")?;
            Some(format!("{}{text}{}", &old[..body], &old[end..]))
        })
    }

    /// Sets `lastConfirmed` in an entry's file to today.
    pub(crate) fn confirm_by_hand(&mut self, site: usize) -> HistoryResult {
        let today = self.now().date();
        self.edit(site, "confirm", |old| {
            let at = old.find("\nlastConfirmed: ")? + 1;
            let end = at + old[at..].find('\n')?;
            Some(format!(
                "{}lastConfirmed: {today}{}",
                &old[..at],
                &old[end..]
            ))
        })
    }

    /// Deletes an entry's file.
    pub(crate) fn delete_by_hand(&mut self, site: usize) -> HistoryResult {
        let files = self.worktrees[site].entry_files();
        let Some(file) = self.dice.pick(&files) else {
            return Ok(());
        };
        self.note(format!(
            "{}$ rm .ken/entries/{file}",
            self.worktrees[site].name
        ));
        self.tally.count("hand deletions");
        fs::remove_file(self.worktrees[site].ken("entries").join(file)).map_err(|e| e.to_string())
    }

    fn edit(
        &mut self,
        site: usize,
        what: &str,
        change: impl FnOnce(&str) -> Option<String>,
    ) -> HistoryResult {
        let files = self.worktrees[site].entry_files();
        let Some(file) = pick_popular(&mut self.dice, files) else {
            return Ok(());
        };
        let path = self.worktrees[site].ken("entries").join(&file);
        let old = fs::read_to_string(&path).map_err(|e| e.to_string())?;
        if let Some(new) = change(&old) {
            self.note(format!(
                "{}$ edit .ken/entries/{file}   # {what}",
                self.worktrees[site].name
            ));
            self.tally.count(&format!("hand edits: {what}"));
            fs::write(&path, new).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// Returns a person or an agent at random.
    fn somebody(&mut self, site: usize) -> Actor {
        if self.dice.chance(50) {
            person(&self.worktrees[site])
        } else {
            agent(&self.worktrees[site])
        }
    }

    fn proposal(&mut self, by: &Actor) -> Proposal {
        let (text, word) = self.fresh_text();
        let kinds = [
            (EntryKind::Learning, 6),
            (EntryKind::Pattern, 2),
            (EntryKind::CommitNorm, 2),
            (EntryKind::Friction, 2),
        ];
        Proposal::new(
            self.dice.weighted(&kinds),
            Content::new(statement(&text)),
            vec![evidence(&word).cite(by, self.now())],
            Origin::Agent,
        )
    }
}

/// Picks an item, mostly one of the first three, so that clones edit the same entries.
fn pick_popular<T: Clone>(dice: &mut HistoryRng, mut items: Vec<T>) -> Option<T> {
    if dice.chance(60) {
        items.truncate(3);
    }
    dice.pick(&items)
}

fn apply_command(
    engine: &mut Engine,
    verb: EntryCommand,
    entry: &Entry,
    other: EntryId,
    (text, word): (&str, &str),
    by: &Actor,
) -> Result<Entry, EngineError> {
    let id = entry.id;
    match verb {
        EntryCommand::Revise => {
            let statement = Some(statement(text));
            engine.edit(
                id,
                ContentChanges {
                    statement,
                    ..ContentChanges::default()
                },
                None,
                by,
            )
        }
        EntryCommand::Cite => engine.cite(id, evidence(word), by),
        EntryCommand::Confirm => engine.confirm(id, None, by),
        EntryCommand::Retract => engine.retract(id, RetractReason::Obsolete, None, by),
        EntryCommand::Restore => engine.restore(id, None, by),
        EntryCommand::Archive => engine.archive(id, by),
        EntryCommand::Link => engine.link(id, other, Relation::RelatesTo, by),
        EntryCommand::Mark => engine.set_overlay(id, Overlay::Pin, Switch::On, None, by),
        EntryCommand::Status => engine.set_status(id, EntryStatus::Active, None, by),
    }
}

/// Returns the word that only this event contains, if it has one.
fn unique_word(recorded: &RecordedEvent) -> Option<String> {
    let event = &recorded.event;
    let proposed = event
        .get::<Proposed>()
        .map(|data| data.content.statement.as_str());
    let revised = event
        .get::<Revised>()
        .and_then(|data| data.changes.statement.as_ref());
    let cited = event
        .get::<Cited>()
        .map(|data| data.citation.evidence_ref.as_str());
    let text = proposed.or(revised.map(Statement::as_str)).or(cited)?;
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words
        .rfind(|word| word.starts_with("zq"))
        .map(str::to_owned)
}

fn statement(text: &str) -> Statement {
    text.parse().expect("a statement")
}

fn evidence(word: &str) -> CitationSource {
    format!("test:{word}").parse().expect("evidence")
}
