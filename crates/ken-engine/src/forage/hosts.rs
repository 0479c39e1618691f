//! Hosts that the user allows: their `llms.txt`, and the pages it lists that fit the question.
//!
//! Nothing of the question is sent: a host sees only requests for its own pages.

use std::sync::Arc;

use ken_core::retrieval::words::query_words;
use ken_core::trust::similarity::stem;
use ken_fetch::{
    EgressPolicy, FetchAttempt, FetchGateway, FetchRefusal, FetchState, FetchedPage, PageFormat,
};
use ken_forage::{DocumentFormat, PassageSource, is_page_opted_out, read_blocks, split_passages};

use super::config::ForageConfig;
use super::state::{self, ForageLogLine};
use super::{DocumentOrigin, ForageQuestion, ForageReport, Material, content_hash};
use crate::engine::Engine;
use crate::error::EngineError;

/// Maximum number of pages per question besides `llms.txt`.
const PAGES_MAX: usize = 2;
/// Minimum number of content words that a link shares with the question.
const SHARED_WORDS_MIN: usize = 2;
/// Maximum number of links read in `llms.txt`.
const LINKS_MAX: usize = 2_000;

/// Reads the pages of allowed hosts that fit a question. Without `gateway`, the system's network.
pub(super) fn read_hosts(
    engine: &mut Engine,
    config: &ForageConfig,
    question: &ForageQuestion,
    gateway: Option<&mut FetchGateway>,
    material: &mut Material,
    report: &mut ForageReport,
) -> Result<(), EngineError> {
    let mut stored = state::load(engine)?;
    let mut own;
    let gateway = match gateway {
        Some(gateway) => gateway,
        None => {
            let (policy, budget) = config.egress();
            // A state that cannot be read begins anew: lost are the counters of a day and the
            // pauses that hosts asked for.
            let known: FetchState =
                serde_json::from_value(stored.fetch.clone()).unwrap_or_default();
            own = FetchGateway::new(policy, budget, config.contact.as_deref()).with_state(known);
            &mut own
        }
    };
    for host in &config.egress.allow {
        read_host(host, question, gateway, material, report);
    }
    log_attempts(engine, gateway.take_attempts())?;
    stored.fetch = serde_json::to_value(gateway.state()).unwrap_or_default();
    state::store(engine, &stored)
}

fn read_host(
    host: &str,
    question: &ForageQuestion,
    gateway: &mut FetchGateway,
    material: &mut Material,
    report: &mut ForageReport,
) {
    let url = gateway.policy().url_of(host, "/llms.txt");
    let index = match gateway.fetch(&url) {
        Ok(page) => page,
        Err(refusal) => return refuse(report, host, &refusal),
    };
    let links = fitting_links(&index, question, gateway.policy());
    add_page(index, host, material, report);
    for link in links {
        match gateway.fetch(&link) {
            Ok(page) => add_page(page, host, material, report),
            Err(refusal) => refuse(report, host, &refusal),
        }
    }
}

fn refuse(report: &mut ForageReport, host: &str, refusal: &FetchRefusal) {
    report.refusals.push(format!("{host}: {refusal}"));
}

/// Returns the links of `llms.txt` whose text shares words with the question, best first.
fn fitting_links(
    index: &FetchedPage,
    question: &ForageQuestion,
    policy: &EgressPolicy,
) -> Vec<String> {
    let stems = |text: &str| -> Vec<String> {
        query_words(text)
            .into_iter()
            .map(|(word, _)| stem(&word))
            .collect()
    };
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

fn add_page(page: FetchedPage, host: &str, material: &mut Material, report: &mut ForageReport) {
    report.pages += 1;
    if page.format == PageFormat::Html && is_page_opted_out(&page.text) {
        return refuse(report, host, &FetchRefusal::OptedOut);
    }
    let format = match page.format {
        PageFormat::Html => DocumentFormat::Html,
        // `llms.txt` is Markdown that is served as plain text.
        PageFormat::Markdown | PageFormat::Text => DocumentFormat::Markdown,
    };
    let path: Arc<str> = page.url.as_str().into();
    let blocks = read_blocks(format, &page.text);
    material
        .passages
        .extend(split_passages(&path, PassageSource::Guide, blocks));
    material.origins.push(DocumentOrigin {
        prefix: Arc::clone(&path),
        package: None,
        host: Some(page.host),
        license: None,
        hashes: vec![("".into(), content_hash(&page.text))],
    });
    report.documents += 1;
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
