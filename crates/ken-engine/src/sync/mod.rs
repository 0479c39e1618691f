//! Hand edits to events: what people change in entry files becomes part of the ledger.
//!
//! An edit becomes one event whose id follows from entry, content and base, dated and signed by
//! the commit that brought it, so that every clone records the same one. Where it is not certain
//! that a person meant it (a merge under way, conflict markers, a sparse checkout, many files
//! gone at once) nothing is absorbed.

mod derive;
mod scan;

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use ken_core::actor::Actor;
use ken_core::decide::{self, Draft, Refusal};
use ken_core::entry::Entry;
use ken_core::event::{Channel, Recorded, Restored, RetractReason};
use ken_core::hlc::Hlc;
use ken_core::id::EventId;
use ken_core::store::Store as _;
use ken_core::time::DAY_MS;
use ken_guard::is_about_norm;
use ken_ledger::disk::{LockGuard, Wait};
use ken_ledger::{Dir as _, DiskError, RealDir};
use tracing::field::Empty;

use crate::engine::Engine;
use crate::error::Error;
use crate::files::{ENTRIES_DIR, Machine, Seen, put};
use crate::git::{self, Author, Authorship};
use crate::notice::{Edit, Notice};
use crate::view::document::{self, MachineLines, Reading};

use derive::{Derived, derive};
use scan::{Edited, Scan};

/// Files that may be gone at once before Ken asks.
pub const DELETIONS_MAX: usize = 3;

/// Held while edits become events.
const LOCK_FILE: &str = ".local/absorb.lock";

/// Whether deleting many files at once was meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkDeletion {
    Ask,
    Meant,
}

/// What came of one possible edit.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Absorbed {
    /// There was none, or this branch has its event already.
    Nothing,
    By(Actor),
    /// It rests on events that are not here yet.
    Waits,
}

/// What a sync did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    pub absorbed: usize,
    pub rendered: usize,
}

impl Engine {
    /// Absorbs hand edits, blanks copies that came back, and renders what is stale.
    pub fn sync(&mut self, bulk: BulkDeletion) -> Result<Synced, Error> {
        let span = tracing::info_span!("sync", absorbed = Empty, rendered = Empty);
        let _in = span.enter();
        self.scrub_returned()?;
        let before = self.notices.len();
        let gone = self.absorb(bulk)?;
        if !gone.is_empty() && bulk == BulkDeletion::Ask {
            return Err(Error::BulkLoss {
                count: gone.len(),
                files: gone,
            });
        }
        let absorbed = self.notices[before..]
            .iter()
            .filter(|notice| matches!(notice, Notice::Absorbed { .. }))
            .count();
        let rendered = self.render_due()? + self.renew_quoting()?;
        span.record("absorbed", absorbed);
        span.record("rendered", rendered);
        Ok(Synced { absorbed, rendered })
    }

    /// What every writing command does first, once a process.
    pub(crate) fn absorb_before_writing(&mut self) -> Result<(), Error> {
        if !std::mem::replace(&mut self.scrubbed, true) {
            self.scrub_returned()?;
        }
        self.absorb_once()
    }

    /// Absorbs hand edits if this process has not done so yet.
    pub(crate) fn absorb_once(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.absorbed, true) {
            return Ok(());
        }
        let gone = self.absorb(BulkDeletion::Ask)?;
        if !gone.is_empty() {
            self.notices.push(Notice::ManyFilesGone { files: gone });
        }
        Ok(())
    }

    /// Absorbs edits; returns files that are gone in too great a number to be sure.
    fn absorb(&mut self, bulk: BulkDeletion) -> Result<Vec<String>, Error> {
        if let Some(why) = git::busy(&self.place)? {
            self.notices.push(Notice::Waiting { why });
            return Ok(Vec::new());
        }
        let dir = Arc::clone(&self.ken);
        let mut scan = self.scan(&dir)?;
        let _alone;
        if scan.found_work() {
            _alone = alone(&dir).map_err(DiskError::on("lock", LOCK_FILE))?;
            // Whoever had the lock before may have absorbed the same edits.
            self.refresh()?;
            scan = self.scan(&dir)?;
        }
        if let Some(file) = scan.conflicted {
            let why = format!("{file} holds conflict markers");
            self.notices.push(Notice::Waiting { why });
            return Ok(Vec::new());
        }
        let mut seen = scan.seen;
        let dirty = if scan.edited.is_empty() {
            BTreeSet::new()
        } else {
            self.dirty()?
        };
        for (file, why) in scan.unreadable {
            if !self.remove_if_unworded(&dir, &file, &mut seen)? {
                self.notices.push(Notice::LeftAlone { file, why });
            }
        }
        for edited in scan.edited {
            if self.remove_if_unworded(&dir, &edited.file, &mut seen)? {
                // Redaction wins, also over an edit of what was redacted.
                if edited.is_edit() {
                    let (file, why) = (edited.file, "its entry was blanked".to_owned());
                    self.notices.push(Notice::LeftAlone { file, why });
                }
                continue;
            }
            let author = if edited.is_edit() {
                self.author(&edited.file, &dirty)?
            } else {
                Author::Uncommitted
            };
            let author = match author {
                Author::Uncommitted => None,
                Author::Of(author) => Some(author),
                Author::BeyondShallow => {
                    let why = format!(
                        "this clone is too shallow to tell who edited {}",
                        edited.file
                    );
                    self.notices.push(Notice::Waiting { why });
                    seen.forget(&edited.file);
                    continue;
                }
            };
            self.absorb_edit(&dir, &edited, author.as_ref(), &mut seen)?;
        }
        let unsure = self.absorb_deletions(scan.missing, bulk, &mut seen)?;
        self.views.seen = Some(seen);
        Ok(unsure)
    }

    fn dirty(&self) -> Result<BTreeSet<String>, Error> {
        match self.place.git {
            Some(_) => Ok(git::dirty(&self.place)?),
            None => Ok(BTreeSet::new()),
        }
    }

    /// Returns who made a file what it is.
    fn author(&self, file: &str, dirty: &BTreeSet<String>) -> Result<Author, Error> {
        if self.place.git.is_none() || dirty.contains(file) {
            return Ok(Author::Uncommitted);
        }
        Ok(git::author_of(&self.place, file)?)
    }

    fn absorb_edit(
        &mut self,
        dir: &RealDir,
        edited: &Edited,
        author: Option<&Authorship>,
        seen: &mut Seen,
    ) -> Result<(), Error> {
        let Some(entry) = self.index.entry(edited.reading.id)? else {
            // The file came without its events: they may still arrive.
            seen.forget(&edited.file);
            return Ok(());
        };
        let mut left_alone = false;
        for (edit, result) in [
            (
                Edit::Reworded,
                self.absorb_wording(&entry, &edited.reading, author),
            ),
            (
                Edit::Confirmed,
                self.absorb_confirmation(&entry, &edited.reading, author),
            ),
        ] {
            match result {
                Ok(Absorbed::Nothing) => {}
                Ok(Absorbed::Waits) => left_alone = true,
                Ok(Absorbed::By(by)) => self.notices.push(Notice::Absorbed {
                    entry: entry.id,
                    edit,
                    by,
                }),
                Err(
                    error @ (Error::Refused(_)
                    | Error::Guarded(_)
                    | Error::TooLarge(_)
                    | Error::Usage(_)),
                ) => {
                    left_alone = true;
                    let (file, why) = (edited.file.clone(), error.to_string());
                    self.notices.push(Notice::LeftAlone { file, why });
                }
                Err(error) => return Err(error),
            }
        }
        if left_alone {
            seen.forget(&edited.file);
            return Ok(());
        }
        self.render_absorbed(dir, edited, seen)
    }

    /// Renders a file whose edits are events now.
    fn render_absorbed(
        &self,
        dir: &RealDir,
        edited: &Edited,
        seen: &mut Seen,
    ) -> Result<(), Error> {
        let entry = self.entry(edited.reading.id)?;
        if !edited.is_edit() {
            self.render_entry(dir, &entry, Machine::Keep, seen)?;
            return Ok(());
        }
        let path = format!("{ENTRIES_DIR}/{}", edited.file);
        let kept = edited.reading.machine.clone();
        let machine = if edited.reading.machine_is_rendered {
            kept
        } else {
            MachineLines {
                sources: kept.sources,
                ..MachineLines::of(&entry)
            }
        };
        if let Some(text) = document::render(&entry, Some(&machine)) {
            put(dir, &path, text.as_bytes()).map_err(DiskError::on("write", &path))?;
        }
        if let Some(stat) = dir.stat(&path).map_err(DiskError::on("look at", &path))? {
            seen.note(&edited.file, &stat);
        }
        Ok(())
    }

    /// Records a rewording.
    fn absorb_wording(
        &mut self,
        entry: &Entry,
        reading: &Reading,
        author: Option<&Authorship>,
    ) -> Result<Absorbed, Error> {
        let digest = document::digest(&reading.content);
        if digest == reading.digest {
            return Ok(Absorbed::Nothing);
        }
        if entry.retracted.is_some() {
            return Err(Refusal::AlreadyRetracted(entry.id).into());
        }
        let Some(base) = self.base(entry, &reading.revision)? else {
            return Ok(Absorbed::Waits);
        };
        // Whoever resolved a merge saw both wordings and chose between them.
        let merged = author.is_some_and(|author| author.merge);
        let old = if merged {
            entry.content.clone()
        } else {
            base.content
        };
        let Some(old) = old else {
            return Ok(Absorbed::Waits);
        };
        let mut new = reading.content.clone();
        keep_fingerprints(&old.evidence, &mut new.evidence);
        let changes = old.changes_to(&new);
        if changes.is_empty() {
            return Ok(Absorbed::Nothing);
        }
        let mut replaces = reading.revision.clone();
        if merged {
            let others = entry
                .revision
                .iter()
                .filter(|id| !reading.revision.contains(id));
            replaces.extend(others);
        }
        let derived = derive(entry, "revised", &digest, &replaces);
        let draft = decide::revise(entry, changes, Some(replaces), Channel::HandEdit, None)?;
        self.record_derived(derived, draft, author)
    }

    /// Records that a person set `lastConfirmed`.
    fn absorb_confirmation(
        &mut self,
        entry: &Entry,
        reading: &Reading,
        author: Option<&Authorship>,
    ) -> Result<Absorbed, Error> {
        let by_hand = reading
            .last_confirmed
            .filter(|_| !reading.machine_is_rendered);
        let Some(on) = by_hand.filter(|on| entry.confirmation.last < Some(*on)) else {
            return Ok(Absorbed::Nothing);
        };
        // A person's "today" may be a day ahead of UTC.
        let latest = author
            .map_or_else(|| self.now(), |author| author.at)
            .plus_millis(DAY_MS);
        if latest.date() < on {
            return Err(Error::Usage(format!(
                "lastConfirmed {on} lies in the future"
            )));
        }
        let derived = derive(entry, "confirmed", &on.to_string(), &[]);
        let draft = decide::confirm(entry, &self.editor(author), on)?;
        self.record_derived(derived, draft, author)
    }

    /// Retracts entries whose files a person deleted; returns files nobody can be sure about.
    fn absorb_deletions(
        &mut self,
        missing: Vec<(String, Entry)>,
        bulk: BulkDeletion,
        seen: &mut Seen,
    ) -> Result<Vec<String>, Error> {
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        let (meant, unsure) = self.judge_deletions(missing, bulk)?;
        for (file, entry, author) in meant {
            let history = self.history(entry.id)?;
            // Deleting again what was restored is another deletion.
            let times = history
                .iter()
                .filter(|it| it.event.get::<Restored>().is_some())
                .count();
            let derived = derive(&entry, "retracted", &format!("deleted {times}"), &[]);
            let draft = decide::retract(&entry, RetractReason::Unwanted, Channel::HandEdit, None)?;
            if let Absorbed::By(by) = self.record_derived(derived, draft, author.as_ref())? {
                self.notices.push(Notice::Absorbed {
                    entry: entry.id,
                    edit: Edit::Deleted,
                    by,
                });
            }
            seen.forget(&file);
        }
        Ok(unsure)
    }

    /// Sorts missing files into deletions somebody meant and losses nobody can be sure about.
    #[expect(
        clippy::type_complexity,
        reason = "two lists that exist for one caller"
    )]
    fn judge_deletions(
        &self,
        missing: Vec<(String, Entry)>,
        bulk: BulkDeletion,
    ) -> Result<(Vec<(String, Entry, Option<Authorship>)>, Vec<String>), Error> {
        let mut here = Vec::new();
        let mut meant = Vec::new();
        let mut unsure = Vec::new();
        if self.place.git.is_some() {
            let deleted = git::deleted_here(&self.place)?;
            let in_head = git::in_head(&self.place)?;
            let commits = git::deletions(&self.place)?;
            let latest = git::latest_deletions(&commits);
            for (file, entry) in missing {
                if deleted.contains(&file) {
                    here.push((file, entry, None));
                } else if let Some(commit) = latest
                    .get(file.as_str())
                    .filter(|_| !in_head.contains(&file))
                {
                    if commit.files.len() <= DELETIONS_MAX || bulk == BulkDeletion::Meant {
                        meant.push((file, entry, Some(commit.author.clone())));
                    } else {
                        unsure.push(file);
                    }
                }
            }
        } else {
            here.extend(missing.into_iter().map(|(file, entry)| (file, entry, None)));
        }
        if here.len() <= DELETIONS_MAX || bulk == BulkDeletion::Meant {
            meant.extend(here);
        } else {
            unsure.extend(here.into_iter().map(|(file, _, _)| file));
        }
        Ok((meant, unsure))
    }

    /// Returns the entry as it was at `revision`, `None` if this branch does not know it.
    fn base(&self, entry: &Entry, revision: &[EventId]) -> Result<Option<Entry>, Error> {
        let history = self.history(entry.id)?;
        let known = |id: &EventId| history.iter().any(|recorded| recorded.event.id == *id);
        if revision.is_empty() || !revision.iter().all(known) {
            return Ok(None);
        }
        let events: Vec<_> = history.into_iter().map(|recorded| recorded.event).collect();
        Ok(ken_core::fold::entry_at(entry.id, revision, &events))
    }

    /// Writes an event derived from an edit, unless this branch has it already.
    fn record_derived(
        &mut self,
        derived: Derived,
        draft: Draft,
        author: Option<&Authorship>,
    ) -> Result<Absorbed, Error> {
        if self.index.event(derived.id)?.is_some() {
            return Ok(Absorbed::Nothing);
        }
        if author.is_none() && is_about_norm(&draft) && !self.actor().is_human() {
            // Nobody knows whether the agent at work edited the file itself: a person syncs, or commits it.
            return Ok(Absorbed::Waits);
        }
        let by = self.editor(author);
        let Some(author) = author else {
            self.record_as(vec![(Some(derived.id), draft)], &by)?;
            return Ok(Absorbed::By(by));
        };
        let (draft, admission) = self.guard.admit(draft, &by)?;
        let at = Hlc {
            wall: author.at,
            counter: 0,
            node: derived.node,
        };
        let event = derived.event(draft, at, &by, admission);
        self.append(&[Recorded::written(event)?])?;
        Ok(Absorbed::By(by))
    }

    /// Who made an edit: the commit's author, or the person at this clone.
    fn editor(&self, author: Option<&Authorship>) -> Actor {
        if let Some(author) = author {
            return author.by.clone();
        }
        let actor = self.actor();
        if actor.is_human() {
            return actor;
        }
        git::identity(&self.place).unwrap_or(actor)
    }

    fn scan(&self, dir: &RealDir) -> Result<Scan, Error> {
        scan::scan(self, dir)
    }
}

/// Keeps others from absorbing the same edits at the same time, which would give each its own time.
fn alone(dir: &RealDir) -> io::Result<Option<LockGuard>> {
    match dir.lock(LOCK_FILE, Wait::UntilFree) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            dir.create_dirs(".local")?;
            dir.lock(LOCK_FILE, Wait::UntilFree)
        }
        other => other,
    }
}

/// Anchors that were not touched keep the fingerprint the file does not show.
fn keep_fingerprints(old: &[ken_core::anchor::Anchor], new: &mut [ken_core::anchor::Anchor]) {
    for anchor in new {
        let same = old.iter().find(|known| known.at == anchor.at);
        anchor.fingerprint = same.and_then(|known| known.fingerprint.clone());
    }
}
