//! `ken list`: lists entries, one line per entry, newest first.

use clap::Args;
use ken_core::json::{EntryJson, lifecycle_labels};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::EntryFilter;
use ken_core::trust::run::ExposureChannel;

use super::Session;
use crate::args::filter::FilterArgs;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::entry_text::status_style;
use crate::print::{BOLD, DIM, TableCell, TextTable, WARN, pluralize};

/// `ken list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ken list --kind decision\n  ken list --tag auth --limit 5")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

const HEADS: [&str; 7] = [
    "ID",
    "KIND",
    "STATUS",
    "CONFIRMED",
    "TITLE",
    "TAGS",
    "LABELS",
];
const TITLE_COLUMN: usize = 4;

pub(super) fn run(
    session: &mut Session<'_>,
    args: &ListArgs,
) -> Result<CommandExit, CommandFailure> {
    print_entries(
        session,
        &args.filter.to_filter(),
        "`ken list --all` includes archived and retracted entries; `ken add --help` shows how to add one",
    )
}

/// Prints the entries that pass `filter`, or `hint` if there are none.
pub(super) fn print_entries(
    session: &mut Session<'_>,
    filter: &EntryFilter,
    hint: &str,
) -> Result<CommandExit, CommandFailure> {
    let entries = session.read_shown(
        ExposureChannel::Pull,
        |engine| Ok(engine.list(filter)?),
        |entries| entries.iter().map(|entry| entry.id).collect(),
    )?;
    if session.is_json() {
        for entry in &entries {
            session.printer.json(&EntryJson::new(entry))?;
        }
        return Ok(CommandExit::Fine);
    }
    if entries.is_empty() {
        session.printer.talk("no entries")?;
        session.printer.hint(hint)?;
        return Ok(CommandExit::Fine);
    }
    let mut table = TextTable::new(&HEADS, TITLE_COLUMN);
    for entry in &entries {
        table.push(row(entry));
    }
    let width = session.printer.width();
    session.printer.text(table.render(width))?;
    let count = pluralize(entries.len() as u64, "entry", "entries");
    if filter.limit == Some(entries.len()) {
        session
            .printer
            .talk(format_args!("{count}; --limit may hide more"))?;
    } else {
        session.printer.talk(count)?;
    }
    Ok(CommandExit::Fine)
}

fn row(entry: &Entry) -> Vec<TableCell> {
    let content = entry.content.as_ref();
    let tags = content.map(|it| it.tags.iter().map(|tag| tag.as_str()).collect::<Vec<_>>());
    let status = entry.status.value;
    vec![
        TableCell::styled(BOLD, entry.id.to_string()),
        entry
            .kind()
            .map_or("", ken_core::values::kind::EntryKind::name)
            .into(),
        TableCell::styled(status_style(status), status.name()),
        entry
            .confirmation
            .last
            .map(|date| date.to_string())
            .unwrap_or_default()
            .into(),
        entry.title().into(),
        TableCell::styled(DIM, tags.unwrap_or_default().join(", ")),
        TableCell::styled(WARN, lifecycle_labels(entry).join(", ")),
    ]
}
