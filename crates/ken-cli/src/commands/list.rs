//! `ken list`: lists entries, one line per entry, newest first.

use clap::{Args, ValueEnum};
use ken_core::json::{EntryJson, lifecycle_labels};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::EntryFilter;
use ken_core::trust::facts::Validity;
use ken_core::trust::run::ExposureChannel;
use ken_core::values::status::EntryStatus;
use ken_core::values::text::enum_label;
use ken_engine::Engine;

use super::Session;
use crate::args::filter::FilterArgs;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::entry_text::status_style;
use crate::print::{BOLD, DIM, TableCell, TextTable, WARN, pluralize};

/// `ken list`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken list --kind decision\n  ken list retry --tag auth --limit 5\n  ken list --status stale"
)]
pub(crate) struct ListArgs {
    /// Only entries that contain every word, in any case, in statement, tags or id
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// Order of the entries
    #[arg(long, value_name = "ORDER", default_value = "added")]
    pub(crate) sort: ListOrder,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// Order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListOrder {
    /// Newest first
    Added,
    /// Last confirmed first; entries that nobody confirmed last
    Confirmed,
    /// By kind
    Kind,
    /// By title
    Title,
}

/// An entry of the list, with its validity if the list is about it.
type ListedEntry = (Entry, Option<Validity>);

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
    let mut filter = args.filter.to_filter();
    if session.surroundings.reader().is_some() {
        filter = filter.without_raw();
    }
    print_entries(
        session,
        &filter,
        (&args.words, args.sort),
        "`ken list --all` includes archived and retracted entries; `ken add --help` shows how to add one",
    )
}

/// Prints the entries that pass `filter` and contain every word, or `hint` if there are none.
pub(super) fn print_entries(
    session: &mut Session<'_>,
    filter: &EntryFilter,
    (words, sort): (&[String], ListOrder),
    hint: &str,
) -> Result<CommandExit, CommandFailure> {
    let entries = session.read_shown(
        ExposureChannel::Pull,
        |engine| select(engine, filter, words, sort),
        |entries| entries.iter().map(|(entry, _)| entry.id).collect(),
    )?;
    if session.is_json() {
        for (entry, validity) in &entries {
            let mut json = EntryJson::new(entry);
            if let Some(validity) = validity {
                json = json.with("validity", enum_label(validity).into());
            }
            session.printer.json(&json)?;
        }
        return Ok(CommandExit::Fine);
    }
    if entries.is_empty() {
        session.printer.talk("no entries")?;
        session.printer.hint(hint)?;
        return Ok(CommandExit::Fine);
    }
    let mut table = TextTable::new(&HEADS, TITLE_COLUMN);
    for (entry, validity) in &entries {
        table.push(row(entry, *validity));
    }
    // A program that reads the list, such as `grep`, needs the whole titles.
    let width = if session.printer.is_terminal() {
        session.printer.width()
    } else {
        usize::MAX
    };
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

/// Returns the entries to list, in their order.
fn select(
    engine: &mut Engine,
    filter: &EntryFilter,
    words: &[String],
    sort: ListOrder,
) -> Result<Vec<ListedEntry>, CommandFailure> {
    // The limit applies to the result, so nothing is cut before words and order are applied.
    let is_plain = words.is_empty() && sort == ListOrder::Added;
    let unlimited = EntryFilter {
        limit: filter.limit.filter(|_| is_plain),
        ..filter.clone()
    };
    let mut entries: Vec<ListedEntry> = if filter.status == Some(EntryStatus::Stale) {
        engine.stale_entries(&unlimited)?
    } else {
        let listed = engine.list(&unlimited)?.into_iter();
        listed.map(|entry| (entry, None)).collect()
    };
    let words: Vec<String> = words.iter().map(|it| it.to_lowercase()).collect();
    entries.retain(|(entry, _)| contains_words(entry, &words));
    match sort {
        ListOrder::Added => {}
        ListOrder::Confirmed => entries.sort_by_key(|(entry, _)| {
            let confirmation = &entry.confirmation;
            std::cmp::Reverse(confirmation.last.filter(|_| confirmation.is_confirmed()))
        }),
        ListOrder::Kind => entries.sort_by_key(|(entry, _)| entry.kind()),
        ListOrder::Title => entries.sort_by_key(|(entry, _)| entry.title().to_lowercase()),
    }
    entries.truncate(filter.limit.unwrap_or(usize::MAX));
    Ok(entries)
}

/// Returns whether the statement, the tags or the id of an entry contain every word.
fn contains_words(entry: &Entry, words: &[String]) -> bool {
    let tags = entry.content.iter().flat_map(|it| &it.tags);
    let mut text = format!("{} {}", entry.id, entry.statement_text());
    for tag in tags {
        text.push(' ');
        text.push_str(tag.as_str());
    }
    let text = text.to_lowercase();
    words.iter().all(|word| text.contains(word.as_str()))
}

fn row(entry: &Entry, validity: Option<Validity>) -> Vec<TableCell> {
    let content = entry.content.as_ref();
    let tags = content.map(|it| it.tags.iter().map(|tag| tag.as_str()).collect::<Vec<_>>());
    let status = entry.status.value;
    let mut labels = lifecycle_labels(entry);
    match validity {
        Some(Validity::Changed) => labels.push("code changed".to_owned()),
        Some(Validity::Broken) => labels.push("broken".to_owned()),
        Some(Validity::Holds | Validity::Unverifiable) | None => {}
    }
    vec![
        TableCell::styled(BOLD, entry.id.to_string()),
        entry
            .kind()
            .map_or("", ken_core::values::kind::EntryKind::name)
            .into(),
        TableCell::styled(status_style(status), status.name()),
        confirmed_on(entry).into(),
        entry.title().into(),
        TableCell::styled(DIM, tags.unwrap_or_default().join(", ")),
        TableCell::styled(WARN, labels.join(", ")),
    ]
}

/// Returns the day of the last confirmation, or that there was none.
fn confirmed_on(entry: &Entry) -> String {
    let confirmation = &entry.confirmation;
    match confirmation.last {
        Some(day) if confirmation.is_confirmed() => day.to_string(),
        Some(_) | None => "not yet".to_owned(),
    }
}
