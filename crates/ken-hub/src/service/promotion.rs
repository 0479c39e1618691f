//! What waits for an approval: what only an approval lets out, what a clone promoted to everybody, and what nobody asked
//! for that has shown itself fit to reach the whole organisation.
//!
//! Both yes and no are events. Agents put forward by what they find and what comes of it; they never approve.

use std::collections::BTreeSet;

use ken_core::actor::Actor;
use ken_core::content::Scope;
use ken_core::decide::{self, Draft, Refusal};
use ken_core::entry::Entry;
use ken_core::event::{Channel, Event, RetractReason};
use ken_core::facts::EntryFacts;
use ken_core::id::EntryId;
use ken_core::promotion::{
    Artifact, authors, has_held_wording, is_approved, is_approved_only, is_approved_outright,
    is_kept, unfit,
};
use ken_core::store::{Filter, Shelf};
use ken_core::text::Note;
use ken_core::workspace::Workspace;

use super::{Desk, Failure};
use crate::identity::Role;
use crate::identity::audit::Act;
use crate::store::After;

/// Entries one page of the store has while all are read.
const PAGE: u32 = 1_000;

/// Entries of either sort that are told.
const TOLD_MAX: usize = 200;

/// An entry fit to reach the whole organisation.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub entry: Entry,
    pub facts: EntryFacts,
    /// The digest of what is approved.
    pub artifact: String,
}

/// An entry that waits for an approval.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub entry: Entry,
    /// Who worded it: they may not approve it.
    pub authors: BTreeSet<Actor>,
    /// The digest of what is approved.
    pub artifact: String,
}

/// What waits for an approval.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// Waiting before anybody is shown it.
    pub waiting: Vec<Waiting>,
    /// Promoted to everybody in a clone; the organisation is not shown it before somebody who did not word it approved
    /// what it says now.
    pub promoted: Vec<Waiting>,
    /// Fit to reach the whole organisation, the surest first.
    pub fit: Vec<Candidate>,
}

impl Queue {
    fn is_full(&self) -> bool {
        [self.waiting.len(), self.promoted.len(), self.fit.len()]
            .iter()
            .all(|it| TOLD_MAX <= *it)
    }
}

/// What somebody brings to approve an entry.
#[derive(Clone, Debug, Default)]
pub struct Approving {
    /// The digest of the artifact they read: an agent may reword an entry between reading and approving.
    pub artifact: String,
    /// An SSH signature over it, for repositories that ask for one.
    pub signature: Option<String>,
    /// Whether they take upon themselves what is a matter of judgement.
    pub despite: bool,
}

/// Lists what waits for a person.
pub async fn queue(desk: &mut Desk) -> Result<Queue, Failure> {
    desk.needs(Role::Curator, "seeing what waits")?;
    let workspace = desk.workspace().await?;
    let filter = Filter {
        shelf: Shelf::All,
        ..Filter::default()
    };
    let (mut queue, mut after) = (Queue::default(), None);
    loop {
        let page = desk
            .tenant
            .list(&filter, after.as_ref(), Some(PAGE))
            .await?;
        let is_last = page.len() < PAGE as usize;
        after = page.last().map(After::of);
        for entry in page {
            desk.queue_up(&mut queue, entry, &workspace).await?;
        }
        if is_last || queue.is_full() {
            break;
        }
    }
    queue.fit.sort_by(|a, b| {
        let mean = |it: &Candidate| it.facts.posterior.mean();
        mean(b)
            .total_cmp(&mean(a))
            .then(a.entry.id.cmp(&b.entry.id))
    });
    Ok(queue)
}

/// Lets an entry reach the whole organisation, or out to agents where it waits for an approval.
pub async fn approve(desk: &mut Desk, wanted: &str, it: Approving) -> Result<Entry, Failure> {
    desk.needs_person("approving")?;
    desk.lock().await?;
    let entry = desk.find(wanted).await?;
    let history = desk.events_of(entry.id).await?;
    let by = desk.caller.actor.clone();
    // Whether it may be approved at all comes first: what was read is beside the point otherwise.
    let widened = match is_waiting(&entry, &history) {
        true => None,
        false => desk.widening(&entry, &history, it.despite, &by).await?,
    };
    check_artifact(&entry, &it.artifact)?;
    let authors = authors(entry.id, history.iter());
    let signature = it.signature.map(|text| text.trim().to_owned());
    let approval = decide::approve(&entry, &authors, &by, signature)?;
    // How far it reaches, and that somebody who did not word it approved what it says: the organisation's tier asks for
    // both.
    let drafts = [Some(approval), widened].into_iter().flatten().collect();
    desk.settle(entry.id, drafts, &by, Act::EntryApproved).await
}

/// Says that an entry stays where it is; what waits for an approval is taken back.
pub async fn reject(desk: &mut Desk, wanted: &str, reason: Option<Note>) -> Result<Entry, Failure> {
    desk.needs_person("rejecting")?;
    desk.lock().await?;
    let entry = desk.find(wanted).await?;
    let history = desk.events_of(entry.id).await?;
    let by = desk.caller.actor.clone();
    let draft = match is_waiting(&entry, &history) {
        true => decide::retract(&entry, RetractReason::Unwanted, Channel::Command, reason)?,
        false if is_kept(&entry, &history) => return Err(Refusal::NothingChanges.into()),
        false => decide::keep(&entry, &by)?,
    };
    desk.settle(entry.id, vec![draft], &by, Act::EntryRejected)
        .await
}

impl Desk {
    /// Puts an entry where it waits, if it does.
    async fn queue_up(
        &mut self,
        queue: &mut Queue,
        entry: Entry,
        workspace: &Workspace,
    ) -> Result<(), Failure> {
        let may_wait = entry.retracted.is_none() && is_approved_only(&entry);
        if may_wait && !entry.quarantine.is_empty() {
            let history = self.events_of(entry.id).await?;
            if is_waiting(&entry, &history) && queue.waiting.len() < TOLD_MAX {
                queue.waiting.extend(Waiting::new(entry, &history));
            }
            return Ok(());
        }
        if entry.scope.value == Scope::Global {
            if may_have_lapsed(&entry, workspace) && queue.promoted.len() < TOLD_MAX {
                let history = self.events_of(entry.id).await?;
                if reaches_unapproved(&entry, &history) && !is_kept(&entry, &history) {
                    queue.promoted.extend(Waiting::new(entry, &history));
                }
            }
            return Ok(());
        }
        let facts = EntryFacts::of(&entry, None, self.now);
        if !may_be_fit(&entry, &facts, workspace) || TOLD_MAX <= queue.fit.len() {
            return Ok(());
        }
        let against = self.opponent(entry.id, workspace).await?;
        let history = self.events_of(entry.id).await?;
        let artifact = Artifact::of(&entry).map(|it| it.digest());
        if let (None, false, Some(artifact)) = (against, is_kept(&entry, &history), artifact) {
            queue.fit.push(Candidate {
                entry,
                facts,
                artifact,
            });
        }
        Ok(())
    }

    /// Returns the draft that lets an entry reach the whole organisation, if it may; none where it says already that it
    /// does and only the approval is missing.
    async fn widening(
        &mut self,
        entry: &Entry,
        history: &[Event],
        despite: bool,
        by: &Actor,
    ) -> Result<Option<Draft>, Failure> {
        if entry.scope.value == Scope::Thread {
            return Err(Failure::Conflict(format!(
                "{} belongs to a thread; promote it to its workspace first: `ken promote {}`",
                entry.id, entry.id
            )));
        }
        let workspace = self.workspace().await?;
        if workspace.is_revoked(entry) {
            return Err(Failure::Conflict(format!(
                "whoever made {} was revoked",
                entry.id
            )));
        }
        if entry.scope.value == Scope::Global && is_approved(entry, history.iter()) {
            return Err(Failure::Conflict(format!(
                "{} is approved for the whole organisation as it reads now; there is nothing left to approve",
                entry.id
            )));
        }
        let facts = EntryFacts::of(entry, None, self.now);
        let against = self.opponent(entry.id, &workspace).await?;
        let overridden = despite.then_some(by);
        if reaches_unapproved(entry, history) {
            decide::check_reach(entry, &facts, against, overridden)?;
            return Ok(None);
        }
        let widened = decide::widen(entry, &facts, against, Scope::Global, overridden)?;
        Ok(Some(widened))
    }

    /// Returns an entry in use that contradicts this one, where nobody has decided yet.
    async fn opponent(
        &mut self,
        id: EntryId,
        workspace: &Workspace,
    ) -> Result<Option<EntryId>, Failure> {
        let against = self.against(&[id], workspace).await?;
        let others: Vec<EntryId> = against.into_values().flatten().collect();
        let others = self.tenant.entries(&others).await?.into_iter();
        let live = others.filter(Entry::is_live).map(|it| it.id);
        Ok(live.min())
    }

    pub(super) async fn events_of(&mut self, id: EntryId) -> Result<Vec<Event>, Failure> {
        let history = self.tenant.history(id).await?;
        Ok(history.into_iter().map(|it| it.event).collect())
    }

    /// Writes down what a person decided about an entry, for whoever looks after the hub, too.
    pub(super) async fn settle(
        &mut self,
        id: EntryId,
        drafts: Vec<Draft>,
        by: &Actor,
        act: Act,
    ) -> Result<Entry, Failure> {
        let drafts = drafts.into_iter().map(|draft| (None, draft)).collect();
        self.record(drafts, by).await?;
        self.audit(act, &id.to_string()).await?;
        self.entry(id).await
    }
}

impl Waiting {
    /// Returns what waits; nothing of an entry without a wording.
    fn new(entry: Entry, history: &[Event]) -> Option<Self> {
        Some(Self {
            authors: authors(entry.id, history.iter()),
            artifact: Artifact::of(&entry)?.digest(),
            entry,
        })
    }
}

/// Returns whether only an approval lets an entry out.
pub(super) fn is_waiting(entry: &Entry, history: &[Event]) -> bool {
    is_approved_only(entry) && has_held_wording(entry, history.iter())
}

/// Returns whether an entry says that it reaches the whole organisation, and nobody approved what it reads now.
fn reaches_unapproved(entry: &Entry, history: &[Event]) -> bool {
    entry.scope.value == Scope::Global && !is_approved(entry, history.iter())
}

/// Returns whether that may be so, by what an entry says of itself.
fn may_have_lapsed(entry: &Entry, workspace: &Workspace) -> bool {
    entry.scope.value == Scope::Global
        && entry.is_live()
        && !is_approved_outright(entry)
        && !workspace.is_revoked(entry)
}

/// Returns whether nothing an entry says of itself keeps it from the whole organisation.
fn may_be_fit(entry: &Entry, facts: &EntryFacts, workspace: &Workspace) -> bool {
    entry.scope.value == Scope::Workspace
        && !workspace.is_revoked(entry)
        && unfit(entry, facts, None, Scope::Global).is_none()
}

/// Refuses the approval of something else than what was read.
fn check_artifact(entry: &Entry, read: &str) -> Result<(), Failure> {
    let artifact = Artifact::of(entry).ok_or(Refusal::NoContent(entry.id))?;
    match read == artifact.digest() {
        true => Ok(()),
        false => Err(Failure::Conflict(format!(
            "`artifact` is not the digest of what {id} says now; read it again and send that digest (GET /v1/workspaces/{{workspace}}/entries/{id} has both)",
            id = entry.id
        ))),
    }
}
