//! `ken init`: makes a ledger, tells agents about it where somebody says so, and shows what to do next.

use serde::Serialize;

use super::{Session, setup};
use crate::args::InitArgs;
use crate::failure::{Exit, Failure};
use crate::print::{counted, visible};

const NEXT: &str = "ken add --kind learning --statement \"…\" --cite commit:HASH";

#[derive(Serialize)]
struct InitObject {
    schema: &'static str,
    root: String,
    written: Vec<String>,
    in_git: bool,
}

pub(super) fn run(session: &mut Session<'_>, args: &InitArgs) -> Result<Exit, Failure> {
    let surroundings = &session.surroundings;
    let made = ken_engine::init::init(&surroundings.start, &surroundings.git)?;
    let root = made.root.display().to_string();
    if session.is_json() {
        let (written, in_git) = (made.written, made.in_git);
        session.printer.json(&InitObject {
            schema: "ken.init.v1",
            root,
            written,
            in_git,
        })?;
        setup::after_init(session, args)?;
        return Ok(Exit::Fine);
    }
    if made.written.is_empty() {
        session
            .printer
            .talk(format_args!("Ken is already at home in {root}"))?;
        setup::after_init(session, args)?;
        return Ok(Exit::Fine);
    }
    let files = counted(made.written.len() as u64, "file", "files");
    session
        .printer
        .talk(format_args!("Ken is at home in {root}; it wrote {files}:"))?;
    for path in &made.written {
        session.printer.line(path)?;
    }
    if made.in_git {
        session.printer.talk("Commit them to share knowledge with everyone who clones; `ken uninstall` takes them out.")?;
    } else {
        session.printer.talk(
            "This folder is not in git: knowledge stays here. `ken uninstall` takes the files out.",
        )?;
    }
    setup::after_init(session, args)?;
    offer(session)?;
    Ok(Exit::Fine)
}

/// Says what to do next: look at the knowledge that is there, or write the first down.
fn offer(session: &mut Session<'_>) -> Result<(), Failure> {
    let surroundings = &session.surroundings;
    let held = ken_engine::audit::documents(&surroundings.start, &surroundings.git)?;
    let Some(first) = held.first() else {
        return session
            .printer
            .hint(format_args!("write down the first lesson: {NEXT}"));
    };
    let first = visible(first);
    let told = match held.len() {
        1 => format!("{first} holds knowledge already"),
        more => format!("{first} and {} more hold knowledge already", more - 1),
    };
    session.printer.talk(told)?;
    session
        .printer
        .hint("`ken audit` says what is wrong with it, `ken import` takes the sound claims in")
}
