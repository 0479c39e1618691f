//! `ken health drift`: lists groups of entries that need pruning or a review.

use ken_core::health::drift::{DriftFinding, DriftGroup};
use ken_core::ledger::cooccurrence::EntryCluster;
use ken_core::values::id::EntryId;
use ken_core::values::text::enum_label;
use ken_engine::EngineError;
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;
use crate::print::progress::ProgressIndicator;
use crate::print::table::TextTable;

/// Maximum ids per row.
const IDS_MAX: usize = 3;

#[derive(Serialize)]
struct DriftObject<'a> {
    schema: &'static str,
    findings: &'a [DriftFinding],
    /// Groups of entries that are used together and can be distilled.
    #[serde(skip_serializing_if = "<[EntryCluster]>::is_empty")]
    distillable: &'a [EntryCluster],
}

pub(in crate::commands) fn run(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "checking entries", None);
    let (found, clusters) = session.read(move |engine| {
        Ok(progress.during(|_| {
            let found = engine.drift()?;
            Ok::<_, EngineError>((found, engine.distillation_candidates()?))
        })?)
    })?;
    if session.is_json() {
        session.printer.json(&DriftObject {
            schema: "ken.drift.v1",
            findings: &found,
            distillable: &clusters,
        })?;
        return Ok(CommandExit::Fine);
    }
    if found.is_empty() {
        session.printer.line("No drift found.")?;
    } else {
        print_groups(session, &found)?;
    }
    for cluster in &clusters {
        let count = pluralize(cluster.entries.len() as u64, "entry", "entries");
        let ids = shortened(cluster.entries.iter());
        session.printer.line(format_args!(
            "{count} used together (weight {:.1}) can be distilled into one: {ids}",
            cluster.weight
        ))?;
    }
    Ok(CommandExit::Fine)
}

fn print_groups(session: &mut Session<'_>, found: &[DriftFinding]) -> Result<(), CommandFailure> {
    let mut table = TextTable::new(&["GROUP", "DRIFT", "ACTION", "ENTRIES"], 3);
    for it in found {
        let group = match &it.shelf {
            DriftGroup::Lens(lens) => format!("lens {lens}"),
            DriftGroup::Kind(kind) => kind.name().to_owned(),
        };
        let ids = shortened(it.entries.iter());
        table.push(vec![
            group.into(),
            enum_label(&it.signal).into(),
            enum_label(&it.recommendation).into(),
            ids.into(),
        ]);
    }
    let width = session.printer.width();
    session.printer.text(table.render(width))?;
    session.printer.hint(
        "`ken archive --older-than DAYS` archives old entries; `ken entry reanchor` reviews entries whose code changed; `ken health contradictions` shows the pairs",
    )?;
    Ok(())
}

/// Returns the first ids and the number of the others.
fn shortened<'a>(ids: impl ExactSizeIterator<Item = &'a EntryId>) -> String {
    let more = ids.len().saturating_sub(IDS_MAX);
    let ids = ids.take(IDS_MAX).map(ToString::to_string);
    let mut ids = ids.collect::<Vec<_>>().join(" ");
    if more > 0 {
        ids += &format!(" and {}", pluralize(more as u64, "more", "more"));
    }
    ids
}
