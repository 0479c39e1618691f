//! What waits for an approval, and granting it: by a person who did not write it, signed where the repository says who
//! may sign.

use std::collections::BTreeSet;

use ken_anchor::Tree;
use ken_core::actor::Actor;
use ken_core::decide::{self, Refusal};
use ken_core::entry::{Approval, Entry};
use ken_core::event::{Event, Recorded};
use ken_core::fold::entry_at;
use ken_core::gates::BACKFLOW_GATE;
use ken_core::id::{EntryId, EventId};
use ken_core::promotion::{Artifact, authors, has_held_wording, is_approved_only};
use ken_core::store::{Filter, Shelf, Store as _};
use ken_index::Index;
use ken_ledger::layout::KEN_DIR;
use ken_ledger::{Dir as _, DiskError};

use super::signers::{NAMESPACE, SIGNERS_FILE, SignatureError, Signers};
use crate::engine::Engine;
use crate::error::Error;
use crate::files::{put, read_text};
use crate::notice::Notice;
use crate::verify::{Finding, Level};

/// Where artifacts lie, below `.ken/`; they can be made again from the ledger.
pub const PROMOTIONS_DIR: &str = ".local/promotions";

/// An entry that waits for an approval.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub entry: Entry,
    /// Who worded it: they may not approve it.
    pub authors: BTreeSet<Actor>,
    /// The digest of what is approved.
    pub artifact: String,
}

/// What somebody brings to approve an entry.
#[derive(Clone, Debug, Default)]
pub struct Approving {
    /// The artifact they read, where they have a copy of it.
    pub artifact: Option<Vec<u8>>,
    /// An SSH signature over it.
    pub signature: Option<String>,
}

/// What an approval is worth today.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No signature is asked for.
    Unsigned,
    /// The signature is good.
    Signed,
    /// A signature is asked for, and this one does not do.
    Doubtful(SignatureError),
}

impl Engine {
    /// Returns what waits for an approval.
    pub fn waiting(&self) -> Result<Vec<Waiting>, Error> {
        let all = self.index.list(&Filter {
            shelf: Shelf::All,
            ..Filter::default()
        })?;
        let waits = |entry: &Entry| entry.retracted.is_none() && is_approved_only(entry);
        let mut waiting = Vec::new();
        for entry in all.into_iter().filter(waits) {
            if self.has_held_wording(&entry)?
                && let Some(artifact) = Artifact::of(&entry)
            {
                waiting.push(Waiting {
                    authors: self.authors(entry.id)?,
                    artifact: artifact.digest(),
                    entry,
                });
            }
        }
        Ok(waiting)
    }

    /// Returns what a person reads and signs before approving an entry.
    pub fn artifact_of(&self, entry: &Entry) -> Result<Vec<u8>, Error> {
        let artifact = Artifact::of(entry).ok_or(Refusal::NoContent(entry.id))?;
        Ok(artifact.bytes())
    }

    /// Writes the artifact of an entry and returns where it lies, below the root.
    pub fn write_artifact(&self, entry: &Entry) -> Result<String, Error> {
        let artifact = Artifact::of(entry).ok_or(Refusal::NoContent(entry.id))?;
        let dir = &*self.ken;
        let path = artifact_path(entry.id);
        let made = dir.create_dirs(PROMOTIONS_DIR);
        made.map_err(DiskError::on("create", PROMOTIONS_DIR))?;
        put(dir, &path, &artifact.bytes()).map_err(DiskError::on("write", &path))?;
        Ok(format!("{KEN_DIR}/{path}"))
    }

    /// Approves an entry as it is worded now.
    pub fn approve(&mut self, id: EntryId, it: Approving, by: &Actor) -> Result<Entry, Error> {
        self.absorb_before_writing()?;
        let entry = self.entry(id)?;
        let authors = self.authors(id)?;
        let signature = it.signature.map(|text| text.trim().to_owned());
        let draft = decide::approve(&entry, &authors, by, signature.clone())?;
        let signers = Signers::in_force(&self.place)?;
        if !self.has_held_wording(&entry)? && !self.is_doubtful(&entry, signers.as_ref())? {
            return Err(Refusal::NotWaiting(id).into());
        }
        let artifact = Artifact::of(&entry).ok_or(Refusal::NoContent(id))?;
        self.check_copy(&artifact, id, it.artifact)?;
        match signers {
            Some(signers) => {
                let signature = signature.ok_or(SignatureError::Missing)?;
                signers.check(&signature, &artifact.bytes(), by.name(), self.now())?;
            }
            None => self.note_signers_not_in_force(),
        }
        self.record(vec![draft], by)?;
        self.render_due()?;
        self.entry(id)
    }

    /// Refuses a copy of the artifact that says something else than the ledger.
    fn check_copy(
        &self,
        artifact: &Artifact,
        id: EntryId,
        given: Option<Vec<u8>>,
    ) -> Result<(), Error> {
        let read = match given {
            Some(bytes) => Some(bytes),
            None => read_text(&*self.ken, &artifact_path(id))?.map(String::into_bytes),
        };
        match read {
            Some(bytes) if bytes != artifact.bytes() => Err(Error::OtherArtifact(id)),
            Some(_) | None => Ok(()),
        }
    }

    /// Tells that a list of signers lies here that nobody committed.
    fn note_signers_not_in_force(&mut self) {
        let path = self.place.root.join(KEN_DIR).join(SIGNERS_FILE);
        if self.place.git.is_some() && path.exists() {
            self.notices.push(Notice::SignersNotCommitted);
        }
    }

    /// Returns whether approvals must be signed here.
    pub fn wants_signatures(&self) -> Result<bool, Error> {
        Ok(Signers::in_force(&self.place)?.is_some())
    }

    /// Returns the command that signs the artifact at `path`.
    pub fn signing_command(path: &str) -> String {
        format!("ssh-keygen -Y sign -n {NAMESPACE} -f ~/.ssh/id_ed25519 {path}")
    }

    /// Returns what each approval of an entry is worth now.
    pub fn standings(&self, entry: &Entry) -> Result<Vec<(Approval, Standing)>, Error> {
        if entry.approvals.is_empty() {
            return Ok(Vec::new());
        }
        let signers = Signers::in_force(&self.place)?;
        standings(&self.index, entry, signers.as_ref())
    }

    /// Returns the approvals here that do not do for the signers in force.
    pub(crate) fn approval_findings(&self, entries: &[Entry]) -> Result<Vec<Finding>, Error> {
        let approved: Vec<&Entry> = entries
            .iter()
            .filter(|it| !it.approvals.is_empty())
            .collect();
        if approved.is_empty() {
            return Ok(Vec::new());
        }
        let signers = Signers::in_force(&self.place)?;
        doubtful(&self.index, &approved, signers.as_ref())
    }

    /// Returns whether an approval of an entry does not do, such as one from before signatures were asked for.
    fn is_doubtful(&self, entry: &Entry, signers: Option<&Signers>) -> Result<bool, Error> {
        Ok(!doubtful(&self.index, &[entry], signers)?.is_empty())
    }

    /// Returns who worded an entry.
    fn authors(&self, id: EntryId) -> Result<BTreeSet<Actor>, Error> {
        let history = events_of(&self.index, id)?;
        Ok(authors(id, history.iter()))
    }

    /// Returns whether words of an entry wait; somebody may also have put it on hold as a whole.
    fn has_held_wording(&self, entry: &Entry) -> Result<bool, Error> {
        if entry.quarantine.is_empty() {
            return Ok(false);
        }
        let history = events_of(&self.index, entry.id)?;
        Ok(has_held_wording(entry, history.iter()))
    }

    /// Refuses to let an entry out that only an approval lets out.
    pub(crate) fn may_be_lifted(&self, entry: &Entry) -> Result<(), Error> {
        let is_due = is_approved_only(entry) && self.has_held_wording(entry)?;
        if is_due && (entry.is_promoted() || self.wants_signatures()?) {
            return Err(Refusal::ApprovalNeeded(entry.id).into());
        }
        Ok(())
    }
}

/// Returns the approvals a change brings that do not do for who may sign where it starts from.
pub(crate) fn brought_approvals(
    index: &Index,
    ids: &BTreeSet<EntryId>,
    base: &dyn Tree,
) -> Result<Vec<Finding>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut entries = Vec::new();
    for id in ids {
        entries.extend(index.entry(*id)?);
    }
    let signers = Signers::of(base)?;
    doubtful(index, &entries.iter().collect::<Vec<_>>(), signers.as_ref())
}

fn doubtful(
    index: &Index,
    entries: &[&Entry],
    signers: Option<&Signers>,
) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for entry in entries {
        let all = standings(index, entry, signers)?;
        // One good approval of a wording is enough, whatever else was written.
        let is_good = |covers: &[EventId]| {
            let mut same = all.iter().filter(|(it, _)| it.covers == covers);
            same.any(|(_, standing)| !matches!(standing, Standing::Doubtful(_)))
        };
        for (approval, standing) in all.iter().filter(|(it, _)| !is_good(&it.covers)) {
            if let Standing::Doubtful(why) = standing {
                findings.push(Finding {
                    gate: BACKFLOW_GATE,
                    level: Level::Error,
                    message: format!("the approval by {} does not do: {why}", approval.by),
                    at: entry.id.to_string(),
                    line: None,
                });
            }
        }
    }
    Ok(findings)
}

/// Returns what each approval of an entry is worth to `signers`.
fn standings(
    index: &Index,
    entry: &Entry,
    signers: Option<&Signers>,
) -> Result<Vec<(Approval, Standing)>, Error> {
    let history = events_of(index, entry.id)?;
    let standing = |approval: &Approval| {
        signers.map_or(Standing::Unsigned, |signers| {
            match signed(approval, entry.id, &history, signers) {
                Ok(()) => Standing::Signed,
                Err(error) => Standing::Doubtful(error),
            }
        })
    };
    let all = entry.approvals.iter();
    Ok(all.map(|it| (it.clone(), standing(it))).collect())
}

fn events_of(index: &Index, id: EntryId) -> Result<Vec<Event>, Error> {
    let history = index.history(id)?.into_iter();
    Ok(history.map(|Recorded { event, .. }| event).collect())
}

/// Checks an approval's signature over the artifact as it read then.
fn signed(
    approval: &Approval,
    id: EntryId,
    history: &[Event],
    signers: &Signers,
) -> Result<(), SignatureError> {
    let signature = approval.signature.as_ref().ok_or(SignatureError::Missing)?;
    let then = entry_at(id, &approval.covers, history);
    let artifact = then.as_ref().and_then(Artifact::of);
    let artifact = artifact.ok_or(SignatureError::Altered)?;
    if artifact.digest() != approval.artifact.as_str() {
        return Err(SignatureError::Altered);
    }
    let at = history.iter().find(|it| it.id == approval.event);
    let at = at.map(|it| it.at.wall).unwrap_or_default();
    signers.check(signature, &artifact.bytes(), approval.by.name(), at)
}

fn artifact_path(id: EntryId) -> String {
    format!("{PROMOTIONS_DIR}/{id}.json")
}
