//! Admission: the best findings become proposals that the guard scans and quarantines.

use ken_core::decide::{Draft, Proposal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{
    EventBody, ForageCompleted, ForageMode, ForageProvenance, ForageRequested, Origin,
};
use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::citation::{CitationSource, CitationType};
use ken_core::values::condition::{self, Ecosystem};
use ken_core::values::content::Content;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_core::values::text::{ClaimText, Condition, Note, Statement, Tag};

use super::{
    ForageFinding, ForageQuestion, ForageReport, ForageSetup, PinnedPackage, state, strategy,
};
use crate::engine::Engine;
use crate::error::EngineError;

/// Minimum quality of an entry, in thousandths.
const QUALITY_MIN_MILLI: u16 = 550;

/// Result of an admission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForageOutcome {
    /// New entries, all quarantined.
    pub entries: Vec<EntryId>,
    /// Findings that an entry states already, or that were retracted before.
    pub known: u32,
    /// Findings that the guard refused, or whose quality is too low.
    pub refused: u32,
    /// Set if a limit ended the admission: attention is the budget.
    pub limit: Option<&'static str>,
}

/// Proposes the findings of a question as entries, within the budgets, and records the request.
pub(crate) fn admit(
    engine: &mut Engine,
    setup: &ForageSetup,
    question: &ForageQuestion,
    report: &ForageReport,
    by: &Actor,
) -> Result<ForageOutcome, EngineError> {
    let started = engine.now();
    let today = started.date().to_string();
    let budget = setup.config.budget;
    let mut state = state::load(engine)?;
    let mut waiting = state::waiting(engine)?;
    let mut outcome = ForageOutcome::default();
    // First, so that a killed process leaves a request without a completion.
    let request = record_request(engine, question, by)?;
    for finding in &report.findings {
        outcome.limit = if waiting >= budget.waiting as usize {
            Some("too many foraged entries wait for a person")
        } else if state.entries_on(&today) >= budget.entries_per_day {
            Some("the limit of entries per day is reached")
        } else if outcome.entries.len() >= budget.entries_per_run as usize {
            Some("the limit of entries per question is reached")
        } else {
            None
        };
        if outcome.limit.is_some() {
            break;
        }
        let Some(proposal) = proposal(engine, finding, question.mode) else {
            outcome.refused += 1;
            continue;
        };
        if is_known(engine, &proposal.content.statement)? {
            outcome.known += 1;
            continue;
        }
        match engine.add(proposal, &author(finding)) {
            Ok(entry) => {
                outcome.entries.push(entry.id);
                waiting += 1;
                state.count_entries(&today, 1);
                // Stored at once: a process that is killed must not spend the budget twice.
                state::store(engine, &state)?;
            }
            // Retracted before: nobody is asked again.
            Err(EngineError::Refused(_)) => outcome.known += 1,
            Err(EngineError::RejectedByGuard(_) | EngineError::QualityTooLow { .. }) => {
                outcome.refused += 1;
            }
            Err(error) => return Err(error),
        }
    }
    let duration_ms = engine.now().millis().saturating_sub(started.millis());
    record_completion(engine, request, report, &outcome, duration_ms, by)?;
    strategy::record_strategies(engine, by)?;
    Ok(outcome)
}

/// Returns whether an entry states this already, or did before it was quarantined or retracted.
fn is_known(engine: &mut Engine, statement: &Statement) -> Result<bool, EngineError> {
    // The same passage, word for word: a person decided about it, or will.
    let says = |it: &Entry| {
        let content = it.content.as_ref();
        content.is_some_and(|it| it.statement == *statement)
    };
    if state::foraged_entries(engine)?.iter().any(says) {
        return Ok(true);
    }
    Ok(!engine.entries_stating(statement)?.is_empty())
}

fn record_request(
    engine: &mut Engine,
    question: &ForageQuestion,
    by: &Actor,
) -> Result<EventId, EngineError> {
    // A fixed phrase: the question may have private words, and events are shared.
    let reason: Note = match question.mode {
        ForageMode::Operator => "a person asked",
        ForageMode::Reactive => "a search had no good answer",
        ForageMode::Proactive => "a health rule found a gap",
    }
    .parse()
    .expect("a short line is a note");
    let body = EventBody::ForageRequested(ForageRequested {
        mode: question.mode,
        reason,
    });
    let draft = Draft {
        about: Vec::new(),
        body,
    };
    let recorded = engine.record(vec![draft], by)?;
    let first = recorded.first().map(|it| it.event.id);
    first.ok_or_else(|| EngineError::Usage("the request was not recorded".to_owned()))
}

fn record_completion(
    engine: &mut Engine,
    request: EventId,
    report: &ForageReport,
    outcome: &ForageOutcome,
    duration_ms: u64,
    by: &Actor,
) -> Result<(), EngineError> {
    let body = EventBody::ForageCompleted(ForageCompleted {
        request,
        fetched: report.pages,
        admitted: u32::try_from(outcome.entries.len()).unwrap_or(u32::MAX),
        rejected: outcome.refused + outcome.known,
        duration_ms,
    });
    let draft = Draft {
        about: Vec::new(),
        body,
    };
    engine.record(vec![draft], by)?;
    Ok(())
}

/// Returns the author of foraged entries: one per host, below one name that can be revoked.
fn author(finding: &ForageFinding) -> Actor {
    let place = match (&finding.host, &finding.package) {
        (Some(host), _) => host.as_str(),
        (None, Some(_)) => "packages",
        (None, None) => "folders",
    };
    Actor::from_claim(ActorRole::Import, &format!("forage/{place}"))
}

/// Returns the proposal for a finding; `None` if it is no claim or too weak.
fn proposal(engine: &Engine, finding: &ForageFinding, mode: ForageMode) -> Option<Proposal> {
    if finding.text.is_empty() || finding.quality_milli < QUALITY_MIN_MILLI {
        return None;
    }
    let mut content = Content::from_claim(ClaimText {
        statement: statement_text(finding).parse().ok()?,
        body: body_text(engine, finding).parse().ok(),
    });
    let tag = match &finding.package {
        Some(package) => {
            let name = package.name.to_lowercase().replace(['@', '/'], "-");
            format!("pkg/{}", name.trim_matches('-'))
        }
        None => "web".to_owned(),
    };
    // A name that is no valid tag loses the tag, not the entry.
    content.tags.extend(tag.parse::<Tag>());
    let condition = finding.package.as_ref().and_then(package_condition);
    content.depends_on.extend(condition);
    let reference = citation_text(finding).parse().ok()?;
    let cited = CitationSource::new(CitationType::Doc, reference).ok()?;
    let citation = cited.cite(&author(finding), engine.now());
    let kind = EntryKind::Learning;
    let mut proposal = Proposal::new(kind, content, vec![citation], Origin::Web);
    proposal.foraged = Some(Box::new(provenance(finding, mode)?));
    Some(proposal)
}

fn provenance(finding: &ForageFinding, mode: ForageMode) -> Option<ForageProvenance> {
    Some(ForageProvenance {
        source_url: finding.address.parse().ok()?,
        fetch_timestamp: finding.read_at,
        fetch_level: finding.level,
        forager_trigger: mode,
        forager_query: match &finding.query {
            Some(query) => Some(query.parse().ok()?),
            None => None,
        },
        quality_score_milli: finding.quality_milli,
        content: finding.content.parse().ok()?,
        license: finding.license.as_ref().and_then(|it| it.parse().ok()),
    })
}

/// Returns the statement: who says it, where, and the verbatim text.
fn statement_text(finding: &ForageFinding) -> String {
    let who = match (&finding.package, &finding.host) {
        (Some(PinnedPackage { name, version, .. }), _) => {
            format!("Documentation of {name} {version}")
        }
        (None, Some(host)) => host.clone(),
        (None, None) => "Local documentation".to_owned(),
    };
    let heading = finding.heading.rsplit(" > ").next().unwrap_or_default();
    // A heading that is a sentence would count as one.
    let heading = heading
        .trim_end_matches(['.', '!', '?', ':'])
        .replace(['.', '!', '?'], "·");
    if heading.is_empty() {
        format!("{who} says: {}", finding.text)
    } else {
        format!("{who} on “{heading}”: {}", finding.text)
    }
}

/// Returns the body: the example, the place and the license.
fn body_text(engine: &Engine, finding: &ForageFinding) -> String {
    let mut body = String::new();
    if let Some(code) = &finding.code {
        body.push_str(&format!("```\n{code}\n```\n\n"));
    }
    let license = finding.license.as_deref().unwrap_or("not stated");
    body.push_str(&format!(
        "Source: {} line {}, read on {}, {}, license: {license}",
        finding.address,
        finding.line,
        engine.now().date(),
        finding.content
    ));
    body
}

fn citation_text(finding: &ForageFinding) -> String {
    match &finding.host {
        Some(_) => finding.address.clone(),
        None => format!("{}:{}", finding.address, finding.line),
    }
}

/// Returns the condition that ends the claim when the lockfile leaves the version's range.
pub(super) fn package_condition(package: &PinnedPackage) -> Option<Condition> {
    let PinnedPackage {
        ecosystem,
        name,
        version,
        ..
    } = package;
    // An `@` begins the version, so the one of an npm scope is escaped.
    let spelled = name.replace('@', "%40");
    let range = match ecosystem {
        Ecosystem::Cargo | Ecosystem::Npm => format!("^{version}"),
        Ecosystem::Composer
        | Ecosystem::Gem
        | Ecosystem::Golang
        | Ecosystem::Maven
        | Ecosystem::Pypi => match next_major(version) {
            Some(next) => format!(">={version}|<{next}"),
            None => version.clone(),
        },
    };
    let text = format!("pkg:{}/{spelled}@{range}", ecosystem.name());
    let stored: Condition = text.parse().ok()?;
    condition::parse_stored(&stored).ok()?;
    Some(stored)
}

/// Returns the first version that may break compatibility: the next major, or minor below 1.
fn next_major(version: &str) -> Option<String> {
    let (v, digits) = match version.strip_prefix('v') {
        Some(rest) => ("v", rest),
        None => ("", version),
    };
    let mut parts = digits.split('.');
    let major: u64 = parts.next()?.parse().ok()?;
    if major > 0 {
        return Some(format!("{v}{}.0.0", major + 1));
    }
    let minor: u64 = parts.next()?.parse().ok()?;
    Some(format!("{v}0.{}.0", minor + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition_of(ecosystem: Ecosystem, name: &str, version: &str) -> Option<String> {
        let package = PinnedPackage {
            ecosystem,
            name: name.to_owned(),
            version: version.to_owned(),
            path: "lock".to_owned(),
        };
        package_condition(&package).map(|it| it.to_string())
    }

    #[test]
    fn a_claim_ends_with_the_compatible_versions() {
        let table = [
            (
                Ecosystem::Cargo,
                "tokio",
                "1.40.0",
                "pkg:cargo/tokio@^1.40.0",
            ),
            (
                Ecosystem::Npm,
                "@types/node",
                "22.1.0",
                "pkg:npm/%40types/node@^22.1.0",
            ),
            (
                Ecosystem::Pypi,
                "requests",
                "2.32.5",
                "pkg:pypi/requests@>=2.32.5|<3.0.0",
            ),
            (
                Ecosystem::Pypi,
                "httpx",
                "0.28.1",
                "pkg:pypi/httpx@>=0.28.1|<0.29.0",
            ),
            (
                Ecosystem::Golang,
                "github.com/spf13/cobra",
                "v1.8.0",
                "pkg:golang/github.com/spf13/cobra@>=v1.8.0|<v2.0.0",
            ),
        ];
        for (ecosystem, name, version, expected) in table {
            assert_eq!(
                condition_of(ecosystem, name, version).as_deref(),
                Some(expected),
                "{name}"
            );
        }
    }
}
