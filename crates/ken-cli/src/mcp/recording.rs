//! `ken_record` and `ken_feedback`: what an agent found, and whether what it was shown helped.
//!
//! A finding the ledger has already becomes an observation of the conversation, and the answer names no entry the
//! agent had not seen: it would be told what it is about to confirm.

use std::collections::BTreeSet;

use ken_core::anchor::{Anchor, Target};
use ken_core::entry::Entry;
use ken_core::event::{Feedback, FeedbackGiven};
use ken_core::id::EntryId;
use ken_core::run::exposure::Sight;
use ken_core::run::{Agent, Finding, Run};
use ken_core::text::{Statement, Step};
use ken_mcp::Reply;
use ken_mcp::ask::{FeedbackAsk, Format, RecordAsk};
use ken_mcp::words::{FeedbackObject, Recorded};
use serde_json::json;

use super::Desk;
use crate::commands::EntryInput;
use crate::failure::Failure;

/// What became of a finding.
enum Outcome {
    /// It is an entry.
    Recorded(Box<Entry>),
    /// It is known; where the agent had seen it, as what.
    Noted(Option<EntryId>),
}

pub(super) fn record(desk: &mut Desk<'_>, ask: &RecordAsk) -> Result<Reply, Failure> {
    let statement: Statement = ask.statement.parse().map_err(Failure::usage)?;
    let input = json!({
        "kind": ask.kind,
        "statement": ask.statement,
        "cite": ask.cites,
        "anchors": ask.anchors,
        "verify": ask.verify,
        "tags": ask.tags,
    });
    let proposal = EntryInput::parse(&input.to_string())
        .and_then(|input| input.proposal(desk.engine, &desk.reader.agent));
    // What to do about a wrong field is told by its own words; the rest is of the command line.
    let proposal = proposal.map_err(|failure| Failure {
        hint: None,
        ..failure
    })?;
    let says = desk.engine.entries_saying(&statement)?;
    let outcome = match known(desk, &statement, &says)? {
        Some(Known::Added(id)) => Outcome::Recorded(Box::new(desk.engine.entry(id)?)),
        Some(Known::Found(seen)) => Outcome::Noted(seen),
        Some(Known::Elsewhere(seen)) => {
            let finder = desk.finder()?;
            let run = desk.engine.open_run_of(&finder)?;
            let finder_in_run = run.as_ref().and_then(|it| it.agents.get(&finder.agent));
            if !finder_in_run.is_some_and(|it| found_before(it, &statement)) {
                desk.engine.observe(&finder, finding(statement, ask)?)?;
            }
            Outcome::Noted(seen)
        }
        None => {
            let added = desk.engine.add_for(desk.reader, vec![proposal])?;
            Outcome::Recorded(Box::new(desk.engine.entry(added[0])?))
        }
    };
    match ask.format {
        Format::Text => Ok(Reply::Text(outcome.told().text(way_out))),
        Format::Json => super::json(&outcome.told().object()),
    }
}

/// How a finding is known.
enum Known {
    /// This agent wrote the entry, in this conversation.
    Added(EntryId),
    /// This agent found it before, in this conversation.
    Found(Option<EntryId>),
    /// Somebody else wrote it, or this agent some other time.
    Elsewhere(Option<EntryId>),
}

/// Returns how what `says` says is known, if it is; what was taken back is not.
fn known(
    desk: &Desk<'_>,
    statement: &Statement,
    says: &BTreeSet<EntryId>,
) -> Result<Option<Known>, Failure> {
    let mut standing = BTreeSet::new();
    for id in says {
        if desk.engine.entry(*id)?.retracted.is_none() {
            standing.insert(*id);
        }
    }
    if standing.is_empty() {
        return Ok(None);
    }
    let run = desk.engine.open_run_of(desk.reader)?;
    let agent = run
        .as_ref()
        .and_then(|it| it.agents.get(&desk.reader.agent));
    if let Some(own) = agent.and_then(|it| it.added.intersection(&standing).next()) {
        return Ok(Some(Known::Added(*own)));
    }
    let sight = sight(desk, run.as_ref());
    let seen = standing.iter().find(|id| sight.entries.contains(id));
    let is_again = agent.is_some_and(|it| found_before(it, statement));
    Ok(Some(match is_again {
        true => Known::Found(seen.copied()),
        false => Known::Elsewhere(seen.copied()),
    }))
}

fn found_before(agent: &Agent, statement: &Statement) -> bool {
    let mut found = agent.findings.iter();
    found.any(|it| it.finding.statement == *statement)
}

/// Returns what the agent saw in its conversation.
fn sight(desk: &Desk<'_>, run: Option<&Run>) -> Sight {
    run.map(|it| it.sight(&desk.reader.agent))
        .unwrap_or_default()
}

fn finding(statement: Statement, ask: &RecordAsk) -> Result<Finding, Failure> {
    let anchor = |it: &String| {
        let at: Target = it.parse().map_err(Failure::usage)?;
        Ok(Anchor {
            at,
            fingerprint: None,
        })
    };
    let step = |it: &String| it.parse::<Step>().map_err(Failure::usage);
    Ok(Finding {
        statement,
        evidence: ask
            .anchors
            .iter()
            .map(anchor)
            .collect::<Result<_, Failure>>()?,
        verify: ask
            .verify
            .iter()
            .map(step)
            .collect::<Result<_, Failure>>()?,
        severity_milli: 0,
        confidence_milli: 0,
        dismissed: false,
    })
}

impl Outcome {
    fn told(&self) -> Recorded<'_> {
        match self {
            Self::Noted(seen) => Recorded::Noted(*seen),
            Self::Recorded(entry) => Recorded::Entry(entry),
        }
    }
}

/// Returns how a person lets out what was set apart.
fn way_out(id: EntryId) -> String {
    format!("`ken quarantine lift {id} --reason TEXT` lets it out")
}

pub(super) fn feedback(desk: &mut Desk<'_>, ask: &FeedbackAsk) -> Result<Reply, Failure> {
    let id = desk.engine.find(&ask.id)?.id;
    let run = desk.engine.open_run_of(desk.reader)?;
    let sight = sight(desk, run.as_ref());
    if !sight.everything && !sight.entries.contains(&id) {
        let message = format!("you were not shown {id} in this conversation");
        let hint =
            format!("read it first: ken_get {id}; only who had an entry can say whether it helped");
        return Err(Failure::refused("not_shown", message).with_hint(hint));
    }
    let verdict = match ask.helpful {
        true => Feedback::Helpful,
        false => Feedback::Unhelpful,
    };
    let since = run.map(|it| it.opened);
    if last_verdict(desk, id)?.is_none_or(|(at, last)| last != verdict || Some(at) < since) {
        desk.engine.feedback(id, verdict, &desk.reader.agent)?;
    }
    let told = FeedbackObject::new(id, ask.helpful);
    match ask.format {
        Format::Text => Ok(Reply::Text(told.text())),
        Format::Json => super::json(&told),
    }
}

/// Returns what the agent said last about an entry, and when: asked again, it says so once.
fn last_verdict(
    desk: &Desk<'_>,
    id: EntryId,
) -> Result<Option<(ken_core::time::Timestamp, Feedback)>, Failure> {
    let history = desk.engine.history(id)?;
    let own = history.iter().filter(|it| it.event.by == desk.reader.agent);
    let mut given = own.filter_map(|it| {
        let given = it.event.get::<FeedbackGiven>()?;
        Some((it.event.at.wall, given.verdict))
    });
    Ok(given.next_back())
}
