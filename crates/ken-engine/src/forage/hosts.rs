//! Other machines: hosts that the user allows or locked dependencies declare, and what search
//! services find on them.
//!
//! A host sees only requests for its own pages. A search service sees only public words.

use std::collections::BTreeSet;
use std::sync::Arc;

use ken_core::ledger::event::{DomainAction, FetchLevel};
use ken_core::ledger::store::DerivedStore as _;
use ken_core::ledger::workspace::{FetchStrategy, WorkspaceState};
use ken_core::retrieval::words::query_words;
use ken_core::trust::similarity::stem;
use ken_core::values::time::Timestamp;
use ken_fetch::{
    EgressPolicy, FetchAttempt, FetchGateway, FetchRefusal, FetchState, FetchedPage, PageFormat,
};
use ken_forage::{DocumentFormat, PassageSource, is_page_opted_out, read_blocks, split_passages};

use super::config::ForageConfig;
use super::declared::declared_hosts;
use super::query::build_query;
use super::search_services::{self, SearchResult};
use super::state::{self, ForageLogLine, ForageState};
use super::strategy::{is_paused, known_strategy};
use super::{
    DocumentOrigin, ForageQuestion, ForageReport, ForageSourceKind, Material, PackageCopy,
    PackageFolders, PinnedPackage, content_hash, names,
};
use crate::engine::Engine;
use crate::error::EngineError;

/// Maximum number of pages per question and host besides `llms.txt`.
const PAGES_MAX: usize = 2;
/// Minimum number of content words that a link shares with the question.
const SHARED_WORDS_MIN: usize = 2;
/// Maximum number of links read in `llms.txt`.
const LINKS_MAX: usize = 2_000;
/// Maximum number of hosts that the packages of one question declare.
const DECLARED_HOSTS_MAX: usize = 3;
/// Maximum number of hosts named in a report that are not allowed.
const REFUSED_HOSTS_SHOWN: usize = 3;

/// What reading other machines needs besides the engine.
pub(super) struct NetworkRequest<'a> {
    pub(super) config: &'a ForageConfig,
    pub(super) folders: &'a PackageFolders,
    pub(super) question: &'a ForageQuestion,
    /// The network sources, in the order of the configuration.
    pub(super) sources: &'a [ForageSourceKind],
    /// Copies of the packages that the question is about.
    pub(super) packages: &'a [PackageCopy],
    pub(super) pinned: &'a [PinnedPackage],
}

/// One question's access to other machines.
struct NetworkReader<'a> {
    request: &'a NetworkRequest<'a>,
    gateway: &'a mut FetchGateway,
    workspace: WorkspaceState,
    state: ForageState,
    now: Timestamp,
    material: &'a mut Material,
    report: &'a mut ForageReport,
}

/// Reads what other machines have about a question. Without `gateway`, the system's network.
pub(super) fn read_network(
    engine: &mut Engine,
    request: &NetworkRequest<'_>,
    gateway: Option<&mut FetchGateway>,
    material: &mut Material,
    report: &mut ForageReport,
) -> Result<(), EngineError> {
    let workspace = engine.index.workspace()?;
    let stored = state::load(engine)?;
    let declared = request.declared_hosts(engine);
    let mut own;
    let gateway = match gateway {
        Some(gateway) => gateway,
        None => {
            let mut config = request.config.clone();
            config.egress.allow.extend(declared.iter().cloned());
            let (policy, budget) = config.egress();
            // A state that cannot be read begins anew: lost are the counters of a day and the
            // pauses that hosts asked for.
            let known: FetchState =
                serde_json::from_value(stored.fetch.clone()).unwrap_or_default();
            own = FetchGateway::new(policy, budget, config.contact.as_deref()).with_state(known);
            &mut own
        }
    };
    // In the policy and not only here, because a redirect could lead to such a host.
    let distrusted = workspace.domain_overrides();
    let distrusted = distrusted.filter(|it| it.1 == DomainAction::Distrust);
    gateway.deny_also(distrusted.map(|it| it.0.to_owned()));
    let mut reader = NetworkReader {
        request,
        gateway,
        workspace,
        state: stored,
        now: engine.now(),
        material,
        report,
    };
    for source in request.sources {
        match source {
            ForageSourceKind::Hosts => reader.read_hosts(&declared),
            ForageSourceKind::Searxng | ForageSourceKind::Brave => {
                reader.read_results(engine, *source)?;
            }
            ForageSourceKind::Packages | ForageSourceKind::Folders => {}
        }
    }
    let NetworkReader {
        gateway, mut state, ..
    } = reader;
    log_attempts(engine, gateway.take_attempts())?;
    state.fetch = serde_json::to_value(gateway.state()).unwrap_or_default();
    state::store(engine, &state)
}

impl NetworkRequest<'_> {
    /// Returns the hosts that the packages of the question declare, if the user allows that.
    fn declared_hosts(&self, engine: &Engine) -> Vec<String> {
        if !self.config.egress.declared {
            return Vec::new();
        }
        let mut found: Vec<String> = Vec::new();
        for copy in self.packages {
            // A manifest inside of the repository could name any host, and a repository must not
            // choose hosts.
            if copy.roots.iter().any(|it| it.starts_with(engine.root())) {
                continue;
            }
            for host in declared_hosts(copy.package.ecosystem, &copy.manifest) {
                if !found.contains(&host) && found.len() < DECLARED_HOSTS_MAX {
                    found.push(host);
                }
            }
        }
        found
    }
}

impl NetworkReader<'_> {
    /// Reads `llms.txt` of every host and the pages it lists that fit.
    fn read_hosts(&mut self, declared: &[String]) {
        let mut asked = BTreeSet::new();
        for host in self.request.config.egress.allow.iter().chain(declared) {
            if asked.insert(host) && self.may_ask(host) {
                self.read_host(host);
            }
        }
    }

    /// Returns whether a host may be asked; if not, the report says why.
    fn may_ask(&mut self, host: &str) -> bool {
        if self.workspace.domain_override(host) == Some(DomainAction::Distrust) {
            let why = format!("{host}: a person distrusts this domain");
            self.report.refusals.push(why);
            return false;
        }
        if is_paused(self.strategy(host), self.now) {
            let why = format!("{host}: its pages gave no passage recently, so it is paused");
            self.report.refusals.push(why);
            return false;
        }
        true
    }

    fn strategy(&self, host: &str) -> Option<ken_core::ledger::workspace::LearnedStrategy> {
        known_strategy(&self.workspace, &self.state, host)
    }

    fn read_host(&mut self, host: &str) {
        let url = self.gateway.policy().url_of(host, "/llms.txt");
        let index = match self.gateway.fetch(&url) {
            Ok(page) => page,
            Err(refusal) => return refuse(self.report, host, &refusal),
        };
        let links = fitting_links(&index, self.request.question, self.gateway.policy());
        self.add_page(index, host, None);
        for link in links {
            self.read_page(&link, host, None);
        }
    }

    /// Reads a page; where Markdown worked before, its Markdown form first.
    fn read_page(&mut self, url: &str, host: &str, query: Option<&str>) {
        let learned = self.strategy(host).map(|it| it.strategy);
        let is_html =
            url.ends_with(".html") || !url.rsplit('/').next().unwrap_or(url).contains('.');
        if learned == Some(FetchStrategy::Markdown) && is_html && !url.ends_with('/') {
            let twin = format!("{}.md", url.trim_end_matches(".html"));
            if let Ok(page) = self.gateway.fetch(&twin) {
                return self.add_page(page, host, query);
            }
        }
        match self.gateway.fetch(url) {
            Ok(page) => self.add_page(page, host, query),
            Err(refusal) => refuse(self.report, host, &refusal),
        }
    }

    /// Asks a search service and reads the best pages on allowed hosts.
    fn read_results(
        &mut self,
        engine: &Engine,
        service: ForageSourceKind,
    ) -> Result<(), EngineError> {
        let NetworkRequest {
            config,
            folders,
            question,
            pinned,
            ..
        } = self.request;
        let (public, private) = names::words_of_repository(engine, config, folders, pinned)?;
        let query = build_query(&question.text, &engine.guard.policy, &public, &private);
        let Some(query) = query else {
            let why = format!(
                "{}: not asked, because fewer than two words of the question are public",
                service.name()
            );
            self.report.refusals.push(why);
            return Ok(());
        };
        let today = self.now.date().to_string();
        if self.state.searches_on(&today) >= config.budget.searches_per_day {
            let why = format!(
                "{}: the limit of searches per day is reached",
                service.name()
            );
            self.report.refusals.push(why);
            return Ok(());
        }
        // Counted and stored before the request: a process that is killed has spent it.
        self.state.count_search(&today);
        state::store(engine, &self.state)?;
        self.report
            .sent
            .push(format!("{}: {query}", service.name()));
        match search_services::search(service, config, &query) {
            Ok(results) => self.read_found(results, &query, service),
            Err(why) => self.report.refusals.push(why),
        }
        Ok(())
    }

    fn read_found(&mut self, results: Vec<SearchResult>, query: &str, service: ForageSourceKind) {
        let wanted = stems(&self.request.question.text);
        let mut fitting: Vec<(usize, String, String)> = Vec::new();
        let mut elsewhere: Vec<String> = Vec::new();
        for result in results {
            let words = stems(&result.text);
            let shared = wanted.iter().filter(|it| words.contains(it)).count();
            match self.gateway.policy().check(&result.url) {
                Ok(url) if shared >= SHARED_WORDS_MIN => {
                    fitting.push((shared, url.as_str().to_owned(), url.host().to_owned()));
                }
                Ok(_) => {}
                Err(FetchRefusal::NotAllowed(host)) if !elsewhere.contains(&host) => {
                    elsewhere.push(host);
                }
                Err(_) => {}
            }
        }
        if !elsewhere.is_empty() {
            let (count, name) = (elsewhere.len(), service.name());
            elsewhere.truncate(REFUSED_HOSTS_SHOWN);
            let hosts = elsewhere.join(", ");
            let why = format!("{name}: results of {count} hosts that you did not allow: {hosts}");
            self.report.refusals.push(why);
        }
        // A stable sort: the service's order decides among pages that fit as well.
        fitting.sort_by_key(|it| std::cmp::Reverse(it.0));
        fitting.dedup_by(|a, b| a.1 == b.1);
        for (_, url, host) in fitting.into_iter().take(PAGES_MAX) {
            if self.may_ask(&host) {
                self.read_page(&url, &host, Some(query));
            }
        }
    }

    fn add_page(&mut self, page: FetchedPage, host: &str, query: Option<&str>) {
        self.report.pages += 1;
        if page.format == PageFormat::Html && is_page_opted_out(&page.text) {
            return refuse(self.report, host, &FetchRefusal::OptedOut);
        }
        let (format, level) = match page.format {
            PageFormat::Html => (DocumentFormat::Html, FetchLevel::Html),
            // `llms.txt` is Markdown that is served as plain text.
            PageFormat::Markdown | PageFormat::Text => {
                (DocumentFormat::Markdown, FetchLevel::Markdown)
            }
        };
        let path: Arc<str> = page.url.as_str().into();
        let blocks = read_blocks(format, &page.text);
        let passages = split_passages(&path, PassageSource::Guide, blocks);
        self.material.passages.extend(passages);
        self.material.origins.push(DocumentOrigin {
            prefix: Arc::clone(&path),
            package: None,
            is_trusted: self.workspace.domain_override(&page.host) == Some(DomainAction::Trust),
            host: Some(page.host),
            license: None,
            level,
            read_at: Timestamp::from_millis(page.read_ms),
            query: query.map(str::to_owned),
            hashes: vec![("".into(), content_hash(&page.text))],
        });
        self.report.documents += 1;
    }
}

fn refuse(report: &mut ForageReport, host: &str, refusal: &FetchRefusal) {
    report.refusals.push(format!("{host}: {refusal}"));
}

fn stems(text: &str) -> Vec<String> {
    query_words(text)
        .into_iter()
        .map(|(word, _)| stem(&word))
        .collect()
}

/// Returns the links of `llms.txt` whose text shares words with the question, best first.
fn fitting_links(
    index: &FetchedPage,
    question: &ForageQuestion,
    policy: &EgressPolicy,
) -> Vec<String> {
    let wanted = stems(&question.text);
    let mut scored: Vec<(usize, String)> = Vec::new();
    for line in index.text.lines().take(LINKS_MAX) {
        let Some((_, rest)) = line.split_once("](") else {
            continue;
        };
        let Some((target, _)) = rest.split_once(')') else {
            continue;
        };
        let words = stems(&line.replace("](", " "));
        let shared = wanted.iter().filter(|it| words.contains(it)).count();
        let url = if target.starts_with('/') {
            policy.url_of(&index.host, target)
        } else {
            target.to_owned()
        };
        // The gateway checks the host, the scheme and everything else.
        if shared >= SHARED_WORDS_MIN {
            scored.push((shared, url));
        }
    }
    scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.dedup_by(|a, b| a.1 == b.1);
    scored.into_iter().take(PAGES_MAX).map(|it| it.1).collect()
}

fn log_attempts(engine: &Engine, attempts: Vec<FetchAttempt>) -> Result<(), EngineError> {
    let at = engine.now().millis();
    let lines = attempts.into_iter().map(|it| ForageLogLine {
        at,
        source: it.host,
        verdict: if it.verdict == "ok" {
            "read".to_owned()
        } else {
            it.verdict.to_owned()
        },
        bytes: it.bytes,
        millis: it.millis,
    });
    state::append(engine, lines)
}
