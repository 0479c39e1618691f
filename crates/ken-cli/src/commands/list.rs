//! `ken list`: one line an entry, newest first.

use ken_core::entry::Entry;
use ken_core::run::How;

use super::Session;
use crate::args::ListArgs;
use crate::failure::{Exit, Failure};
use crate::print::entry_text::status_style;
use crate::print::{BOLD, Cell, DIM, Table, WARN, counted};
use ken_core::object::EntryObject;
use ken_core::object::marks;

const HEADS: [&str; 7] = [
    "ID",
    "KIND",
    "STATUS",
    "CONFIRMED",
    "TITLE",
    "TAGS",
    "MARKS",
];
const TITLE_COLUMN: usize = 4;

pub(super) fn run(session: &mut Session<'_>, args: &ListArgs) -> Result<Exit, Failure> {
    let filter = args.filter.to_filter();
    let entries = session.read_shown(
        How::Pull,
        |engine| Ok(engine.list(&filter)?),
        |entries| entries.iter().map(|entry| entry.id).collect(),
    )?;
    if session.is_json() {
        for entry in &entries {
            session.printer.json(&EntryObject::new(entry))?;
        }
        return Ok(Exit::Fine);
    }
    if entries.is_empty() {
        session.printer.talk("no entries")?;
        session.printer.hint("`ken list --all` also shows archived and retracted ones, `ken add --help` how to write one")?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&HEADS, TITLE_COLUMN);
    for entry in &entries {
        table.push(row(entry));
    }
    let width = session.printer.width();
    session.printer.text(table.render(width))?;
    let count = counted(entries.len() as u64, "entry", "entries");
    if filter.limit == Some(entries.len()) {
        session
            .printer
            .talk(format_args!("{count}; --limit may hide more"))?;
    } else {
        session.printer.talk(count)?;
    }
    Ok(Exit::Fine)
}

fn row(entry: &Entry) -> Vec<Cell> {
    let content = entry.content.as_ref();
    let tags = content.map(|it| it.tags.iter().map(|tag| tag.as_str()).collect::<Vec<_>>());
    let status = entry.status.value;
    vec![
        Cell::styled(BOLD, entry.id.to_string()),
        entry.kind().map_or("", ken_core::kind::Kind::name).into(),
        Cell::styled(status_style(status), status.name()),
        entry
            .confirmation
            .last
            .map(|date| date.to_string())
            .unwrap_or_default()
            .into(),
        entry.title().into(),
        Cell::styled(DIM, tags.unwrap_or_default().join(", ")),
        Cell::styled(WARN, marks(entry).join(", ")),
    ]
}
