//! Recording: what somebody found out becomes an entry, or an observation where it is known already.
//!
//! The answer names no entry the agent had not seen: it would be told what it is about to confirm.

use std::collections::BTreeSet;

use ken_core::actor::Actor;
use ken_core::anchor::Anchor;
use ken_core::citation::Evidence;
use ken_core::content::Content;
use ken_core::decide::{self, Proposal};
use ken_core::entry::Entry;
use ken_core::event::{Origin, SourceRun};
use ken_core::id::{EntryId, EventId};
use ken_core::kind::Kind;
use ken_core::run::{Agent, Finding, Note};
use ken_core::text::{Statement, Step, Tag};
use ken_core::tombstone::Stones;

use super::{Desk, Failure, Observation, Reader, observe};
use crate::identity::Role;
use crate::world::random;

/// Tries at an entry id nobody has yet; two in a row taken is already beyond belief.
const ID_TRIES: usize = 8;

/// What somebody found out.
#[derive(Clone, Debug)]
pub struct Recording {
    pub reader: Reader,
    pub statement: Statement,
    pub kind: Kind,
    pub anchors: Vec<Anchor>,
    pub cites: Vec<Evidence>,
    pub verify: Vec<Step>,
    pub tags: BTreeSet<Tag>,
}

/// What became of it.
#[derive(Clone, Debug)]
pub enum Recorded {
    /// It is an entry.
    Entry(Box<Entry>),
    /// It is known; where the agent had seen it, as what.
    Noted(Option<EntryId>),
}

/// How a finding is known.
enum Known {
    /// This agent wrote the entry, in this run.
    Added(EntryId),
    /// This agent found it before, in this run.
    Found(Option<EntryId>),
    /// Somebody else wrote it, or this agent some other time.
    Elsewhere(Option<EntryId>),
}

/// Takes down what somebody found out.
pub async fn record(desk: &mut Desk, it: Recording) -> Result<Recorded, Failure> {
    desk.needs(Role::Agent, "recording an entry")?;
    desk.check_author(&it.reader.agent)?;
    desk.lock().await?;
    let says = desk.entries_saying(&it.statement).await?;
    match desk.known(&it.reader, &it.statement, &says).await? {
        Some(Known::Added(id)) => Ok(Recorded::Entry(Box::new(desk.entry(id).await?))),
        Some(Known::Found(seen)) => Ok(Recorded::Noted(seen)),
        Some(Known::Elsewhere(seen)) => {
            let reader = it.reader.clone();
            let finding = it.into_finding();
            observe(desk, Observation { reader, finding }).await?;
            Ok(Recorded::Noted(seen))
        }
        None => {
            let entry = desk.add_for(it).await?;
            Ok(Recorded::Entry(Box::new(entry)))
        }
    }
}

impl Recording {
    fn into_finding(self) -> Finding {
        Finding {
            statement: self.statement,
            evidence: self.anchors,
            verify: self.verify,
            severity_milli: 0,
            confidence_milli: 0,
            dismissed: false,
        }
    }
}

impl Desk {
    /// Returns how what `says` says is known, if it is; what was taken back is not.
    async fn known(
        &mut self,
        reader: &Reader,
        statement: &Statement,
        says: &BTreeSet<EntryId>,
    ) -> Result<Option<Known>, Failure> {
        let mut standing = BTreeSet::new();
        for id in says {
            if self.entry(*id).await?.retracted.is_none() {
                standing.insert(*id);
            }
        }
        if standing.is_empty() {
            return Ok(None);
        }
        let run = self.open_run_of(reader).await?;
        let agent = run.as_ref().and_then(|it| it.agents.get(&reader.agent));
        if let Some(own) = agent.and_then(|it| it.added.intersection(&standing).next()) {
            return Ok(Some(Known::Added(*own)));
        }
        let sight = run.as_ref().map(|it| it.sight(&reader.agent));
        let sight = sight.unwrap_or_default();
        let seen = standing.iter().find(|id| sight.entries.contains(id));
        let is_again = agent.is_some_and(|it| found_before(it, statement));
        Ok(Some(match is_again {
            true => Known::Found(seen.copied()),
            false => Known::Elsewhere(seen.copied()),
        }))
    }

    /// Adds an entry that `reader` wrote, as part of the run it works in.
    async fn add_for(&mut self, it: Recording) -> Result<Entry, Failure> {
        let agent = it.reader.agent.clone();
        let run = self.open_run_of(&it.reader).await?;
        let now = self.now;
        let mut content = Content::new(it.statement);
        content.evidence = it.anchors;
        content.verify = it.verify;
        content.tags = it.tags;
        let citations = it.cites.into_iter().map(|cite| cite.cite(&agent, now));
        let origin = Origin::of(&agent);
        let mut proposal = Proposal::new(it.kind, content, citations.collect(), origin);
        if let Some(run) = &run {
            proposal.thread.clone_from(&run.thread);
            let (id, outcome) = (run.id.clone(), None);
            proposal.run = Some(SourceRun { id, outcome });
        }
        let entry = self.add(proposal, &agent).await?;
        if let Some(run) = run {
            let entries = vec![entry.id];
            let note = Note::Added {
                agent: agent.clone(),
                entries,
            };
            self.note_run(&run.id, note, &agent).await?;
        }
        Ok(entry)
    }

    /// Adds an entry that was not taken back before.
    pub(super) async fn add(&mut self, proposal: Proposal, by: &Actor) -> Result<Entry, Failure> {
        self.lock().await?;
        let stones = Stones::new(self.tenant.tombstones().await?);
        stones.check(&proposal, by)?;
        let (event, entry) = self.fresh_id(proposal.kind).await?;
        let draft = decide::propose(event, proposal)?;
        self.record(vec![(Some(event), draft)], by).await?;
        self.entry(entry).await
    }

    async fn fresh_id(&mut self, kind: Kind) -> Result<(EventId, EntryId), Failure> {
        for _ in 0..ID_TRIES {
            let event = EventId::new(self.now, random());
            let entry = EntryId::created_by(event, kind);
            if self.tenant.entry(entry).await?.is_none() {
                return Ok((event, entry));
            }
        }
        Err(Failure::Conflict(
            "no free id was found for the entry; send it again".to_owned(),
        ))
    }
}

fn found_before(agent: &Agent, statement: &Statement) -> bool {
    let mut found = agent.findings.iter();
    found.any(|it| it.finding.statement == *statement)
}
