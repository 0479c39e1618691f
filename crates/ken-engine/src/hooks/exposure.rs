//! Detects which entries a tool call exposes: none, some, or possibly all.
//!
//! In doubt the answer is "all": an exposed entry that counts as unseen could be confirmed by the
//! agent that read it. Detection is a single pass over the texts, so a hook can find out that a
//! tool call does not concern Ken without opening the ledger.

use std::collections::BTreeSet;

use ken_core::trust::run::ExposureChannel;
use ken_core::values::id::EntryId;
use ken_ledger::layout::KEN_DIR;

use super::HookSession;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::ENTRIES_DIR;

/// Entries exposed by a tool call that read Ken's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileExposure {
    Nothing,
    Entries(BTreeSet<EntryId>),
    /// A file with many entries, or text that cannot be attributed to entries.
    Everything,
}

/// Detects the entries exposed by a tool call's `paths`, its other input (`asked`) and its
/// `output`.
#[must_use]
pub fn detect_exposure(paths: &[String], asked: &str, output: &str) -> FileExposure {
    // An agent that calls hooks itself can report any exposure it likes, so none can be trusted.
    if asked.contains("ken hook") {
        return FileExposure::Everything;
    }
    let mut seen = BTreeSet::new();
    collect_ids(asked, &mut seen);
    let mut in_files = BTreeSet::new();
    let named: Vec<&String> = paths.iter().filter(|it| mentions_ken_dir(it)).collect();
    let mut is_exact = true;
    for text in named.iter().map(|it| it.as_str()).chain([asked]) {
        is_exact &= collect_entry_paths(text, &mut in_files);
    }
    let is_asked = !named.is_empty() || mentions_ken_dir(asked);
    seen.extend(&in_files);
    if is_asked && is_exact && !in_files.is_empty() {
        // Only whole entry files were named, and their ids are known from the paths. Output with
        // other ids is handled below.
    } else if is_asked && !output.trim().is_empty() {
        // Every line must carry an id. A line without one may be text of any entry.
        let mut lines = output.lines().filter(|it| !it.trim().is_empty());
        if !lines.all(|line| collect_ids(line, &mut seen)) {
            return FileExposure::Everything;
        }
    }
    // Commands that do not name `.ken` may still print its files, as `rg retry` does.
    for line in output.lines() {
        let has_id = collect_ids(line, &mut seen);
        if !has_id && mentions_ken_file(line) {
            return FileExposure::Everything;
        }
    }
    if seen.is_empty() {
        FileExposure::Nothing
    } else {
        FileExposure::Entries(seen)
    }
}

/// Records exposed entries for the acting agent and for the main agent it reports to.
pub(crate) fn record_file_exposure(
    engine: &mut Engine,
    hook: &HookSession,
    seen: &FileExposure,
) -> Result<(), EngineError> {
    let mut readers = vec![hook.reader()];
    if hook.subagent.is_some() {
        readers.push(hook.as_main_agent().reader());
    }
    for reader in readers {
        match seen {
            FileExposure::Nothing => {}
            FileExposure::Entries(entries) => {
                let entries: Vec<EntryId> = entries.iter().copied().collect();
                engine.record_exposures(&reader, &entries, ExposureChannel::File)?;
            }
            FileExposure::Everything => {
                engine.record_full_exposure(&reader, ExposureChannel::File)?;
            }
        }
    }
    Ok(())
}

/// Returns true if a text names the `.ken` directory as a word of its own.
fn mentions_ken_dir(text: &str) -> bool {
    texts_after_ken_dir(text).next().is_some()
}

/// Returns true if a text names a file below the `.ken` directory.
fn mentions_ken_file(text: &str) -> bool {
    texts_after_ken_dir(text).any(|rest| rest.starts_with(['/', '\\']))
}

/// Returns the text after each mention of the `.ken` directory.
fn texts_after_ken_dir(text: &str) -> impl Iterator<Item = &str> {
    // `.kenya`, `b.ken-old` and `my.ken` are other names, not the directory.
    text.match_indices(KEN_DIR).filter_map(|(at, found)| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let before = text[..at].chars().next_back();
        let rest = &text[at + found.len()..];
        let after = rest.chars().next();
        let whole = !before.is_some_and(is_part) && !after.is_some_and(is_part);
        whole.then_some(rest)
    })
}

/// Collects the ids of entry files named in a text. Returns true if nothing else of `.ken` is
/// named.
fn collect_entry_paths(text: &str, seen: &mut BTreeSet<EntryId>) -> bool {
    let mut all = true;
    for rest in texts_after_ken_dir(text) {
        let below = rest.trim_start_matches(['/', '\\']);
        let in_entries = below.strip_prefix(ENTRIES_DIR);
        let name = in_entries.map(|it| it.trim_start_matches(['/', '\\']));
        let id = name.and_then(parse_leading_id);
        all &= id.is_some();
        seen.extend(id);
    }
    all
}

/// Collects the entry ids in a line. Returns true if there are any.
fn collect_ids(line: &str, seen: &mut BTreeSet<EntryId>) -> bool {
    let mut found = false;
    // An id is a letter, a dash and eight characters. Dashes are rare, so searching for them is
    // fast.
    for (at, _) in line.match_indices('-') {
        let Some(start) = at.checked_sub(1).filter(|it| line.is_char_boundary(*it)) else {
            continue;
        };
        let before = line[..start].chars().next_back();
        if before.is_some_and(char::is_alphanumeric) {
            continue;
        }
        if let Some(id) = parse_leading_id(&line[start..]) {
            seen.insert(id);
            found = true;
        }
    }
    found
}

/// Parses the entry id at the beginning of a text.
fn parse_leading_id(text: &str) -> Option<EntryId> {
    const ID_CHARS: usize = 2 + EntryId::TAIL_CHARS;
    let id = text.get(..ID_CHARS)?.parse().ok()?;
    // A longer word is not an id: `L-7k2f5qm34` must not match as `L-7k2f5qm3`.
    let after = text[ID_CHARS..].chars().next();
    (!after.is_some_and(char::is_alphanumeric)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(paths: &[&str], asked: &str, output: &str) -> FileExposure {
        let paths: Vec<String> = paths.iter().map(|it| (*it).to_owned()).collect();
        detect_exposure(&paths, asked, output)
    }

    fn entries(ids: &[&str]) -> FileExposure {
        FileExposure::Entries(ids.iter().map(|id| id.parse().unwrap()).collect())
    }

    #[test]
    fn what_does_not_concern_ken_is_nothing() {
        for (paths, asked, output) in [
            (&["src/pay.rs"][..], "", "fn charge() {}"),
            (
                &[],
                "cargo test",
                "ok, 3-4 more; e-mail T-1000 x-forwarded-for",
            ),
            (&["a.kenya/x", "b.ken-old"], "ls my.kendo", "x"),
            (&[], "git add .ken && git commit -qm knowledge", "\n"),
            (&[], "", "see L-7k2f5qm34 and XL-7k2f5qm3"),
        ] {
            assert_eq!(seen(paths, asked, output), FileExposure::Nothing, "{asked}");
        }
    }

    #[test]
    fn an_entry_file_that_is_read_is_that_entry() {
        let path = "/home/a/repo/.ken/entries/L-7k2f5qm3-a-retry.md";
        assert_eq!(seen(&[path], "", "A retry"), entries(&["L-7k2f5qm3"]));
        let cat = "cat .ken/entries/L-7k2f5qm3-a.md .ken/entries/S-0123abcd-b.md";
        assert_eq!(
            seen(&[], cat, "text without ids"),
            entries(&["L-7k2f5qm3", "S-0123abcd"])
        );
        let windows = r"C:\repo\.ken\entries\L-7k2f5qm3-a.md";
        assert_eq!(seen(&[windows], "", "x"), entries(&["L-7k2f5qm3"]));
    }

    #[test]
    fn a_search_below_the_folder_shows_the_entries_it_names() {
        let grep = ".ken/entries/L-7k2f5qm3-a.md:3:retry\n.ken/entries/N-0123abcd-b.md:9:retry\n";
        let both = entries(&["L-7k2f5qm3", "N-0123abcd"]);
        assert_eq!(seen(&[".ken/entries"], "retry", grep), both);
        assert_eq!(
            seen(&[], "git status --short", " M .ken/entries/L-7k2f5qm3-a.md"),
            entries(&["L-7k2f5qm3"])
        );
        assert_eq!(
            seen(&[], "ken search retry", "[L-7k2f5qm3] learning: x"),
            entries(&["L-7k2f5qm3"])
        );
    }

    #[test]
    fn what_cannot_be_told_is_everything() {
        for (paths, asked, output) in [
            (&[".ken/index.md"][..], "", "- a retry is charged once"),
            (
                &[],
                "cat .ken/entries/*.md",
                "---\nid: L-7k2f5qm3\n---\na retry\n",
            ),
            (&[], "tail -n1 .ken/semantic/v1/x.jsonl", "{}"),
            (&[], "rg -l retry", ".ken/semantic/v1/2026.jsonl\n"),
            (&[".ken"], "", "entries\nindex.md"),
        ] {
            assert_eq!(
                seen(paths, asked, output),
                FileExposure::Everything,
                "{asked} {paths:?}"
            );
        }
    }
}
