//! What a change does to knowledge itself: the events it brings or loses, told so that nobody has to review
//! lines of JSON; and what a change from a stranger may not bring.

use std::collections::{BTreeMap, BTreeSet};

use ken_anchor::{Tree, TreeError};
use ken_core::actor::Role;
use ken_core::event::{
    ApprovalGranted, Archived, Body, ConfidenceReset, ConfigChanged, ContradictionResolved,
    DomainOverridden, DomainStrategyChanged, EventBlanked, EventData as _, OriginRevoked,
    PairDismissed, PeerTrustChanged, Proposed, QuarantineLifted, Recorded, Restored, Retracted,
    StatusChanged, Subject, Superseded,
};
use ken_core::id::{EntryId, EventId};
use ken_ledger::git::{GitError, Runner};
use ken_ledger::layout::{Form, KEN_DIR, SegmentName};
use ken_ledger::{pack, segment};
use serde::Serialize;

use super::range::Range;
use super::tree::Version;
use crate::guard::Guard;
use crate::verify::{Finding, Level};

/// The gate that looks after the ledger's lines.
const LINES_GATE: &str = "knowledge.schema";
/// The gate for what today's rules would not let in.
pub(crate) const GUARD_GATE: &str = "knowledge.guard";
/// The gate for changes from outside.
const STRANGERS_GATE: &str = "knowledge.strangers";

/// One event a change brings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stroke {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
    pub effect: Effect,
    #[serde(rename = "type")]
    pub type_name: String,
    pub by: String,
    /// What is said, of a new entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    pub file: String,
    pub line: u64,
}

/// What an event does to the knowledge there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    Adds,
    Changes,
    Removes,
    /// It concerns the workspace, a run or a peer.
    Other,
}

/// Whose change it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Somebody who may write to this repository.
    Member,
    /// A fork: `by` is only a claim, and policy is not theirs to make.
    Stranger,
}

/// What a change brings.
#[derive(Debug, Default)]
pub(crate) struct Brought {
    pub(crate) strokes: Vec<Stroke>,
    /// Every entry an event it brings names.
    pub(crate) about: BTreeSet<EntryId>,
    pub(crate) findings: Vec<Finding>,
}

/// One event and where it stands.
struct Placed {
    recorded: Recorded,
    file: String,
    line: u64,
}

/// Reads what the segments a change touches hold before and after it.
pub(crate) fn brought(range: &Range, from: From, guard: &Guard) -> Result<Brought, TreeError> {
    let mut out = Brought::default();
    let (mut before, mut after) = (BTreeMap::new(), Vec::new());
    for path in &range.touched {
        let Ok(name) = SegmentName::from_tree_path(path) else {
            continue;
        };
        if let Some(bytes) = range.base.read(path)? {
            for it in events(path, name.form(), &bytes, &mut Vec::new()) {
                before.insert(it.recorded.event.id, it.file);
            }
        }
        if let Some(bytes) = range.head.read(path)? {
            after.extend(events(path, name.form(), &bytes, &mut out.findings));
        }
    }
    let there: BTreeSet<EventId> = after.iter().map(|it| it.recorded.event.id).collect();
    let lost = before.iter().filter(|(id, _)| !there.contains(id));
    for (id, file) in lost {
        let message = format!("event {id} is gone; `ken recover` brings it back");
        out.findings.push(finding(LINES_GATE, file, None, message));
    }
    let mut new: Vec<Placed> = Vec::new();
    let mut seen = BTreeSet::new();
    for it in after {
        let id = it.recorded.event.id;
        if !before.contains_key(&id) && seen.insert(id) {
            new.push(it);
        }
    }
    if from == From::Stranger {
        out.findings.extend(refused_files(range)?);
        let authors = Authors::new(range);
        for it in &new {
            out.findings.extend(refused(it, &authors));
        }
    }
    for it in &new {
        let refused = guard.refuses_now(&it.recorded.event);
        out.findings.extend(refused.map(|why| {
            let line = Some(it.line);
            finding(GUARD_GATE, &it.file, line, why.to_string())
        }));
    }
    out.about = new
        .iter()
        .flat_map(|it| it.recorded.event.entries())
        .collect();
    out.strokes = new.iter().map(stroke).collect();
    Ok(out)
}

/// Returns the entries that a change's lines are about.
pub(crate) fn brought_ids(range: &Range) -> Result<BTreeSet<EntryId>, TreeError> {
    let brought = brought(range, From::Member, &Guard::default())?;
    Ok(brought.about)
}

/// Returns the events of a segment; lines that are none become findings.
fn events(path: &str, form: Form, bytes: &[u8], findings: &mut Vec<Finding>) -> Vec<Placed> {
    let lines = match pack::lines(form, bytes) {
        Ok(lines) => lines,
        Err(error) => {
            findings.push(finding(LINES_GATE, path, None, error.to_string()));
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for (line, text, _) in segment::raw_lines(&lines) {
        match Recorded::parse(text) {
            Ok(recorded) => found.push(Placed {
                recorded,
                file: path.to_owned(),
                line,
            }),
            Err(error) => {
                findings.push(finding(LINES_GATE, path, Some(line), error.to_string()));
            }
        }
    }
    found
}

fn stroke(it: &Placed) -> Stroke {
    let event = &it.recorded.event;
    let entry = event.about.iter().find_map(|subject| match subject {
        Subject::Entry(id) => Some(*id),
        Subject::Other(_) => None,
    });
    let proposed = event.get::<Proposed>();
    Stroke {
        entry,
        effect: effect(&event.body, entry),
        type_name: event.body.type_name().to_owned(),
        by: event.by.to_string(),
        statement: proposed.map(|data| data.content.statement.to_string()),
        file: it.file.clone(),
        line: it.line,
    }
}

fn effect(body: &Body, entry: Option<EntryId>) -> Effect {
    if entry.is_none() {
        return Effect::Other;
    }
    match body.type_name() {
        Proposed::TYPE | Restored::TYPE => Effect::Adds,
        Retracted::TYPE | Archived::TYPE | Superseded::TYPE | EventBlanked::TYPE => Effect::Removes,
        _ => Effect::Changes,
    }
}

/// Files of Ken's that a stranger may not touch: everything but new segments and what is made from them.
fn refused_files(range: &Range) -> Result<Vec<Finding>, TreeError> {
    let own = format!("{KEN_DIR}/");
    let mut findings = Vec::new();
    for path in range.touched.iter().filter(|path| path.starts_with(&own)) {
        let is_view = path.ends_with(".md");
        let message = match SegmentName::from_tree_path(path) {
            Ok(name) if name.form() == Form::Pack => "a change from a fork brings no packs",
            Ok(_) if range.base.read(path)?.is_some() => {
                "a change from a fork adds segments; this one was there before"
            }
            Ok(_) => continue,
            Err(_) if is_view => continue,
            Err(_) => "a change from a fork does not touch what is decided here",
        };
        findings.push(finding(STRANGERS_GATE, path, None, message.to_owned()));
    }
    Ok(findings)
}

/// Returns why a stranger may not bring an event, or that somebody must look at it.
fn refused(it: &Placed, authors: &Authors<'_>) -> Option<Finding> {
    let event = &it.recorded.event;
    let say = |message: String| Some(finding(STRANGERS_GATE, &it.file, Some(it.line), message));
    let name = event.body.type_name();
    if is_policy(&event.body) {
        return say(format!("a change from a fork may not bring `{name}`"));
    }
    if event.by.role() != Role::Agent && !authors.include(&it.file, event.by.name()) {
        let by = &event.by;
        return say(format!("this says it is by {by}, who did not commit it"));
    }
    if let Body::Proposed(_) = event.body {
        let mut warning = finding(
            STRANGERS_GATE,
            &it.file,
            Some(it.line),
            "a new entry from a fork: read it before it is merged".to_owned(),
        );
        warning.level = Level::Warning;
        return Some(warning);
    }
    None
}

/// Whether an event blanks, approves, trusts or configures.
fn is_policy(body: &Body) -> bool {
    const POLICY: &[&str] = &[
        ApprovalGranted::TYPE,
        ConfidenceReset::TYPE,
        ConfigChanged::TYPE,
        ContradictionResolved::TYPE,
        DomainOverridden::TYPE,
        DomainStrategyChanged::TYPE,
        StatusChanged::TYPE,
        EventBlanked::TYPE,
        OriginRevoked::TYPE,
        PairDismissed::TYPE,
        PeerTrustChanged::TYPE,
        QuarantineLifted::TYPE,
    ];
    matches!(body, Body::Unknown { .. }) || POLICY.contains(&body.type_name())
}

/// Who committed what a change brings.
struct Authors<'a> {
    git: &'a Runner,
    span: Option<String>,
}

impl<'a> Authors<'a> {
    fn new(range: &'a Range) -> Self {
        let span = match &range.head {
            Version::Commit(head) => Some(format!("{}..{}", range.base.commit, head.commit)),
            Version::Work(_) => None,
        };
        Self {
            git: &range.git,
            span,
        }
    }

    /// Returns whether `name` authored a commit that touches `file`; nobody has what is not committed.
    fn include(&self, file: &str, name: &str) -> bool {
        let Some(span) = &self.span else { return true };
        let told = || -> Result<Vec<u8>, GitError> {
            self.git.output(&["log", "--format=%ae", span, "--", file])
        };
        let told = told().unwrap_or_default();
        let told = String::from_utf8_lossy(&told);
        told.lines().any(|email| email == name)
    }
}

fn finding(gate: &'static str, at: &str, line: Option<u64>, message: String) -> Finding {
    Finding {
        gate,
        level: Level::Error,
        message,
        at: at.to_owned(),
        line,
    }
}
