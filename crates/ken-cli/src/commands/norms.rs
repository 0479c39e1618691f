//! `ken norms`: norms to begin with.

use ken_engine::norms::{Example, examples};
use serde::Serialize;

use super::Session;
use crate::args::NormsCommand;
use crate::failure::{Exit, Failure};

#[derive(Serialize)]
struct ExampleObject<'a> {
    schema: &'static str,
    #[serde(flatten)]
    example: &'a Example,
}

pub(super) fn run(session: &mut Session<'_>, command: NormsCommand) -> Result<Exit, Failure> {
    match command {
        NormsCommand::Examples => list(session),
        NormsCommand::Add(args) => {
            let entry =
                session.write(|engine, by| Ok(engine.add_example(&args.name, args.cite, by)?))?;
            session.written(
                &entry,
                "added; `ken verify --base REV` holds changes against it once it is committed at REV",
            )
        }
    }
}

fn list(session: &mut Session<'_>) -> Result<Exit, Failure> {
    for example in &examples() {
        if session.is_json() {
            let schema = "ken.norm-example.v1";
            session.printer.json(&ExampleObject { schema, example })?;
            continue;
        }
        let Example { name, kind, .. } = example;
        session
            .printer
            .line(format!("{name}  ({kind}, {})", example.check))?;
        session.printer.line(format!("  {}", example.statement))?;
    }
    if !session.is_json() {
        session
            .printer
            .hint(format_args!("`ken norms add NAME` adds one"))?;
    }
    Ok(Exit::Fine)
}
