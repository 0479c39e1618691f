//! `ken_check`: norms and entries for paths or a change, and entries the change would invalidate.
//!
//! The agent asked explicitly, so the holdout does not apply. Exposures are recorded.

use ken_core::health::gates::{DECISION_GATE, VALIDITY_GATE};
use ken_core::ledger::entry::Entry;
use ken_core::retrieval::surface::{DetailTier, EntrySelection, single_line};
use ken_core::trust::run::ExposureChannel;
use ken_core::values::id::EntryId;
use ken_core::values::kind::IdPrefix;
use ken_engine::search::{RelevanceFloor, SearchOutcome, SearchQuery, SelectionLimits};
use ken_engine::validity::{AnchorVerdict, ChangeOrigin, EntryCheck};
use ken_engine::verify::{GateFinding, VerifyOutcome, VerifyScope};
use ken_mcp::ToolReply;
use ken_mcp::ask::{CheckArguments, ReplyFormat};
use ken_mcp::words::{self, ChangeEffects};

use super::CallContext;
use crate::failure::CommandFailure;
use crate::print::gate::CheckedEntryJson;

/// Maximum entries about the paths.
const ENTRIES_MAX: usize = 10;

/// The base of uncommitted work.
const LAST_COMMIT: &str = "HEAD";

/// The collected result of a check.
struct PathCheckResult {
    paths: Vec<String>,
    norms: EntrySelection,
    known: EntrySelection,
    withheld: Vec<EntryId>,
    /// The effects of the change; `None` if there was no change to compare.
    verified: Option<VerifyOutcome>,
}

pub(super) fn check(
    context: &mut CallContext<'_>,
    arguments: &CheckArguments,
) -> Result<ToolReply, CommandFailure> {
    let mut paths = context.places(&arguments.paths)?;
    // Explicit paths without a base are a question about these paths, not about the current work.
    let base = match (arguments.base.trim(), paths.is_empty()) {
        ("", false) => None,
        ("", true) => Some(LAST_COMMIT),
        (base, _) => Some(base),
    };
    let verified = match base {
        Some(base) => verify_change(context, base, arguments.base.trim().is_empty())?,
        None => None,
    };
    if paths.is_empty() {
        paths = match &verified {
            Some(_) if base != Some(LAST_COMMIT) => {
                context
                    .engine
                    .query_from_diff(base.unwrap_or_default())?
                    .paths
            }
            Some(_) | None => context.engine.changed_paths(),
        };
    }
    let norms = context.engine.norms_for(&paths)?;
    let (known, mut withheld) = entries_about(context, &paths)?;
    // Entries that the change itself invalidates are reported in its own section.
    let impact = verified.as_ref().map(|it| &it.validity);
    let is_invalid =
        |id: &EntryId| impact.is_some_and(|it| it.invalid.iter().any(|it| it.entry.id == *id));
    withheld.retain(|id| !is_invalid(id));
    let applies = PathCheckResult {
        paths,
        norms,
        known,
        withheld,
        verified,
    };
    let shown = applies.shown_entries();
    context
        .engine
        .record_exposures(context.reader, &shown, ExposureChannel::Pull)?;
    match arguments.format {
        ReplyFormat::Text => Ok(ToolReply::Text(applies.words().text())),
        ReplyFormat::Json => super::json_reply(&applies.words().object(applies.change())),
    }
}

/// Verifies entries against a change; returns `None` if an implicit base does not exist yet.
fn verify_change(
    context: &mut CallContext<'_>,
    base: &str,
    is_guess: bool,
) -> Result<Option<VerifyOutcome>, CommandFailure> {
    super::check_revision(base)?;
    let scope = VerifyScope::Change {
        base: Some(base),
        head: None,
        // The agent works in this clone, so the change counts as one of a member, not of a
        // stranger.
        from: ChangeOrigin::Member,
    };
    match context.engine.verify(scope, &mut |_, _| ()) {
        // A repository without commits has no `HEAD`. Only an explicit base is an error.
        Err(_) if is_guess => Ok(None),
        verified => Ok(Some(verified?)),
    }
}

/// Returns the entries about `paths`, without norms, and those withheld because the code changed.
fn entries_about(
    context: &mut CallContext<'_>,
    paths: &[String],
) -> Result<(EntrySelection, Vec<EntryId>), CommandFailure> {
    let search = SearchQuery {
        query: paths.join(" ").replace('/', " "),
        paths: paths.to_vec(),
        run: context.run(),
        floor: RelevanceFloor::Relevant,
        ..SearchQuery::default()
    };
    let mut answer = if paths.is_empty() {
        SearchOutcome::empty(ken_engine::model::Backend::None)
    } else {
        context.engine.search(&search, &mut |_, _| ())?
    };
    answer
        // The query text only ranks; an entry counts as about a path only through an anchor.
        .hits
        .retain(|hit| hit.anchored && hit.entry.id.prefix() != IdPrefix::Norm);
    let page = answer.page(SelectionLimits {
        cap: ENTRIES_MAX,
        // One line per entry and at most ten of them, so no token budget is needed.
        budget: usize::MAX,
        tier: Some(DetailTier::Summary),
        role: None,
    });
    let mut withheld = Vec::new();
    for (id, reason) in answer.withheld {
        if reason.is_about_code() && is_about(&context.engine.entry(id)?, paths) {
            withheld.push(id);
        }
    }
    Ok((page, withheld))
}

fn is_about(entry: &Entry, paths: &[String]) -> bool {
    let content = entry.content.as_ref();
    let mut anchors = content.into_iter().flat_map(|it| &it.anchors);
    anchors.any(|anchor| paths.iter().any(|path| anchor.at.overlaps(path)))
}

impl PathCheckResult {
    /// Returns the entries whose text is shown.
    fn shown_entries(&self) -> Vec<EntryId> {
        let pages = self.norms.shown.iter().chain(&self.known.shown);
        let impact = self
            .verified
            .iter()
            .flat_map(|it| it.validity.shown_entries());
        pages.map(|it| it.id).chain(impact).collect()
    }

    fn words(&self) -> words::ApplicableKnowledge<'_> {
        let change = self.verified.as_ref().map(|verified| {
            let impact = &verified.validity;
            // Findings of these gates repeat the entries of the first two sections.
            let others = verified
                .findings
                .iter()
                .filter(|it| ![VALIDITY_GATE, DECISION_GATE].contains(&it.gate));
            let (departed, invalid): (Vec<_>, Vec<_>) =
                impact.invalid.iter().partition(|it| it.is_departure());
            vec![
                (
                    "the change invalidates",
                    invalid.into_iter().map(entry_line).collect(),
                ),
                (
                    "decided before: check that the change still follows",
                    departed.into_iter().map(entry_line).collect(),
                ),
                (
                    "moved by the change",
                    impact.moved.iter().map(entry_line).collect(),
                ),
                ("findings", others.map(finding_line).collect()),
            ]
        });
        words::ApplicableKnowledge {
            paths: &self.paths,
            norms: &self.norms,
            known: &self.known,
            withheld: &self.withheld,
            change: change.unwrap_or_default(),
            missing: "no paths given and no uncommitted changes",
        }
    }

    fn change(&self) -> ChangeEffects<'_, CheckedEntryJson<'_>> {
        let change = self.verified.as_ref().map(|verified| ChangeEffects {
            invalid: CheckedEntryJson::all(&verified.validity.invalid),
            moved: CheckedEntryJson::all(&verified.validity.moved),
            findings: &verified.findings,
        });
        change.unwrap_or_default()
    }
}

/// Renders the effect of a change on an entry.
fn entry_line(checked: &EntryCheck) -> String {
    let (id, title) = (checked.entry.id, single_line(&checked.entry.title()));
    let affected = checked
        .anchors
        .iter()
        .filter(|it| it.verdict != AnchorVerdict::Intact);
    let anchors = affected.map(|anchor| {
        let now = anchor
            .now
            .as_ref()
            .filter(|_| anchor.verdict == AnchorVerdict::Moved);
        let to = now.map(|it| format!(" to {}", it.at)).unwrap_or_default();
        let verdict = ken_core::values::text::enum_label(&anchor.verdict);
        format!("{} {verdict}{to}", anchor.at)
    });
    let broken = checked.conditions.iter().filter(|it| !it.why.is_empty());
    let conditions = broken.map(|it| format!("{}: {}", it.condition, it.why));
    let reasons: Vec<String> = anchors.chain(conditions).collect();
    format!("[{id}] {title} ({})", single_line(&reasons.join("; ")))
}

fn finding_line(finding: &GateFinding) -> String {
    let level = ken_core::values::text::enum_label(&finding.level);
    let line = finding
        .line
        .map(|line| format!(":{line}"))
        .unwrap_or_default();
    format!(
        "{level} {}{line}: {} [{}]",
        single_line(&finding.at),
        single_line(&finding.message),
        finding.gate
    )
}
