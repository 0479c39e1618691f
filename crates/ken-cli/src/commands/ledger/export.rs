//! `ken ledger export`: exports entries without their citations.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ken_core::trust::run::ExposureChannel;
use ken_engine::export::ExportFormat;
use serde::Serialize;

use crate::args::filter::FilterArgs;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;

/// `ken ledger export`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken ledger export > entries.jsonl\n  ken ledger export --form okf --out bundle"
)]
pub(crate) struct ExportArgs {
    /// Output format
    #[arg(long, value_name = "FORM", default_value = "jsonl")]
    pub(crate) form: ExportForm,
    /// Write files into DIR instead of printing one text
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// Format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    /// One JSON object per line
    Jsonl,
    /// A folder of Open Knowledge Format documents; needs --out
    Okf,
    /// One Markdown document
    Markdown,
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
    let (form, single) = match args.form {
        ExportForm::Jsonl => (ExportFormat::Jsonl, "entries.jsonl"),
        ExportForm::Okf => (ExportFormat::Okf, ""),
        ExportForm::Markdown => (ExportFormat::Markdown, "knowledge.md"),
    };
    if args.form == ExportForm::Okf && args.out.is_none() {
        return Err(
            CommandFailure::usage("an OKF bundle is a folder of files").with_hint("add --out DIR")
        );
    }
    let filter = args.filter.to_filter();
    let reader = session.surroundings.reader();
    let files = session.read(|engine| {
        if let Some(reader) = &reader {
            engine.record_full_exposure(reader, ExposureChannel::Pull)?;
        }
        Ok(engine.export(&filter, form)?)
    })?;
    let Some(out) = &args.out else {
        for text in files.values() {
            session.printer.text(text)?;
        }
        return Ok(CommandExit::Fine);
    };
    let out = session.surroundings.start.join(out);
    let written = write_files(&out, &files, single)?;
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
    session
        .printer
        .talk(format_args!("wrote {count}; anchors are not exported"))?;
    Ok(CommandExit::Fine)
}

/// Writes every file into `out`; `single` is the file name of an unnamed text.
fn write_files(
    out: &Path,
    files: &BTreeMap<String, String>,
    single: &str,
) -> Result<Vec<String>, CommandFailure> {
    let failed = |path: &Path| {
        let doing = format!("cannot write `{}`", path.display());
        move |error: std::io::Error| CommandFailure::io(doing, &error)
    };
    let mut written = Vec::new();
    for (name, text) in files {
        let name = if name.is_empty() { single } else { name };
        let path = out.join(name);
        fs::create_dir_all(path.parent().unwrap_or(out)).map_err(failed(out))?;
        fs::write(&path, text).map_err(failed(&path))?;
        written.push(name.to_owned());
    }
    Ok(written)
}
