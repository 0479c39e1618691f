//! What a tool call shows of Ken's files: nothing, some entries, or more than anybody can tell.
//!
//! In doubt everything: an entry that was seen and counts as unseen would confirm itself. Looking costs no more than a
//! pass over the texts, so that a hook can tell without opening the ledger that nothing concerns it.

use std::collections::BTreeSet;

use ken_core::id::EntryId;
use ken_core::run::How;
use ken_ledger::layout::KEN_DIR;

use super::Attendee;
use crate::engine::Engine;
use crate::error::Error;
use crate::files::ENTRIES_DIR;

/// What was seen of Ken's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighting {
    Nothing,
    Entries(BTreeSet<EntryId>),
    /// A file with many entries, or a text nobody can tell the entries of.
    Everything,
}

/// Returns what a tool call shows: `paths` it was given, what else it was `asked`, and its `output`.
#[must_use]
pub fn sighting(paths: &[String], asked: &str, output: &str) -> Sighting {
    // Whoever speaks to hooks itself could say anything of what it saw.
    if asked.contains("ken hook") {
        return Sighting::Everything;
    }
    let mut seen = BTreeSet::new();
    take_ids(asked, &mut seen);
    let mut in_files = BTreeSet::new();
    let named: Vec<&String> = paths.iter().filter(|it| names_ken(it)).collect();
    let mut is_exact = true;
    for text in named.iter().map(|it| it.as_str()).chain([asked]) {
        is_exact &= take_entry_paths(text, &mut in_files);
    }
    let is_asked = !named.is_empty() || names_ken(asked);
    seen.extend(&in_files);
    if is_asked && is_exact && !in_files.is_empty() {
        // Whole entry files were named: what else is shown names itself.
    } else if is_asked && !output.trim().is_empty() {
        let mut lines = output.lines().filter(|it| !it.trim().is_empty());
        if !lines.all(|line| take_ids(line, &mut seen)) {
            return Sighting::Everything;
        }
    }
    for line in output.lines() {
        let has_id = take_ids(line, &mut seen);
        if !has_id && names_ken_file(line) {
            return Sighting::Everything;
        }
    }
    match seen.is_empty() {
        true => Sighting::Nothing,
        false => Sighting::Entries(seen),
    }
}

impl Engine {
    /// Writes down what was seen of Ken's files, for whoever saw it and for the agent it reports to.
    pub fn attend_reading(&mut self, who: &Attendee, seen: &Sighting) -> Result<(), Error> {
        let mut readers = vec![who.reader()];
        if who.subagent.is_some() {
            readers.push(who.main().reader());
        }
        for reader in readers {
            match seen {
                Sighting::Nothing => {}
                Sighting::Entries(entries) => {
                    let entries: Vec<EntryId> = entries.iter().copied().collect();
                    self.note_shown(&reader, &entries, How::File)?;
                }
                Sighting::Everything => self.note_saw_everything(&reader, How::File)?,
            }
        }
        Ok(())
    }
}

/// Whether a text names Ken's folder, as a word of its own.
fn names_ken(text: &str) -> bool {
    mentions(text).next().is_some()
}

/// Whether a text names a file below Ken's folder.
fn names_ken_file(text: &str) -> bool {
    mentions(text).any(|rest| rest.starts_with(['/', '\\']))
}

/// Returns what stands behind each mention of Ken's folder.
fn mentions(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(KEN_DIR).filter_map(|(at, found)| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let before = text[..at].chars().next_back();
        let rest = &text[at + found.len()..];
        let after = rest.chars().next();
        let whole = !before.is_some_and(is_part) && !after.is_some_and(is_part);
        whole.then_some(rest)
    })
}

/// Takes the ids of entry files that a text names; says whether every mention of Ken's folder is one.
fn take_entry_paths(text: &str, seen: &mut BTreeSet<EntryId>) -> bool {
    let mut all = true;
    for rest in mentions(text) {
        let below = rest.trim_start_matches(['/', '\\']);
        let name = below.strip_prefix(ENTRIES_DIR);
        let name = name.map(|it| it.trim_start_matches(['/', '\\']));
        let id = name.and_then(first_id);
        all &= id.is_some();
        seen.extend(id);
    }
    all
}

/// Takes the ids of entries that stand in a line; says whether there are any.
fn take_ids(line: &str, seen: &mut BTreeSet<EntryId>) -> bool {
    let mut found = false;
    // `X-` and eight characters; looked for by the dash, which is rare.
    for (at, _) in line.match_indices('-') {
        let Some(start) = at.checked_sub(1).filter(|it| line.is_char_boundary(*it)) else {
            continue;
        };
        let before = line[..start].chars().next_back();
        if before.is_some_and(char::is_alphanumeric) {
            continue;
        }
        if let Some(id) = first_id(&line[start..]) {
            seen.insert(id);
            found = true;
        }
    }
    found
}

/// Returns the id a text begins with.
fn first_id(text: &str) -> Option<EntryId> {
    const ID_CHARS: usize = 2 + EntryId::TAIL_CHARS;
    let id = text.get(..ID_CHARS)?.parse().ok()?;
    let after = text[ID_CHARS..].chars().next();
    (!after.is_some_and(char::is_alphanumeric)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(paths: &[&str], asked: &str, output: &str) -> Sighting {
        let paths: Vec<String> = paths.iter().map(|it| (*it).to_owned()).collect();
        sighting(&paths, asked, output)
    }

    fn entries(ids: &[&str]) -> Sighting {
        Sighting::Entries(ids.iter().map(|id| id.parse().unwrap()).collect())
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
            assert_eq!(seen(paths, asked, output), Sighting::Nothing, "{asked}");
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
                Sighting::Everything,
                "{asked} {paths:?}"
            );
        }
    }
}
