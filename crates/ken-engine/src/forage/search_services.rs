//! Search services: a SearXNG instance of the user, and Brave.
//!
//! Only the words of `query` are sent. Results are addresses and texts of strangers: a page is read
//! through the gateway only, and titles and snippets only choose among pages.

use std::time::Duration;

use ken_http::{CallError, CallLimits, CallTarget, EndpointClient, KeyStyle, PlaintextScope};
use serde::Deserialize;
use serde_json::Value;

use super::ForageSourceKind;
use super::config::{BraveSection, ForageConfig, SearxngSection};

/// Address of Brave's web search.
const BRAVE_URL: &str = "https://api.search.brave.com/res/v1/web/search";
/// Maximum number of results that are looked at.
const RESULTS_MAX: usize = 20;
const LIMITS: CallLimits = CallLimits {
    timeout: Duration::from_secs(10),
    response_bytes_max: 1 << 20,
};

/// A page that a service found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SearchResult {
    pub(super) url: String,
    /// Title and snippet.
    pub(super) text: String,
}

#[derive(Deserialize)]
struct ResultList {
    // Results of any form: one that cannot be read must not hide the others.
    results: Vec<Value>,
}

#[derive(Deserialize)]
struct BraveAnswer {
    #[serde(default)]
    web: Option<ResultList>,
}

impl ResultList {
    /// Returns the results with a URL; the snippet is the member `snippet`.
    fn into_results(self, snippet: &str) -> Vec<SearchResult> {
        let read = |it: Value| {
            let member = |key: &str| it.get(key).and_then(Value::as_str).unwrap_or_default();
            Some(SearchResult {
                url: it.get("url")?.as_str()?.to_owned(),
                text: format!("{} {}", member("title"), member(snippet)),
            })
        };
        let results = self.results.into_iter().filter_map(read);
        results.take(RESULTS_MAX).collect()
    }
}

/// Sends a query; an error is a sentence of ours, because a service's could repeat the query.
pub(super) fn search(
    kind: ForageSourceKind,
    config: &ForageConfig,
    query: &str,
) -> Result<Vec<SearchResult>, String> {
    match (kind, &config.searxng, &config.brave) {
        (ForageSourceKind::Searxng, Some(section), _) => search_searxng(section, query),
        (ForageSourceKind::Brave, _, Some(section)) => search_brave(section, query),
        _ => Err(format!("{} is not configured", kind.name())),
    }
}

fn search_searxng(section: &SearxngSection, query: &str) -> Result<Vec<SearchResult>, String> {
    const HINT: &str = "searxng: the instance does not answer in JSON; add `json` to `search.formats` in its settings";
    let target = CallTarget {
        url: format!("{}/search", section.url.trim_end_matches('/')),
        key_variable: None,
        key_style: KeyStyle::Bearer,
        // The user names the instance, which may be in their own network without a certificate;
        // the words of a query are public.
        plain: PlaintextScope::Anywhere,
        headers: Vec::new(),
    };
    let answer =
        call(&target, &[("q", query), ("format", "json")]).map_err(|error| match error {
            // An instance refuses formats that are not enabled with this status.
            ServiceError::Status(403) => HINT.to_owned(),
            ServiceError::Status(status) => format!("searxng: status {status}"),
            ServiceError::Other(why) => format!("searxng: {why}"),
        })?;
    let parsed: ResultList = serde_json::from_slice(&answer).map_err(|_| HINT.to_owned())?;
    Ok(parsed.into_results("content"))
}

fn search_brave(section: &BraveSection, query: &str) -> Result<Vec<SearchResult>, String> {
    let target = CallTarget {
        url: section.url.clone().unwrap_or_else(|| BRAVE_URL.to_owned()),
        key_variable: Some(section.key_variable.clone()),
        key_style: KeyStyle::SubscriptionToken,
        plain: PlaintextScope::Loopback,
        headers: Vec::new(),
    };
    let answer = call(&target, &[("q", query), ("count", "20")]).map_err(|error| match error {
        ServiceError::Status(401 | 403) => {
            format!(
                "brave: the key in `{}` is not accepted",
                section.key_variable
            )
        }
        ServiceError::Status(422) => "brave: the service does not accept the query".to_owned(),
        ServiceError::Status(429) => "brave: too many queries; try again later".to_owned(),
        ServiceError::Status(status) => format!("brave: status {status}"),
        ServiceError::Other(why) => format!("brave: {why}"),
    })?;
    let parsed: BraveAnswer = serde_json::from_slice(&answer)
        .map_err(|_| "brave: the answer has an unknown form".to_owned())?;
    let found = parsed.web.map(|it| it.into_results("description"));
    Ok(found.unwrap_or_default())
}

/// Failure of a service.
enum ServiceError {
    Status(u16),
    Other(String),
}

fn call(target: &CallTarget, parameters: &[(&str, &str)]) -> Result<Vec<u8>, ServiceError> {
    let client = EndpointClient::open(target, LIMITS);
    let client = client.map_err(|error| ServiceError::Other(error.to_string()))?;
    client.get(parameters).map_err(|error| match error {
        CallError::Refused { status, .. } => ServiceError::Status(status),
        CallError::Unreachable { .. } => ServiceError::Other(error.to_string()),
    })
}
