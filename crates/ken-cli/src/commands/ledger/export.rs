//! `ken ledger export`: exports entries with their events, for `ken import` and other programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use ken_core::trust::run::ExposureChannel;
use ken_engine::export::ExportFormat;
use serde::Serialize;

use crate::args::Format;
use crate::args::filter::FilterArgs;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;

/// `ken ledger export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ken ledger export --all > entries.jsonl     JSON lines, for `ken import entries.jsonl`
  ken ledger export --format markdown         one Markdown text
  ken ledger export --out bundle              a folder, for `ken import bundle`")]
pub(crate) struct ExportArgs {
    /// Write an Open Knowledge Format bundle into DIR: one Markdown file per entry, and
    /// events.jsonl
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

#[derive(Serialize)]
struct ExportObject {
    schema: &'static str,
    files: Vec<String>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &ExportArgs,
) -> Result<CommandExit, CommandFailure> {
    let is_markdown = session.printer.format() == Format::Markdown;
    let format = match (&args.out, is_markdown) {
        (Some(_), true) => {
            return Err(
                CommandFailure::usage("--out writes a bundle; Markdown is one text").with_hint(
                    "`ken ledger export --format markdown` prints one text, for a file of yours",
                ),
            );
        }
        (Some(_), false) => ExportFormat::Okf,
        (None, true) => ExportFormat::Markdown,
        (None, false) => ExportFormat::Jsonl,
    };
    let filter = args.filter.to_filter();
    let reader = session.surroundings.reader();
    let files = session.read(|engine| {
        if let Some(reader) = &reader {
            engine.record_full_exposure(reader, ExposureChannel::Pull)?;
        }
        Ok(engine.export(&filter, format)?)
    })?;
    let Some(out) = &args.out else {
        for text in files.values() {
            session.printer.text(text)?;
        }
        return Ok(CommandExit::Fine);
    };
    let written = write_files(&session.surroundings.start.join(out), &files)?;
    if session.is_json() {
        session.printer.json(&ExportObject {
            schema: "ken.export.v1",
            files: written,
        })?;
        return Ok(CommandExit::Fine);
    }
    let count = pluralize(written.len() as u64, "file", "files");
    for name in written {
        session.printer.line(name)?;
    }
    session.printer.talk(format_args!("wrote {count}"))?;
    let out = out.display();
    session.printer.hint(format_args!(
        "`ken import {out}` in another repository restores the entries"
    ))?;
    Ok(CommandExit::Fine)
}

/// Writes every file into `out`.
fn write_files(
    out: &Path,
    files: &BTreeMap<String, String>,
) -> Result<Vec<String>, CommandFailure> {
    let failed = |path: &Path| {
        let doing = format!("cannot write `{}`", path.display());
        move |error: std::io::Error| CommandFailure::io(doing, &error)
    };
    fs::create_dir_all(out).map_err(failed(out))?;
    let mut written = Vec::new();
    for (name, text) in files {
        let path = out.join(name);
        fs::write(&path, text).map_err(failed(&path))?;
        written.push(name.clone());
    }
    Ok(written)
}
