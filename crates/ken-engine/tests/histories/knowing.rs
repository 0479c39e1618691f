//! What people and agents do with knowledge: the verbs of ken, and edits of files by hand.

use std::fs;

use ken_core::actor::Actor;
use ken_core::citation::Evidence;
use ken_core::content::{Changes, Content};
use ken_core::decide::Proposal;
use ken_core::entry::Entry;
use ken_core::event::{
    BlankReason, Cited, Origin, Overlay, Proposed, Recorded, Relation, RetractReason, Revised,
    Switch,
};
use ken_core::id::EntryId;
use ken_core::kind::Kind;
use ken_core::status::Status;
use ken_core::store::{Filter, Shelf};
use ken_core::text::Statement;
use ken_engine::sync::BulkDeletion;
use ken_engine::{Engine, Error, GitEnv};

use super::dice::Dice;
use super::history::{History, Outcome, agent, chain, person};

/// Writers that write at once.
const CROWD: usize = 8;

/// A verb that touches one entry chosen by chance.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verb {
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

impl History {
    pub(crate) fn add(&mut self, site: usize) -> Outcome {
        let by = self.somebody(site);
        let proposal = self.proposal(&by);
        let what = format!("add {:?}", proposal.content.statement.as_str());
        self.ken(site, &by, &what, |engine| {
            Ok(vec![engine.add(proposal, &by)?.id])
        })
    }

    /// Does something to one entry that is visible at the site.
    pub(crate) fn touch(&mut self, site: usize, verb: Verb) -> Outcome {
        let by = match verb {
            Verb::Retract | Verb::Restore => person(&self.sites[site]),
            Verb::Revise
            | Verb::Cite
            | Verb::Confirm
            | Verb::Archive
            | Verb::Link
            | Verb::Mark
            | Verb::Status => self.somebody(site),
        };
        let (text, word) = self.fresh_text();
        let mut dice = Dice::new(self.dice.roll());
        self.ken(site, &by, &format!("{verb:?}"), |engine| {
            let mut entries = engine.list(&Filter {
                shelf: Shelf::All,
                ..Filter::default()
            })?;
            entries.sort_by_key(|entry| entry.id);
            let Some(entry) = popular(&mut dice, entries.clone()) else {
                return Ok(Vec::new());
            };
            let other = dice.pick(&entries).map_or(entry.id, |other| other.id);
            let touched = apply(engine, verb, &entry, other, (&text, &word), &by)?;
            Ok(vec![touched.id])
        })
    }

    /// Lets many writers add at once, each a process of its own as far as Ken can tell.
    pub(crate) fn crowd(&mut self, site: usize) -> Outcome {
        self.note(format!(
            "{}$ {CROWD} times ken add &",
            self.sites[site].name
        ));
        self.tally.count("crowds");
        let by = agent(&self.sites[site]);
        let jobs: Vec<_> = (0..CROWD)
            .map(|_| (self.proposal(&by), self.world()))
            .collect();
        let root = self.sites[site].root.clone();
        let open =
            |world| Engine::open(&root, &GitEnv::default(), Some(by.clone()), Box::new(world));
        let added: Vec<Result<EntryId, String>> = std::thread::scope(|scope| {
            let running: Vec<_> = jobs
                .into_iter()
                .map(|(proposal, world)| {
                    let (open, by) = (&open, &by);
                    scope.spawn(move || {
                        let mut engine = open(world).map_err(|e| chain(&e))?;
                        engine
                            .add(proposal, by)
                            .map(|entry| entry.id)
                            .map_err(|e| chain(&e))
                    })
                })
                .collect();
            running
                .into_iter()
                .map(|job| job.join().expect("no panic"))
                .collect()
        });
        let world = self.world();
        let engine = open(world).map_err(|e| chain(&e))?;
        for id in added {
            let id = id.map_err(|e| format!("one of {CROWD} writers failed: {e}"))?;
            let before = self.acknowledged.len();
            self.acknowledge(site, &engine, id)?;
            if self.acknowledged.len() == before {
                return Err(format!(
                    "{id} was added by one of {CROWD} writers and is not there"
                ));
            }
        }
        Ok(())
    }

    /// Blanks some event with its text.
    pub(crate) fn blank(&mut self, site: usize) -> Outcome {
        let by = person(&self.sites[site]);
        let mut dice = Dice::new(self.dice.roll());
        let mut target = None;
        self.ken(site, &by, "blank", |engine| {
            let entries = engine.list(&Filter {
                shelf: Shelf::All,
                ..Filter::default()
            })?;
            let Some(entry) = dice.pick(&entries) else {
                return Ok(Vec::new());
            };
            let Some(event) = dice.pick(&engine.history(entry.id)?) else {
                return Ok(Vec::new());
            };
            let id = event.event.id;
            // Ordered once the event is written, even if git is not ready for the rest.
            let word = telling_word(&event);
            let blanked = engine.blank(&id.to_string(), BlankReason::Secret, &by);
            match blanked {
                Err(Error::Refused(refusal)) => return Err(refusal.into()),
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

    pub(crate) fn pack(&mut self, site: usize) -> Outcome {
        let by = person(&self.sites[site]);
        self.tally.count("packs");
        self.ken(site, &by, "ledger pack", |engine| {
            engine.pack().map(|_| Vec::new())
        })
    }

    pub(crate) fn sync(&mut self, site: usize) -> Outcome {
        let by = person(&self.sites[site]);
        self.ken(site, &by, "sync", |engine| {
            engine.sync(BulkDeletion::Ask).map(|_| Vec::new())
        })
    }

    pub(crate) fn render(&mut self, site: usize) -> Outcome {
        let by = person(&self.sites[site]);
        self.ken(site, &by, "render", |engine| {
            engine.render().map(|_| Vec::new())
        })
    }

    /// Words an entry's file anew, as a person with an editor does.
    pub(crate) fn reword(&mut self, site: usize) -> Outcome {
        let (text, _) = self.fresh_text();
        self.edit(site, "reword", |old| {
            let body = old.find("\n---\n\n")? + "\n---\n\n".len();
            let end = body + old[body..].find("\n\nEvidence:")?;
            Some(format!("{}{text}{}", &old[..body], &old[end..]))
        })
    }

    /// Sets `lastConfirmed` in an entry's file to today.
    pub(crate) fn confirm_by_hand(&mut self, site: usize) -> Outcome {
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
    pub(crate) fn delete_by_hand(&mut self, site: usize) -> Outcome {
        let files = self.sites[site].entry_files();
        let Some(file) = self.dice.pick(&files) else {
            return Ok(());
        };
        self.note(format!("{}$ rm .ken/entries/{file}", self.sites[site].name));
        self.tally.count("hand deletions");
        fs::remove_file(self.sites[site].ken("entries").join(file)).map_err(|e| e.to_string())
    }

    fn edit(
        &mut self,
        site: usize,
        what: &str,
        change: impl FnOnce(&str) -> Option<String>,
    ) -> Outcome {
        let files = self.sites[site].entry_files();
        let Some(file) = popular(&mut self.dice, files) else {
            return Ok(());
        };
        let path = self.sites[site].ken("entries").join(&file);
        let old = fs::read_to_string(&path).map_err(|e| e.to_string())?;
        if let Some(new) = change(&old) {
            self.note(format!(
                "{}$ edit .ken/entries/{file}   # {what}",
                self.sites[site].name
            ));
            self.tally.count(&format!("hand edits: {what}"));
            fs::write(&path, new).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// A person or an agent, whoever comes first.
    fn somebody(&mut self, site: usize) -> Actor {
        if self.dice.chance(50) {
            person(&self.sites[site])
        } else {
            agent(&self.sites[site])
        }
    }

    fn proposal(&mut self, by: &Actor) -> Proposal {
        let (text, word) = self.fresh_text();
        let kinds = [
            (Kind::Learning, 6),
            (Kind::Pattern, 2),
            (Kind::CommitNorm, 2),
            (Kind::Friction, 2),
        ];
        Proposal::new(
            self.dice.weighted(&kinds),
            Content::new(statement(&text)),
            vec![evidence(&word).cite(by, self.now())],
            Origin::Agent,
        )
    }
}

/// Picks one, mostly of the first few: people meet where everybody looks.
fn popular<T: Clone>(dice: &mut Dice, mut items: Vec<T>) -> Option<T> {
    if dice.chance(60) {
        items.truncate(3);
    }
    dice.pick(&items)
}

fn apply(
    engine: &mut Engine,
    verb: Verb,
    entry: &Entry,
    other: EntryId,
    (text, word): (&str, &str),
    by: &Actor,
) -> Result<Entry, Error> {
    let id = entry.id;
    match verb {
        Verb::Revise => {
            let statement = Some(statement(text));
            engine.revise(
                id,
                Changes {
                    statement,
                    ..Changes::default()
                },
                None,
                by,
            )
        }
        Verb::Cite => engine.cite(id, evidence(word), by),
        Verb::Confirm => engine.confirm(id, None, by),
        Verb::Retract => engine.retract(id, RetractReason::Obsolete, None, by),
        Verb::Restore => engine.restore(id, None, by),
        Verb::Archive => engine.archive(id, by),
        Verb::Link => engine.link(id, other, Relation::RelatesTo, by),
        Verb::Mark => engine.set_overlay(id, Overlay::Pin, Switch::On, None, by),
        Verb::Status => engine.set_status(id, Status::Active, None, by),
    }
}

/// Returns the word that only this event has, if its data has one.
fn telling_word(recorded: &Recorded) -> Option<String> {
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

fn evidence(word: &str) -> Evidence {
    format!("doc:docs/{word}.md").parse().expect("evidence")
}
