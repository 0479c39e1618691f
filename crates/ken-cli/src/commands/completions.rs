//! `ken completions`: what a shell needs to complete our words.

use super::Session;
use crate::args::{self, CompletionsArgs};
use crate::failure::{Exit, Failure};

pub(super) fn run(session: &mut Session<'_>, args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(), "ken", &mut script);
    session.printer.text(String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}
