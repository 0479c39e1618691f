//! Ledger diff of a change: the events it adds or loses, and the policy for changes from forks.
//!
//! Reviewers read this summary instead of JSON lines.

use std::collections::{BTreeMap, BTreeSet};

use ken_anchor::{FileTree, FileTreeError};
use ken_core::health::gates::{FORK_GATE, GUARD_GATE, SCHEMA_GATE};
use ken_core::ledger::event::{
    ApprovalGranted, Archived, ConfidenceReset, ConfigChanged, ContradictionResolved,
    DomainOverridden, DomainStrategyChanged, EventBlanked, EventBody, EventData as _, EventSubject,
    OriginRevoked, PairDismissed, PeerTrustChanged, Proposed, QuarantineLifted, RecordedEvent,
    Restored, Retracted, StatusChanged, Superseded,
};
use ken_core::values::actor::ActorRole;
use ken_core::values::id::{EntryId, EventId};
use ken_ledger::git::{GitError, GitRunner};
use ken_ledger::layout::{KEN_DIR, SegmentForm, SegmentName};
use ken_ledger::{pack, segment};
use serde::Serialize;

use super::code_version::CodeVersion;
use super::range::ChangeRange;
use crate::guard::Guard;
use crate::people::PeopleList;
use crate::verify::{GateFinding, GateLevel};

/// One event a change adds to the ledger.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LedgerChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
    pub effect: ChangeEffect,
    #[serde(rename = "type")]
    pub type_name: String,
    pub by: String,
    /// The statement of a new entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    pub file: String,
    pub line: u64,
}

/// The effect of an event on an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeEffect {
    Adds,
    Changes,
    Removes,
    /// The event is about the workspace, a run or a peer.
    Other,
}

/// The trust level of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeOrigin {
    /// The author may write to this repository.
    Member,
    /// The change comes from a fork: `by` is unproven, and policy events are refused.
    Fork,
}

/// The events a change adds to the ledger, and findings about them.
#[derive(Debug, Default)]
pub(crate) struct LedgerDiff {
    pub(crate) changes: Vec<LedgerChange>,
    /// Every entry that a new event refers to.
    pub(crate) entries: BTreeSet<EntryId>,
    pub(crate) findings: Vec<GateFinding>,
}

/// An event with its file and line.
struct LocatedEvent {
    recorded: RecordedEvent,
    file: String,
    line: u64,
}

/// Compares the segments a change touches before and after it.
pub(crate) fn diff_ledger(
    range: &ChangeRange,
    from: ChangeOrigin,
    guard: &Guard,
) -> Result<LedgerDiff, FileTreeError> {
    let mut out = LedgerDiff::default();
    let (mut before, mut after) = (BTreeMap::new(), Vec::new());
    for path in &range.touched {
        let Ok(name) = SegmentName::from_tree_path(path) else {
            continue;
        };
        if let Some(bytes) = range.base.read(path)? {
            // Invalid lines at the base are not the fault of this change, so findings are dropped.
            for it in parse_events(path, name.form(), &bytes, &mut Vec::new()) {
                before.insert(it.recorded.event.id, it.file);
            }
        }
        if let Some(bytes) = range.head.read(path)? {
            after.extend(parse_events(path, name.form(), &bytes, &mut out.findings));
        }
    }
    // Events are compared by id over all touched segments: packing moves them between files.
    let present: BTreeSet<EventId> = after.iter().map(|it| it.recorded.event.id).collect();
    let lost = before.iter().filter(|(id, _)| !present.contains(id));
    for (id, file) in lost {
        let message = format!("event {id} is missing; run `ken ledger recover` to restore it");
        out.findings.push(finding(SCHEMA_GATE, file, None, message));
    }
    let mut new: Vec<LocatedEvent> = Vec::new();
    let mut seen = BTreeSet::new();
    for located in after {
        let id = located.recorded.event.id;
        // A segment and the pack made from it may both be present during a merge.
        if !before.contains_key(&id) && seen.insert(id) {
            new.push(located);
        }
    }
    if from == ChangeOrigin::Fork {
        out.findings.extend(fork_file_findings(range)?);
        let authors = CommitAuthors::new(range);
        for located in &new {
            out.findings.extend(fork_event_finding(located, &authors));
        }
    }
    // The guard of the author's clone may be older or switched off, so every event is checked
    // again.
    for located in &new {
        let refused = guard.refuses_now(&located.recorded.event);
        out.findings.extend(refused.map(|why| {
            let line = Some(located.line);
            finding(GUARD_GATE, &located.file, line, why.to_string())
        }));
    }
    out.entries = new
        .iter()
        .flat_map(|it| it.recorded.event.entries())
        .collect();
    out.changes = new.iter().map(to_ledger_change).collect();
    Ok(out)
}

/// Returns the entries that the events of a change refer to.
pub(crate) fn changed_entries(range: &ChangeRange) -> Result<BTreeSet<EntryId>, FileTreeError> {
    let brought = diff_ledger(range, ChangeOrigin::Member, &Guard::default())?;
    Ok(brought.entries)
}

/// Parses the events of a segment; invalid lines become findings.
fn parse_events(
    path: &str,
    form: SegmentForm,
    bytes: &[u8],
    findings: &mut Vec<GateFinding>,
) -> Vec<LocatedEvent> {
    let lines = match pack::decode_lines(form, bytes) {
        Ok(lines) => lines,
        Err(error) => {
            findings.push(finding(SCHEMA_GATE, path, None, error.to_string()));
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for (line, text, _) in segment::raw_lines(&lines) {
        match RecordedEvent::parse(text) {
            Ok(recorded) => found.push(LocatedEvent {
                recorded,
                file: path.to_owned(),
                line,
            }),
            Err(error) => {
                findings.push(finding(SCHEMA_GATE, path, Some(line), error.to_string()));
            }
        }
    }
    found
}

fn to_ledger_change(located: &LocatedEvent) -> LedgerChange {
    let event = &located.recorded.event;
    let entry = event.about.iter().find_map(|subject| match subject {
        EventSubject::Entry(id) => Some(*id),
        EventSubject::Other(_) => None,
    });
    let proposed = event.get::<Proposed>();
    LedgerChange {
        entry,
        effect: effect_of_event(&event.body, entry),
        type_name: event.body.type_name().to_owned(),
        by: event.by.to_string(),
        statement: proposed.map(|data| data.content.statement.to_string()),
        file: located.file.clone(),
        line: located.line,
    }
}

fn effect_of_event(body: &EventBody, entry: Option<EntryId>) -> ChangeEffect {
    if entry.is_none() {
        return ChangeEffect::Other;
    }
    match body.type_name() {
        Proposed::TYPE | Restored::TYPE => ChangeEffect::Adds,
        Retracted::TYPE | Archived::TYPE | Superseded::TYPE | EventBlanked::TYPE => {
            ChangeEffect::Removes
        }
        _ => ChangeEffect::Changes,
    }
}

/// Returns a finding for each file in `.ken` that a fork may not touch.
///
/// A fork may only add segments and change entry files, which are derived from segments.
fn fork_file_findings(range: &ChangeRange) -> Result<Vec<GateFinding>, FileTreeError> {
    let own = format!("{KEN_DIR}/");
    let mut findings = Vec::new();
    for path in range.touched.iter().filter(|path| path.starts_with(&own)) {
        let is_view = path.ends_with(".md");
        let message = match SegmentName::from_tree_path(path) {
            // A pack is compressed, so a reviewer cannot read it in the pull request.
            Ok(name) if name.form() == SegmentForm::Pack => {
                "a change from a fork may not add packs"
            }
            Ok(_) if range.base.read(path)?.is_some() => {
                "a change from a fork may only add segments, not change them"
            }
            Ok(_) => continue,
            Err(_) if is_view => continue,
            Err(_) => "a change from a fork may not change this file",
        };
        findings.push(finding(FORK_GATE, path, None, message.to_owned()));
    }
    Ok(findings)
}

/// Returns an error if a fork may not add the event, or a warning if a person must review it.
fn fork_event_finding(located: &LocatedEvent, authors: &CommitAuthors<'_>) -> Option<GateFinding> {
    let event = &located.recorded.event;
    let (file, line) = (&located.file, Some(located.line));
    let error = |message: String| Some(finding(FORK_GATE, file, line, message));
    let name = event.body.type_name();
    if is_policy(&event.body) {
        return error(format!("a change from a fork may not add `{name}` events"));
    }
    // Events are not signed: without this check, a fork could write confirmations in the name of a
    // maintainer. Agents have no git identity.
    if event.by.role() != ActorRole::Agent && !authors.include(file, event.by.name()) {
        let by = &event.by;
        return error(format!(
            "this event names {by} as author, who did not commit it"
        ));
    }
    if let EventBody::Proposed(_) = event.body {
        let mut warning = finding(
            FORK_GATE,
            file,
            line,
            "a new entry from a fork: review it before you merge".to_owned(),
        );
        warning.level = GateLevel::Warning;
        return Some(warning);
    }
    None
}

/// Returns true for events that redact, approve, trust or configure.
fn is_policy(body: &EventBody) -> bool {
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
    // An unknown event may be a policy event of a newer version.
    matches!(body, EventBody::Unknown { .. }) || POLICY.contains(&body.type_name())
}

/// The commit authors of a change.
struct CommitAuthors<'a> {
    git: &'a GitRunner,
    span: Option<String>,
    /// People of the base: a fork may not say who its authors are.
    people: PeopleList,
}

impl<'a> CommitAuthors<'a> {
    fn new(range: &'a ChangeRange) -> Self {
        let span = match &range.head {
            CodeVersion::Commit(head) => Some(format!("{}..{}", range.base.commit, head.commit)),
            CodeVersion::Work(_) => None,
        };
        Self {
            git: &range.git,
            span,
            people: PeopleList::load_version(&*range.base),
        }
    }

    /// Returns true if `name` authored a commit that touches `file`, or if the change is not
    /// committed yet.
    fn include(&self, file: &str, name: &str) -> bool {
        let Some(span) = &self.span else { return true };
        let log = || -> Result<Vec<u8>, GitError> {
            self.git.output(&["log", "--format=%ae", span, "--", file])
        };
        // If git fails there are no authors, which refuses the event instead of letting it pass.
        let output = log().unwrap_or_default();
        let emails = String::from_utf8_lossy(&output);
        let is_person = |email: &str| {
            email == name
                || self
                    .people
                    .id_of(email)
                    .is_some_and(|id| id.to_string() == name)
        };
        emails.lines().any(is_person)
    }
}

fn finding(gate: &'static str, at: &str, line: Option<u64>, message: String) -> GateFinding {
    GateFinding {
        gate,
        level: GateLevel::Error,
        message,
        at: at.to_owned(),
        line,
    }
}
