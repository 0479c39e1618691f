//! The port: what pages need from a repository or from a workspace of a hub.

use std::future::Future;

use futures_util::Stream;
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use serde_json::Value;

use crate::action::ActionRequest;
use crate::address::{
    BriefQuery, EntryListQuery, InboxLane, PageAddress, PeerQuery, RepoPath, RunListQuery,
};
use crate::hub::HubOverview;
use crate::live::ChangeTopic;
use crate::view::{
    BriefView, ChangeView, DocumentsView, EntryListView, EntryView, ForageView, HealthView,
    HistoryView, HomeView, ImpactView, InboxView, NeighborsView, NormsView, PathView, PeerView,
    PeersView, PeopleView, RunListView, RunView, StatsView,
};

/// The knowledge behind the pages.
///
/// Methods may block their caller for as long as the answer takes, but not the async runtime. A
/// caller that drops a future no longer wants the answer.
pub trait KnowledgeSource: Clone + Send + Sync + 'static {
    /// Returns the name of the source and the rights of the person at the browser.
    fn overview(&self) -> impl Future<Output = Result<SourceOverview, KnowledgeError>> + Send;
    fn home(&self) -> impl Future<Output = Result<HomeView, KnowledgeError>> + Send;
    /// Returns one page of a list, or the hits of a search if the query has words.
    fn entries(
        &self,
        query: EntryListQuery,
    ) -> impl Future<Output = Result<EntryListView, KnowledgeError>> + Send;
    fn entry(
        &self,
        wanted: String,
    ) -> impl Future<Output = Result<EntryView, KnowledgeError>> + Send;
    fn history(
        &self,
        wanted: String,
    ) -> impl Future<Output = Result<HistoryView, KnowledgeError>> + Send;
    fn neighbors(
        &self,
        wanted: String,
    ) -> impl Future<Output = Result<NeighborsView, KnowledgeError>> + Send;
    /// Returns a file with the entries about it, or a folder.
    /// The code is that of `revision`, or of the work tree.
    fn path(
        &self,
        path: RepoPath,
        revision: Option<String>,
    ) -> impl Future<Output = Result<PathView, KnowledgeError>> + Send;
    fn inbox(
        &self,
        lane: Option<InboxLane>,
    ) -> impl Future<Output = Result<InboxView, KnowledgeError>> + Send;
    fn change(
        &self,
        base: Option<String>,
    ) -> impl Future<Output = Result<ChangeView, KnowledgeError>> + Send;
    fn documents(&self) -> impl Future<Output = Result<DocumentsView, KnowledgeError>> + Send;
    fn brief(
        &self,
        query: BriefQuery,
    ) -> impl Future<Output = Result<BriefView, KnowledgeError>> + Send;
    fn runs(
        &self,
        query: RunListQuery,
    ) -> impl Future<Output = Result<RunListView, KnowledgeError>> + Send;
    fn run(&self, run: String) -> impl Future<Output = Result<RunView, KnowledgeError>> + Send;
    fn impact(&self) -> impl Future<Output = Result<ImpactView, KnowledgeError>> + Send;
    fn health(&self) -> impl Future<Output = Result<HealthView, KnowledgeError>> + Send;
    fn stats(&self) -> impl Future<Output = Result<StatsView, KnowledgeError>> + Send;
    fn norms(
        &self,
        path: Option<RepoPath>,
    ) -> impl Future<Output = Result<NormsView, KnowledgeError>> + Send;
    fn people(&self) -> impl Future<Output = Result<PeopleView, KnowledgeError>> + Send;
    /// Returns what the forager did, and what it may do.
    fn forage(&self) -> impl Future<Output = Result<ForageView, KnowledgeError>> + Send;
    /// Returns the publications of other organizations that the person reads.
    fn peers(&self) -> impl Future<Output = Result<PeersView, KnowledgeError>> + Send;
    /// Returns one of them with a page of its entries.
    fn peer(
        &self,
        peer: String,
        query: PeerQuery,
    ) -> impl Future<Output = Result<PeerView, KnowledgeError>> + Send;
    /// Returns the JSON document of a page: the one that the command line prints.
    fn document(
        &self,
        page: PageAddress,
    ) -> impl Future<Output = Result<Value, KnowledgeError>> + Send;
    /// Performs an action of the person at the browser.
    fn act(
        &self,
        request: ActionRequest,
    ) -> impl Future<Output = Result<ActionResult, KnowledgeError>> + Send;
    /// Returns the topics that change. The first item is empty and says that changes are reported
    /// from then on.
    fn watch(
        &self,
        topics: Vec<ChangeTopic>,
    ) -> impl Stream<Item = Vec<ChangeTopic>> + Send + 'static;
}

/// The name of a source, and what the person at the browser may do with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceOverview {
    pub name: String,
    pub branch: Option<String>,
    /// The actor of every decision made on the pages; `None` if they are read-only.
    pub person: Option<Actor>,
    /// The reason why the pages are read-only.
    pub read_only: Option<String>,
    /// Number of items in the inbox, if it is known without a check of the code.
    pub pending: Option<u64>,
    /// Pages that are in the navigation only if somebody uses what they show.
    pub optional: OptionalPages,
    /// Links to the anchored lines in the user's editor and at the code host.
    pub links: CodeLinks,
    /// Set if the source is a workspace of a hub.
    pub hub: Option<HubOverview>,
}

/// Pages about features that most people do not use, and whether these are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionalPages {
    pub forage: bool,
    pub peers: bool,
}

/// Where code can be opened outside the pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeLinks {
    /// The absolute path of the repository, for editor links.
    pub root: Option<String>,
    /// The page of the repository at its host, such as `https://github.com/o/r`, with its commit.
    pub host: Option<CodeHost>,
}

/// A repository at a code host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeHost {
    pub url: String,
    pub kind: CodeHostKind,
    /// The commit that links refer to.
    pub commit: String,
}

/// Code hosts whose addresses are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeHostKind {
    GitHub,
    GitLab,
    Gitea,
    Bitbucket,
    Sourcehut,
}

/// The result of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionResult {
    /// One sentence for the person.
    pub message: String,
    pub entry: Option<EntryId>,
    /// The step that [`UserAction::Undo`](crate::action::UserAction::Undo) undoes; `None` if the
    /// action is final.
    pub undo: Option<EventId>,
}

/// The reason why a source did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct KnowledgeError {
    pub cause: KnowledgeErrorCause,
    /// One sentence. It may contain text of others.
    pub message: String,
    pub hint: Option<String>,
    /// Entries that an ambiguous id matches.
    pub candidates: Vec<String>,
}

/// The class of an error, which decides the HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnowledgeErrorCause {
    /// The request is invalid, or was refused by a rule.
    Refused,
    NotFound,
    Forbidden,
    /// The entry changed since the person read it.
    Conflict,
    Busy,
    Internal,
}

impl KnowledgeError {
    /// Creates an error without hint.
    pub fn new(cause: KnowledgeErrorCause, message: impl Into<String>) -> Self {
        Self {
            cause,
            message: message.into(),
            hint: None,
            candidates: Vec::new(),
        }
    }
}
