//! `ken show`: prints one entry; as `ken knowledge show`, in canonical JSON.

use clap::Args;
use ken_core::json::{EntityRelationship, EntryJson};
use ken_core::ledger::canonical;
use ken_core::ledger::entry::{Entry, EntryApproval};
use ken_core::ledger::event::RecordedEvent;
use ken_core::trust::facts::BetaPosterior;
use ken_core::trust::rediscovery::RediscoveryEvidence;
use ken_core::trust::run::ExposureChannel;
use ken_engine::Engine;
use ken_engine::impact::ConfidenceReport;
use ken_engine::promotion::ApprovalValidity;

use super::Session;
use crate::args::id::IdArgs;
use crate::args::{Format, Surface};
use crate::asking;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::entry_text::{self, EntrySurroundings};
use crate::print::impact::confidence_details;

/// `ken show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ken show L-7k2f\n  ken show L-7k2f --explain")]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) which: IdArgs,
    /// Also show the confidence and its inputs: confirmations, outcomes, measured impact
    #[arg(long)]
    pub(crate) explain: bool,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &ShowArgs,
) -> Result<CommandExit, CommandFailure> {
    let default = match session.surface {
        Surface::Top => Format::Text,
        Surface::Knowledge => Format::Json,
    };
    let surroundings = session.surroundings.clone();
    let ask = |engine: &mut Engine| {
        asking::with_entry(&surroundings, engine, &args.which.id, |engine, entry| {
            if surroundings.reader().is_some() {
                asking::ensure_released(&entry)?;
            }
            load_details(engine, entry, args.explain)
        })
    };
    let EntryDetails {
        entry,
        versions,
        approvals,
        merged,
        relationships,
        posterior,
        evidence,
        grounds,
    } = session.read_shown(ExposureChannel::Show, ask, |it| vec![it.entry.id])?;
    if !session.printer.is_json(default) {
        let width = session.printer.width();
        session.printer.text(entry_text::render_entry(
            &entry,
            EntrySurroundings {
                versions: &versions,
                approvals: &approvals,
                relationships: &relationships,
            },
            width,
        ))?;
        session.printer.text(entry_text::merged_lines(&merged))?;
        match &grounds {
            Some(grounds) => session.printer.text(confidence_details(&entry, grounds))?,
            None => session
                .printer
                .text(entry_text::confidence_line(posterior))?,
        }
        return Ok(CommandExit::Fine);
    }
    let mut object = EntryJson::new(&entry).with_requested_id(&entry, &args.which.id);
    if !approvals.is_empty() {
        let standings: Vec<String> = approvals.iter().map(|(_, it)| standing(it)).collect();
        object = object.with("approval_standings", standings.into());
    }
    if !relationships.is_empty() {
        object = object.with("relationships", serde_json::json!(relationships));
    }
    // Counts are also in `tallies`; the belief depends on the model of the workspace.
    if let Some(evidence) = evidence {
        object = object.with("rediscovery", serde_json::json!(evidence));
    }
    match session.surface {
        Surface::Top => session.printer.json(&object)?,
        Surface::Knowledge => session.printer.line(canonical::to_string(&object))?,
    }
    Ok(CommandExit::Fine)
}

/// An entry with everything that is shown about it.
struct EntryDetails {
    entry: Entry,
    versions: Vec<RecordedEvent>,
    approvals: Vec<(EntryApproval, ApprovalValidity)>,
    /// The entries that were merged into it.
    merged: Vec<Entry>,
    relationships: Vec<EntityRelationship>,
    posterior: BetaPosterior,
    /// Independent evidence; absent for a prescriptive entry.
    evidence: Option<RediscoveryEvidence>,
    grounds: Option<ConfidenceReport>,
}

fn load_details(
    engine: &mut Engine,
    entry: Entry,
    explain: bool,
) -> Result<EntryDetails, CommandFailure> {
    // Without evidence the confidence is the prior, whatever a check against the code says.
    let is_used = !entry.tallies.days.is_empty();
    let grounds = (explain || is_used)
        .then(|| engine.explain_confidence(&entry))
        .transpose()?;
    let merged = entry.merged_from.iter().map(|id| engine.entry(*id));
    Ok(EntryDetails {
        merged: merged.collect::<Result<_, _>>()?,
        versions: versions(engine, &entry)?,
        approvals: engine.approval_validities(&entry)?,
        relationships: engine.relationships(&entry)?,
        posterior: grounds
            .as_ref()
            .map_or(BetaPosterior::PRIOR, |it| it.posterior),
        evidence: engine.review_policy()?.rediscovery.evidence(&entry),
        grounds: grounds.filter(|_| explain),
        entry,
    })
}

/// Returns the validity of an approval as a word for JSON.
fn standing(it: &ApprovalValidity) -> String {
    match it {
        ApprovalValidity::Unsigned => "unsigned".to_owned(),
        ApprovalValidity::Signed => "signed".to_owned(),
        ApprovalValidity::Invalid(why) => format!("invalid: {why}"),
    }
}

/// Returns the events of concurrent versions, the displayed one first.
pub(crate) fn versions(
    engine: &Engine,
    entry: &Entry,
) -> Result<Vec<RecordedEvent>, CommandFailure> {
    if entry.concurrent.is_empty() {
        return Ok(Vec::new());
    }
    let shown = entry
        .revision
        .iter()
        .filter(|id| !entry.concurrent.contains(id));
    let mut versions = Vec::new();
    for id in shown.chain(&entry.concurrent) {
        versions.push(engine.event(&id.to_string())?);
    }
    Ok(versions)
}
