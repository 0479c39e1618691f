//! `ken export`: entries for other programs and people, without evidence.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ken_core::run::How;
use ken_engine::export::Form;
use serde::Serialize;

use super::Session;
use crate::args::{ExportArgs, ExportForm};
use crate::failure::{Exit, Failure};
use crate::print::counted;

#[derive(Serialize)]
struct ExportObject {
    schema: &'static str,
    files: Vec<String>,
}

pub(super) fn run(session: &mut Session<'_>, args: &ExportArgs) -> Result<Exit, Failure> {
    let (form, single) = match args.form {
        ExportForm::Jsonl => (Form::Jsonl, "entries.jsonl"),
        ExportForm::Okf => (Form::Okf, ""),
        ExportForm::Markdown => (Form::Markdown, "knowledge.md"),
    };
    if args.form == ExportForm::Okf && args.out.is_none() {
        return Err(Failure::usage("an OKF bundle is a folder of files").with_hint("add --out DIR"));
    }
    let filter = args.filter.to_filter();
    let reader = session.surroundings.reader();
    let files = session.read(|engine| {
        if let Some(reader) = &reader {
            engine.note_saw_everything(reader, How::Pull)?;
        }
        Ok(engine.export(&filter, form)?)
    })?;
    let Some(out) = &args.out else {
        for text in files.values() {
            session.printer.text(text)?;
        }
        return Ok(Exit::Fine);
    };
    let out = session.surroundings.start.join(out);
    let written = write_files(&out, &files, single)?;
    if session.is_json() {
        session.printer.json(&ExportObject {
            schema: "ken.export.v1",
            files: written,
        })?;
        return Ok(Exit::Fine);
    }
    let count = counted(written.len() as u64, "file", "files");
    for name in written {
        session.printer.line(name)?;
    }
    session.printer.talk(format_args!(
        "wrote {count}; evidence stays in this repository"
    ))?;
    Ok(Exit::Fine)
}

/// Writes every file below `out`; `single` names a text that has no name of its own.
fn write_files(
    out: &Path,
    files: &BTreeMap<String, String>,
    single: &str,
) -> Result<Vec<String>, Failure> {
    let failed = |path: &Path| {
        let doing = format!("cannot write `{}`", path.display());
        move |error: std::io::Error| Failure::io(doing, &error)
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
