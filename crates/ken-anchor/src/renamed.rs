//! Search for a renamed symbol that names itself.
//!
//! A fingerprint excludes the symbol's own name, but includes every name inside it. The code of a
//! recursive function therefore changes with its name. Each candidate is compared with the old
//! name in place of its own.

use crate::compare::{LostSymbol, MOVED_WEIGHT_MIN, MovedSymbol};
use crate::language::Language;
use crate::outline::{Outline, Symbol, outline};
use crate::resolve::combine_symbols;

/// Maximum number of candidates per file, because each is parsed again.
const CANDIDATES_MAX: usize = 32;

/// Finds the single symbol of a file that equals the lost one except for its own name.
pub fn find_renamed(lost: &LostSymbol<'_>, source: &[u8]) -> Option<MovedSymbol> {
    let text = std::str::from_utf8(source).ok()?;
    let now = outline(lost.path, source);
    if !now.find(lost.name).is_empty() {
        return None;
    }
    let old_name = last_part(&now, lost.name);
    let mut found = None;
    let candidates = now.symbols().iter().filter(|symbol| {
        let name = last_part(&now, &symbol.name);
        let code = text.get(symbol.bytes.clone()).unwrap_or_default();
        symbol.weight >= MOVED_WEIGHT_MIN && find_words(code, name).count() > 1
    });
    for symbol in candidates.take(CANDIDATES_MAX) {
        if has_code_of(
            lost,
            text,
            symbol,
            (last_part(&now, &symbol.name), old_name),
        ) {
            // Two candidates with the same code leave it open which one is meant.
            if found.replace(symbol).is_some() {
                return None;
            }
        }
    }
    let symbol = found?;
    Some(MovedSymbol {
        path: lost.path.to_owned(),
        name: now.exact_name(symbol),
        at: combine_symbols(&[symbol])?,
    })
}

/// Returns whether a symbol has the lost fingerprint once its own name is the old one.
fn has_code_of(
    lost: &LostSymbol<'_>,
    text: &str,
    symbol: &Symbol,
    (name, old_name): (&str, &str),
) -> bool {
    let Some(code) = text.get(symbol.bytes.clone()) else {
        return false;
    };
    let mut renamed = text[..symbol.bytes.start].to_owned();
    let mut rest = 0;
    for at in find_words(code, name) {
        renamed.push_str(&code[rest..at]);
        renamed.push_str(old_name);
        rest = at + name.len();
    }
    renamed.push_str(&code[rest..]);
    renamed.push_str(&text[symbol.bytes.end..]);
    let then = outline(lost.path, renamed.as_bytes());
    let mut same_place = then.symbols().iter();
    same_place.any(|it| it.bytes.start == symbol.bytes.start && it.fingerprint == lost.fingerprint)
}

/// Returns the positions of a whole word.
fn find_words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| {
            let before = text[..*at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            !before.is_some_and(is_name) && !after.is_some_and(is_name)
        })
}

fn last_part<'n>(outline: &Outline, name: &'n str) -> &'n str {
    let separator = outline.language().map_or(".", Language::separator);
    name.rsplit(separator).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "
class Scrubber:
    def scrub_list(self, items):
        for item in items:
            self.scrub_dict(item)

    def scrub_dict(self, d):
        for key, value in d.items():
            if key in self.denylist:
                d[key] = None
            elif isinstance(value, dict):
                self.scrub_dict(value)
";

    fn lost_in(path: &str) -> LostSymbol<'_> {
        let fingerprint = outline(path, OLD.as_bytes()).find("Scrubber.scrub_dict")[0].fingerprint;
        let name = "Scrubber.scrub_dict";
        LostSymbol {
            path,
            name,
            fingerprint,
        }
    }

    #[test]
    fn a_renamed_recursive_function_is_found() {
        let new = OLD.replace("scrub_dict", "scrub_mapping");
        let found = find_renamed(&lost_in("a.py"), new.as_bytes()).unwrap();
        assert_eq!(found.name, "Scrubber.scrub_mapping");
    }

    #[test]
    fn other_changes_are_no_renaming() {
        let new = OLD.replace("scrub_dict", "scrub_mapping");
        let new = new.replace("d[key] = None", "d[key] = 0");
        assert_eq!(find_renamed(&lost_in("a.py"), new.as_bytes()), None);
    }
}
