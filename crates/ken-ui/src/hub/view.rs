//! Data of the hub's pages above workspaces. Nothing is formatted here.

use ken_core::values::id::{EntryId, EventId};
use ken_core::values::time::Timestamp;

use crate::view::EntryRow;

/// The workspaces that a person may enter.
#[derive(Clone, Debug, Default)]
pub struct WorkspacesView {
    pub organization: String,
    pub workspaces: Vec<WorkspaceLine>,
    /// The name to continue after, if there are more.
    pub next: Option<String>,
}

/// One workspace of a list.
#[derive(Clone, Debug)]
pub struct WorkspaceLine {
    pub name: String,
    pub events: u64,
    pub last_event: Option<Timestamp>,
    /// Number of items that wait for a curator; `None` if the person is not one, or if it is not
    /// known.
    pub pending: Option<u64>,
}

/// The hits of a search in all workspaces.
#[derive(Clone, Debug, Default)]
pub struct EverywhereView {
    pub words: String,
    pub hits: Vec<EverywhereHit>,
    /// Number of workspaces that were searched.
    pub searched: usize,
    /// Workspaces that were not searched, with the reason.
    pub skipped: Vec<(String, &'static str)>,
}

/// A hit and the workspace it is in.
#[derive(Clone, Debug)]
pub struct EverywhereHit {
    pub workspace: String,
    pub row: EntryRow,
}

/// Everything in one workspace that waits for a curator.
#[derive(Clone, Debug, Default)]
pub struct ReviewView {
    pub events: Vec<QuarantinedEventLine>,
    pub entries: Vec<QuarantinedEntryLine>,
    pub approvals: Vec<ApprovalLine>,
}

/// An event that was pushed and is not in the log yet.
#[derive(Clone, Debug)]
pub struct QuarantinedEventLine {
    pub id: EventId,
    pub type_name: String,
    pub author: String,
    pub pusher: String,
    pub at: Timestamp,
    pub reason: String,
    pub entry: Option<EntryId>,
    /// The statement of the entry now, if there is one.
    pub current: Option<String>,
    /// The statement that the event sets, if it sets one.
    pub proposed: Option<String>,
    /// The line of the event.
    pub raw: String,
}

/// An entry of the log that is hidden until a person decides.
#[derive(Clone, Debug)]
pub struct QuarantinedEntryLine {
    pub row: EntryRow,
    pub findings: Vec<String>,
    /// True if an approval ends the quarantine; it is then listed among the approvals.
    pub needs_approval: bool,
}

/// An entry that waits for an approval.
#[derive(Clone, Debug)]
pub struct ApprovalLine {
    pub row: EntryRow,
    /// Why it is listed, in words.
    pub reason: &'static str,
    /// Digest of the text that the person reads.
    pub digest: String,
    /// The people who may not approve it.
    pub authors: Vec<String>,
    /// The statement before the last edit, if it was edited.
    pub previous: Option<String>,
}

/// A revocation: before it is done with its effect, afterwards with its result.
#[derive(Clone, Debug, Default)]
pub struct RevocationView {
    /// The source as it was typed.
    pub source: String,
    /// True if the person asks to end a revocation.
    pub ends: bool,
    /// The effect per workspace; `None` before a source was named.
    pub impacts: Option<Vec<SourceImpactLine>>,
    /// True if a timeout left workspaces uncounted.
    pub is_partial: bool,
    /// The result per workspace.
    pub results: Vec<RevokedWorkspaceLine>,
    /// The workspace to continue after, if a timeout left some undone.
    pub next: Option<String>,
}

/// The effect of a revocation on one workspace.
#[derive(Clone, Debug)]
pub struct SourceImpactLine {
    pub workspace: String,
    pub is_revoked: bool,
    /// Live entries that agents are no longer shown.
    pub live: u64,
    pub verified: u64,
    pub all: u64,
    /// Runs that were shown its entries.
    pub runs: u64,
    /// How often runs were shown its entries.
    pub showings: u64,
    /// The entries that were shown most often.
    pub examples: Vec<(EntryId, String)>,
}

/// The result of a revocation in one workspace.
#[derive(Clone, Debug)]
pub struct RevokedWorkspaceLine {
    pub workspace: String,
    pub result: Result<&'static str, String>,
}

/// A page of the audit log.
#[derive(Clone, Debug, Default)]
pub struct AuditView {
    pub filter: AuditFilterText,
    pub lines: Vec<AuditLine>,
    /// The id to continue after.
    pub next: Option<String>,
}

/// The filter of the audit log as it was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilterText {
    /// The log of this workspace; empty for that of the organization.
    pub workspace: String,
    pub by: String,
    pub act: String,
    pub outcome: String,
    pub since: String,
    pub until: String,
    pub token: String,
    pub entry: String,
}

/// One record of the audit log.
#[derive(Clone, Debug)]
pub struct AuditLine {
    pub at: Timestamp,
    pub by: String,
    pub role: String,
    pub act: String,
    pub subject: String,
    pub outcome: String,
    pub address: Option<String>,
    pub token: Option<String>,
    pub events: u64,
    pub authors: Vec<String>,
    pub entries: Vec<String>,
}

/// The tokens of an organization.
#[derive(Clone, Debug, Default)]
pub struct TokensView {
    pub tokens: Vec<TokenLine>,
    pub next: Option<String>,
    /// A token that was just created; its secret is never shown again.
    pub created: Option<NewSecret>,
    /// The default lifetime in days, and the maximum.
    pub days: (u16, u16),
}

/// One token without its secret.
#[derive(Clone, Debug)]
pub struct TokenLine {
    pub id: String,
    pub name: String,
    pub actor: String,
    pub role: String,
    /// The number of workspaces it is restricted to.
    pub workspaces: Option<usize>,
    pub created: Timestamp,
    pub expires: Option<Timestamp>,
    pub revoked: Option<Timestamp>,
    pub used: Option<Timestamp>,
    pub is_live: bool,
}

/// The secret of a new token. Its `Debug` output does not contain it.
#[derive(Clone)]
pub struct NewSecret {
    pub name: String,
    pub secret: String,
}

impl std::fmt::Debug for NewSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NewSecret(..)")
    }
}

/// The confirmation of a device that asks for a token.
#[derive(Clone, Debug, Default)]
pub struct DeviceView {
    /// The code as it was typed.
    pub code: String,
    /// The name that the device gave, and the address it asked from; `None` before a valid code.
    pub device: Option<(String, Option<String>)>,
    /// What the device would get: the actor, the role and the days of its token.
    pub grant: Option<(String, String, u16)>,
    /// Why the code is not accepted.
    pub error: Option<&'static str>,
    /// True after the person decided, with their decision.
    pub decided: Option<bool>,
}
