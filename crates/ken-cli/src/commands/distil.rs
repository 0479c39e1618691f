//! `ken distil`: entries that are used together become one that says what they say.

use ken_core::together::Cluster;
use serde::Serialize;

use super::Session;
use crate::args::DistilArgs;
use crate::failure::{Exit, Failure};
use crate::print::counted;

#[derive(Serialize)]
struct CandidatesObject<'a> {
    schema: &'static str,
    candidates: Vec<Candidate<'a>>,
}

#[derive(Serialize)]
struct Candidate<'a> {
    #[serde(flatten)]
    cluster: &'a Cluster,
    /// The exact command, but for the words.
    command: String,
}

pub(super) fn run(session: &mut Session<'_>, args: DistilArgs) -> Result<Exit, Failure> {
    let Some(statement) = args.statement else {
        return candidates(session);
    };
    let entry = session.write(|engine, by| {
        let ids = args.sources.iter().map(|it| Ok(engine.find(it)?.id));
        let ids = ids.collect::<Result<Vec<_>, Failure>>()?;
        Ok(engine.distil(&ids, statement, args.kind, by)?)
    })?;
    let file = entry.file_name().unwrap_or_default();
    let count = counted(entry.links.len() as u64, "entry", "entries");
    session.written(
        &entry,
        format_args!("distilled from {count}, which stay: .ken/entries/{file}"),
    )
}

fn candidates(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let found = session.read(|engine| Ok(engine.distillation_candidates()?))?;
    if session.is_json() {
        let candidates = found.iter().map(|cluster| Candidate {
            cluster,
            command: command(cluster),
        });
        session.printer.json(&CandidatesObject {
            schema: "ken.distillable.v1",
            candidates: candidates.collect(),
        })?;
        return Ok(Exit::Fine);
    }
    for cluster in &found {
        let count = counted(cluster.entries.len() as u64, "entry", "entries");
        session.printer.line(format_args!(
            "{count} used together (weight {:.1})",
            cluster.weight
        ))?;
        session
            .printer
            .line(format_args!("    do: {}", command(cluster)))?;
    }
    if found.is_empty() {
        session
            .printer
            .talk("no entries are used together so often that one might say what they say")?;
    }
    Ok(Exit::Fine)
}

fn command(cluster: &Cluster) -> String {
    let ids: Vec<String> = cluster.entries.iter().map(ToString::to_string).collect();
    format!("ken distil --sources {} --statement TEXT", ids.join(" "))
}
