//! `ken drift`: shelves of knowledge that call for pruning or a review.

use ken_core::drift::{Drift, Shelf};
use ken_core::id::EntryId;
use ken_core::text::word;
use ken_core::together::Cluster;
use serde::Serialize;

use super::Session;
use crate::failure::{Exit, Failure};
use crate::print::counted;
use crate::print::table::Table;

/// Ids shown in a row.
const IDS_MAX: usize = 3;

#[derive(Serialize)]
struct DriftObject<'a> {
    schema: &'static str,
    findings: &'a [Drift],
    /// Entries that are used together and might become one.
    #[serde(skip_serializing_if = "<[Cluster]>::is_empty")]
    distillable: &'a [Cluster],
}

pub(super) fn run(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let (found, clusters) =
        session.read(|engine| Ok((engine.drift()?, engine.distillation_candidates()?)))?;
    if session.is_json() {
        session.printer.json(&DriftObject {
            schema: "ken.drift.v1",
            findings: &found,
            distillable: &clusters,
        })?;
        return Ok(Exit::Fine);
    }
    match found.is_empty() {
        true => session.printer.line("Nothing drifts.")?,
        false => print_shelves(session, &found)?,
    }
    for cluster in &clusters {
        let count = counted(cluster.entries.len() as u64, "entry", "entries");
        let ids = shortened(cluster.entries.iter());
        session.printer.line(format_args!(
            "{count} used together (weight {:.1}) might become one: {ids}",
            cluster.weight
        ))?;
    }
    Ok(Exit::Fine)
}

fn print_shelves(session: &mut Session<'_>, found: &[Drift]) -> Result<(), Failure> {
    let mut table = Table::new(&["SHELF", "DRIFT", "CALLS FOR", "ENTRIES"], 3);
    for it in found {
        let shelf = match &it.shelf {
            Shelf::Lens(lens) => format!("lens {lens}"),
            Shelf::Kind(kind) => kind.name().to_owned(),
        };
        let ids = shortened(it.entries.iter());
        table.push(vec![
            shelf.into(),
            word(&it.signal).into(),
            word(&it.recommendation).into(),
            ids.into(),
        ]);
    }
    let width = session.printer.width();
    session.printer.text(table.render(width))?;
    session.printer.hint(
        "`ken archive --older-than DAYS` prunes; `ken reanchor` leads through what changed",
    )?;
    Ok(())
}

/// Returns the first ids, and how many more there are.
fn shortened<'a>(ids: impl ExactSizeIterator<Item = &'a EntryId>) -> String {
    let more = ids.len().saturating_sub(IDS_MAX);
    let ids = ids.take(IDS_MAX).map(ToString::to_string);
    let mut ids = ids.collect::<Vec<_>>().join(" ");
    if 0 < more {
        ids += &format!(" and {}", counted(more as u64, "more", "more"));
    }
    ids
}
