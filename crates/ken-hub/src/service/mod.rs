//! Use cases of the hub: one function per operation, each inside one transaction on one workspace.
//!
//! Decisions come from `ken_core`, so the hub and a repository apply the same rules and return the
//! same messages. One thing differs: a hub has no source code, so anchors are unverifiable here.
//!
//! Every use case checks the caller's role before it reads anything. Exposures are recorded in the
//! same transaction that reads the entries. Events that the hub writes itself pass through
//! [`WorkspaceSession`], the single write path.

mod brief;
mod error;
pub mod federation;
mod feedback;
mod global;
mod health;
mod impact;
mod lookup;
mod outcomes;
mod overlays;
mod overview;
pub mod parse;
mod promotion;
mod push;
mod quarantine;
mod reader;
mod recording;
mod run_store;
mod runs;
mod search;
mod search_everywhere;
mod session;
mod verbs;
mod verify;

pub use brief::{BriefingRequest, WorkspaceBriefing, brief, show_norms};
pub use error::ServiceError;
pub use feedback::{FeedbackOutcome, give_feedback};
pub use global::OrganizationHits;
pub use impact::{measure_entry_impact, measure_impacts};
pub use ken_core::retrieval::surface::SelectionLimits;
pub use ken_core::trust::run::opening::OpenRunRequest;
pub use lookup::{
    EntryListing, EntryWithConflicts, HistoryEvent, history, list_entries, show_entry,
};
pub use outcomes::{
    OutcomeReport, OutcomeTotals, ReportPeriod, ReportPeriodError, report_outcomes,
    summarize_outcomes,
};
pub use overlays::{OVERLAYS_MAX, set_overlay};
pub use overview::{
    HealthSummary, RevocationPreview, RunDetails, count_facets, count_review_items,
    list_entries_where, list_exposures, list_sources, load_titles, preview_revocation,
    report_health, show_review_policy, show_run,
};
pub use promotion::{
    ApprovalQueue, ApprovalQueueItem, ApprovalRequest, PromotionCandidate, approve,
    load_approval_queue, reject,
};
pub use push::{
    CITATIONS_MAX, ENTRY_EVENTS_MAX, PushOutcome, PushRefusal, Pusher, ScanVerdict, ScreenedLine,
    add_decision, screen_lines,
};
pub use quarantine::{
    APPROVAL_HINT, ENTRY_QUARANTINE_HINT, EVENT_QUARANTINE_HINT, QuarantinedLogEntry,
    ReleaseMethod, discard_entry, discard_event, list_quarantined_entries, list_quarantined_events,
    release_entry, release_event,
};
pub use reader::{EntryReader, build_reader, check_session};
pub use recording::{AddEntryRequest, RecordOutcome, add_entry};
pub use runs::{
    ObservedFinding, close_run, get_open_run, list_open_runs, list_past_runs, load_open_run,
    record_finding, record_note,
};
pub use search::{
    HubSearchRequest, HubSearchResult, is_expensive, search, search_filtered, served_by,
};
pub use search_everywhere::{
    EverywhereResult, SEARCHED_WORKSPACES_MAX, SkipReason, search_everywhere,
};
pub use session::{ServiceContext, WorkspaceSession};
pub(crate) use verbs::list_workspaces;
pub use verbs::{
    EditRequest, RevokeRequest, RevokedWorkspace, VerbOutcome, cite_entry, confirm_entry,
    edit_entry, redact_event, resolve_contradiction, retract_entry, revoke_everywhere,
    revoke_source,
};
pub use verify::{WorkspaceVerification, verify};
