//! `ken ui`: the repository as a [`KnowledgeSource`] of web pages.
//!
//! Three engines answer, each on a thread of its own: *quick* for lists, searches, entries and
//! files, *slow* for whatever checks everything, *comparing* for the lanes of the inbox that
//! compare all entries with each other. Actions open the ledger themselves, as commands do.
//! Reading records no exposure: a person reads.

mod actions;
mod check_cache;
mod code;
mod code_host;
mod documents;
mod engine_thread;
mod entries;
mod errors;
mod forage;
mod health;
mod inbox;
mod peers;
mod rows;
mod runs;

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{Stream, stream};
use ken_core::values::actor::Actor;
use ken_engine::live::{LiveChanges, LiveState};
use ken_ui::action::{ActionRequest, UserAction};
use ken_ui::address::{
    BriefQuery, EntryListQuery, InboxLane, PageAddress, PeerQuery, RepoPath, RunListQuery,
};
use ken_ui::source::{ActionResult, CodeLinks, KnowledgeErrorCause, OptionalPages, SourceOverview};
use ken_ui::view::{
    BriefView, ChangeView, DocumentsView, EntryListView, EntryView, ForageView, HealthView,
    HistoryView, HomeView, ImpactView, InboxView, NeighborsView, NormsView, PathView, PeerView,
    PeersView, PeopleView, RunListView, RunView, StatsView,
};
use ken_ui::{ChangeTopic, KnowledgeError, KnowledgeSource};
use serde_json::Value;

use crate::failure::CommandFailure;
use crate::world::Environment;
use check_cache::CheckCache;
use engine_thread::EngineThread;
use errors::to_knowledge_error;

/// Time between two looks at the files behind a live page.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

/// Time that the inbox waits for the first comparison of all entries.
const COMPARE_WAIT: Duration = Duration::from_millis(300);

/// The repository behind the pages.
#[derive(Clone, Debug)]
pub(crate) struct LocalSource {
    environment: Environment,
    quick: EngineThread,
    slow: EngineThread,
    /// Compares all entries with each other in the background.
    comparing: EngineThread,
    checks: CheckCache,
    overview: SourceOverview,
    base: Option<String>,
    /// The short name of the default branch, which a file can be compared with.
    default_base: String,
}

impl LocalSource {
    /// Opens the repository. `person` is the actor of every decision, or the reason why there is
    /// none.
    pub(crate) fn open(
        environment: &Environment,
        person: Result<Actor, CommandFailure>,
        base: Option<String>,
    ) -> Result<Self, CommandFailure> {
        // One thread per kind of work instead of a pool: each engine has caches of its own, and a
        // list must not wait behind a check of everything.
        let environment = environment.for_pages();
        let quick = EngineThread::start("ken-ui-quick", &environment)?;
        let slow = EngineThread::start("ken-ui-slow", &environment)?;
        let comparing = EngineThread::start("ken-ui-compare", &environment)?;
        let engine = environment.open_to_read()?;
        let root = engine.root().to_owned();
        let name = root.file_name().map(|it| it.to_string_lossy().into_owned());
        // Pages without an identity of git are still worth reading, so a missing one is no error
        // here.
        let (person, read_only) = match person {
            Ok(person) => (Some(person), None),
            Err(failure) => (None, Some(failure.hint.unwrap_or(failure.message))),
        };
        let overview = SourceOverview {
            name: name.unwrap_or_default(),
            branch: engine.branch(),
            person,
            read_only,
            // Known once the inbox was computed; the first page does not wait for it.
            pending: None,
            // Looked up again for every page.
            optional: OptionalPages::default(),
            links: CodeLinks {
                root: Some(root.display().to_string()),
                host: code_host::find(&root, engine.head_commit()),
            },
            hub: None,
        };
        Ok(Self {
            environment,
            quick,
            slow,
            comparing,
            checks: CheckCache::default(),
            overview,
            base,
            default_base: code::short_name(&engine.default_base()),
        })
    }

    /// Starts a comparison of all entries if the ledger changed since the last one.
    ///
    /// The page of a compared lane waits for the first comparison; other pages wait a moment, and
    /// live pages learn about the result.
    async fn compare(&self, lane: Option<InboxLane>) -> Result<(), KnowledgeError> {
        let checks = self.checks.clone();
        // Asked on the quick thread, because the comparing one may be busy with exactly this.
        let known = self.quick.ask(move |engine| checks.comparison(engine));
        let (is_known, is_current) = known.await?;
        if is_current {
            return Ok(());
        }
        let source = self.clone();
        // Spawned, so that the comparison goes on when the browser closes the page.
        let work = tokio::spawn(async move {
            let checks = source.checks.clone();
            let compare = move |engine: &mut ken_engine::Engine| inbox::compare(engine, &checks);
            source.comparing.ask(compare).await
        });
        // An outdated comparison is shown at once; the live page replaces it when the new one is
        // ready.
        if is_known {
            return Ok(());
        }
        let done = if lane.is_some_and(inbox::is_compared) {
            Some(work.await)
        } else {
            tokio::time::timeout(COMPARE_WAIT, work).await.ok()
        };
        match done {
            Some(Ok(compared)) => compared,
            // A comparison that panicked leaves its lanes empty; the rest of the inbox is shown.
            Some(Err(_)) | None => Ok(()),
        }
    }

    /// Starts a check of all entries if the last one is old and was slow.
    fn check_again(&self) {
        let checks = self.checks.clone();
        if checks.needs_background_check() {
            let comparing = self.comparing.clone();
            tokio::spawn(async move {
                comparing
                    .ask(move |engine| checks.check_again(engine))
                    .await
            });
        }
    }

    /// Returns what changed since `before`, and the state to compare with next time.
    async fn look(
        &self,
        watched: &BTreeSet<String>,
        before: &LiveState,
    ) -> Result<(LiveState, LiveChanges), KnowledgeError> {
        let (watched, before) = (watched.clone(), before.clone());
        let ask = move |engine: &mut ken_engine::Engine| {
            let now = engine.live_state(&watched)?;
            let changes = now.changes_since(&before);
            Ok((now, changes))
        };
        self.quick.ask(ask).await
    }
}

/// A stream of changes: its source, topics and the state of the last look.
struct WatchState {
    source: LocalSource,
    topics: Vec<ChangeTopic>,
    watched: BTreeSet<String>,
    last: Option<LiveState>,
    comparisons: u64,
}

impl WatchState {
    /// Waits until one of the topics changes. The first time, it only learns the state.
    async fn next(&mut self) -> Vec<ChangeTopic> {
        loop {
            let before = self.last.clone().unwrap_or_default();
            if let Ok((now, changes)) = self.source.look(&self.watched, &before).await {
                // A failed look keeps the last state, so a file that is locked for a moment is no
                // change.
                let is_first = self.last.replace(now).is_none();
                let comparisons = self.source.checks.comparisons();
                let is_compared = comparisons != self.comparisons;
                self.comparisons = comparisons;
                if is_first {
                    return Vec::new();
                }
                let changed = self.changed(&changes, is_compared);
                if !changed.is_empty() {
                    return changed;
                }
            }
            // Polling instead of file notifications: they need one watch per folder, differ per
            // system and miss network drives, and a look reads metadata only.
            tokio::time::sleep(WATCH_INTERVAL).await;
        }
    }

    fn changed(&self, changes: &LiveChanges, is_compared: bool) -> Vec<ChangeTopic> {
        let is_changed = |topic: &&ChangeTopic| match topic {
            ChangeTopic::Ledger => changes.entries,
            ChangeTopic::Runs => !changes.runs.is_empty(),
            ChangeTopic::Inbox => is_compared,
            ChangeTopic::File(path) => changes.files.contains(path.as_str()),
        };
        self.topics.iter().filter(is_changed).cloned().collect()
    }
}

impl KnowledgeSource for LocalSource {
    async fn overview(&self) -> Result<SourceOverview, KnowledgeError> {
        Ok(SourceOverview {
            pending: self.checks.pending(),
            optional: OptionalPages {
                forage: forage::is_configured(),
                peers: peers::is_configured(),
            },
            ..self.overview.clone()
        })
    }

    async fn home(&self) -> Result<HomeView, KnowledgeError> {
        let checks = self.checks.clone();
        self.quick
            .ask(move |engine| health::home(engine, &checks))
            .await
    }

    async fn entries(&self, query: EntryListQuery) -> Result<EntryListView, KnowledgeError> {
        let ask = move |engine: &mut ken_engine::Engine| {
            // Without words there is nothing to rank; a list has cursors and facets instead.
            if query.words.trim().is_empty() {
                entries::list(engine, &query)
            } else {
                entries::search(engine, &query)
            }
        };
        self.quick.ask(ask).await
    }

    async fn entry(&self, wanted: String) -> Result<EntryView, KnowledgeError> {
        self.quick
            .ask(move |engine| entries::entry(engine, &wanted))
            .await
    }

    async fn history(&self, wanted: String) -> Result<HistoryView, KnowledgeError> {
        self.quick
            .ask(move |engine| entries::history(engine, &wanted))
            .await
    }

    async fn neighbors(&self, wanted: String) -> Result<NeighborsView, KnowledgeError> {
        self.slow
            .ask(move |engine| entries::neighbors(engine, &wanted))
            .await
    }

    async fn path(
        &self,
        path: RepoPath,
        revision: Option<String>,
    ) -> Result<PathView, KnowledgeError> {
        let checks = self.checks.clone();
        let mut view = self
            .quick
            .ask(move |engine| code::path(engine, &checks, &path, revision.as_deref()))
            .await?;
        if let PathView::File(file) = &mut view {
            file.revisions = vec!["HEAD".to_owned(), self.default_base.clone()];
        }
        Ok(view)
    }

    async fn inbox(&self, lane: Option<InboxLane>) -> Result<InboxView, KnowledgeError> {
        self.compare(lane).await?;
        self.check_again();
        let checks = self.checks.clone();
        self.slow
            .ask(move |engine| inbox::inbox(engine, &checks, lane))
            .await
    }

    async fn change(&self, base: Option<String>) -> Result<ChangeView, KnowledgeError> {
        let base = base.or_else(|| self.base.clone());
        self.slow
            .ask(move |engine| code::change(engine, base.as_deref()))
            .await
    }

    async fn documents(&self) -> Result<DocumentsView, KnowledgeError> {
        self.slow.ask(code::documents).await
    }

    async fn brief(&self, query: BriefQuery) -> Result<BriefView, KnowledgeError> {
        let environment = self.environment.clone();
        self.slow
            .ask(move |engine| runs::brief(engine, &environment, &query))
            .await
    }

    async fn runs(&self, query: RunListQuery) -> Result<RunListView, KnowledgeError> {
        self.quick
            .ask(move |engine| runs::runs(engine, &query))
            .await
    }

    async fn run(&self, run: String) -> Result<RunView, KnowledgeError> {
        self.quick.ask(move |engine| runs::run(engine, &run)).await
    }

    async fn impact(&self) -> Result<ImpactView, KnowledgeError> {
        let checks = self.checks.clone();
        self.slow.ask(move |engine| checks.impact(engine)).await
    }

    async fn health(&self) -> Result<HealthView, KnowledgeError> {
        let checks = self.checks.clone();
        self.slow.ask(move |engine| checks.health(engine)).await
    }

    async fn stats(&self) -> Result<StatsView, KnowledgeError> {
        self.quick.ask(health::stats).await
    }

    async fn norms(&self, path: Option<RepoPath>) -> Result<NormsView, KnowledgeError> {
        self.quick
            .ask(move |engine| entries::norms(engine, path.as_ref()))
            .await
    }

    async fn people(&self) -> Result<PeopleView, KnowledgeError> {
        let checks = self.checks.clone();
        self.slow.ask(move |engine| checks.people(engine)).await
    }

    async fn forage(&self) -> Result<ForageView, KnowledgeError> {
        self.slow.ask(forage::forage).await
    }

    async fn peers(&self) -> Result<PeersView, KnowledgeError> {
        let environment = self.environment.clone();
        self.slow.ask(move |_| peers::peers(&environment)).await
    }

    async fn peer(&self, peer: String, query: PeerQuery) -> Result<PeerView, KnowledgeError> {
        let environment = self.environment.clone();
        self.slow
            .ask(move |engine| peers::peer(engine, &environment, &peer, &query))
            .await
    }

    async fn document(&self, mut page: PageAddress) -> Result<Value, KnowledgeError> {
        if let PageAddress::Change { base } = &mut page {
            // The JSON of a page must compare with the same base as the page.
            *base = base.take().or_else(|| self.base.clone());
        }
        if let PageAddress::Inbox { .. } = page {
            // Without a comparison the JSON would say that nothing contradicts.
            self.compare(Some(InboxLane::Contradictions)).await?;
            self.check_again();
        }
        let (environment, checks) = (self.environment.clone(), self.checks.clone());
        self.slow
            .ask(move |engine| documents::document(engine, &environment, &checks, &page))
            .await
    }

    async fn act(&self, request: ActionRequest) -> Result<ActionResult, KnowledgeError> {
        if self.overview.person.is_none() {
            let message = "these pages are read only: git has no identity for you";
            return Err(KnowledgeError::new(KnowledgeErrorCause::Forbidden, message));
        }
        let environment = self.environment.clone();
        // An undo can change any entry, so nothing that was compared before it stays valid.
        let is_undo = matches!(request.action, UserAction::Undo(_));
        let pair = if let UserAction::OnPair { first, second, .. } = request.action {
            Some((first, second))
        } else {
            None
        };
        // A ledger of its own per action, under the lock that commands take: the engines of the
        // pages only read.
        let work = tokio::task::spawn_blocking(move || actions::act(&environment, request));
        let done = match work.await {
            Ok(done) => done.map_err(to_knowledge_error)?,
            Err(_) => {
                let message = "internal error in Ken; see its terminal";
                return Err(KnowledgeError::new(KnowledgeErrorCause::Internal, message));
            }
        };
        match (pair, done.entry) {
            (Some((first, second)), _) => self.checks.decided(first, Some(second)),
            (None, Some(entry)) if !is_undo => self.checks.decided(entry, None),
            (None, _) => self.checks.invalidate(),
        }
        Ok(done)
    }

    fn watch(
        &self,
        topics: Vec<ChangeTopic>,
    ) -> impl Stream<Item = Vec<ChangeTopic>> + Send + 'static {
        let watched = topics.iter().filter_map(|topic| match topic {
            ChangeTopic::File(path) => Some(path.to_string()),
            ChangeTopic::Ledger | ChangeTopic::Runs | ChangeTopic::Inbox => None,
        });
        let state = WatchState {
            watched: watched.collect(),
            source: self.clone(),
            topics,
            last: None,
            comparisons: 0,
        };
        stream::unfold(state, |mut state| async move {
            Some((state.next().await, state))
        })
    }
}
