//! `ken drift`: shelves of knowledge that call for pruning or a review.

use ken_core::drift::{Drift, Shelf};
use ken_core::text::word;
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
}

pub(super) fn run(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let found = session.read(|engine| Ok(engine.drift()?))?;
    if session.is_json() {
        session.printer.json(&DriftObject {
            schema: "ken.drift.v1",
            findings: &found,
        })?;
        return Ok(Exit::Fine);
    }
    if found.is_empty() {
        session.printer.line("Nothing drifts.")?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["SHELF", "DRIFT", "CALLS FOR", "ENTRIES"], 3);
    for it in &found {
        let shelf = match &it.shelf {
            Shelf::Lens(lens) => format!("lens {lens}"),
            Shelf::Kind(kind) => kind.name().to_owned(),
        };
        let ids = it.entries.iter().take(IDS_MAX).map(ToString::to_string);
        let mut ids = ids.collect::<Vec<_>>().join(" ");
        if IDS_MAX < it.entries.len() {
            let more = it.entries.len() - IDS_MAX;
            ids += &format!(" and {}", counted(more as u64, "more", "more"));
        }
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
    Ok(Exit::Fine)
}
