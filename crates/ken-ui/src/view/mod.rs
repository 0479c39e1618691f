//! Data of the pages: plain values of `ken-core` types. Nothing is formatted here.

mod code;
mod entries;
mod forage;
mod from_ledger;
mod health;
mod inbox;
mod peers;
mod runs;

pub use code::{
    AnchorState, AnchorStateKind, ChangeView, CodeClass, CodeLine, CodeNote, CodeSymbol,
    ConditionState, DocumentFinding, DocumentView, DocumentsView, FileView, FolderChild,
    FolderView, PathView,
};
pub use entries::{
    BriefView, ConfidencePoint, EntryListView, EntryRow, EntryView, EventLine, Facet, FacetName,
    HistoryView, HitScore, HomeView, ListSource, Neighbor, NeighborRelation, NeighborsView,
    NormRow, NormsView, PeopleView, ShownRecord, SourceSummary, WordingChange, count_statuses,
};
pub use forage::{ForageBudgets, ForageDomain, ForageLogEntry, ForageQuestionLine, ForageView};
pub use from_ledger::statement_of;
pub use health::{
    DayCount, HealthView, ImpactView, MaintenanceServiceView, StatsView, TrendSeries,
};
pub use inbox::{
    ApprovalItem, ChangedItem, ClaimItem, InboxItem, InboxView, PairItem, VersionsItem,
};
pub use peers::{
    PEER_ENTRIES_PER_PAGE, PeerEntryItem, PeerLine, PeerView, PeersView, RelatedWords, WordsOwner,
};
pub use runs::{AgentColumn, RUNS_PER_PAGE, RunLine, RunListView, RunSummaryRow, RunView};
