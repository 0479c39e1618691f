//! Symbols that were fixed several times, with what was fixed.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::values::kind::EntryKind;
use ken_digest::commit::{HistoryRule, fixed_bug, telling_words};

use super::code::{CurrentCode, KeptChange, file_name};
use super::log::FileDiff;
use super::{ID_SOURCE, cite_commit};
use crate::error::EngineError;
use crate::git::LoggedCommit;
use crate::import::inbox::InboxClaim;

/// Minimum number of fixes of one symbol: two may be one fix in two steps.
const FIXES_MIN: usize = 3;

/// Maximum number of symbols that one fix changed: a wider one is about none of them.
const SYMBOLS_MAX: usize = 4;

/// Maximum number of fixes that a statement names.
const NAMED_MAX: usize = 5;

/// Returns a claim per symbol with several fixes whose lines are still in it, most fixes first.
pub(super) fn repeated_fixes(
    fixes: &[&LoggedCommit],
    diffs: &BTreeMap<String, Vec<FileDiff>>,
    code: &mut CurrentCode,
) -> Result<Vec<InboxClaim>, EngineError> {
    let mut by_symbol: BTreeMap<(String, String), Vec<(String, &LoggedCommit)>> = BTreeMap::new();
    for commit in fixes {
        let (Some(fixed), Some(diff)) = (fixed_bug(&commit.subject), diffs.get(&commit.id)) else {
            continue;
        };
        let symbols = code.kept_symbols(diff)?;
        if symbols.len() > SYMBOLS_MAX {
            continue;
        }
        for symbol in symbols {
            let all = by_symbol.entry(symbol).or_default();
            // A fix that was also picked to another branch counts once.
            if all
                .iter()
                .all(|(other, _)| !other.eq_ignore_ascii_case(&fixed))
            {
                all.push((fixed.clone(), commit));
            }
        }
    }
    let mut repeated: Vec<_> = by_symbol
        .into_iter()
        .map(|((path, name), all)| {
            let related = related_fixes(&name, all);
            ((path, name), related)
        })
        .filter(|(_, all)| all.len() >= FIXES_MIN)
        .collect();
    repeated.sort_by_key(|(_, all)| std::cmp::Reverse(all.len()));
    Ok(repeated
        .iter()
        .map(|((path, name), all)| claim(path, name, all))
        .collect())
}

/// Keeps the fixes that share a word with another one or with the name of the symbol: unrelated
/// ones only show that the symbol is large.
fn related_fixes<'c>(
    name: &str,
    fixes: Vec<(String, &'c LoggedCommit)>,
) -> Vec<(String, &'c LoggedCommit)> {
    let words: Vec<BTreeSet<String>> = fixes.iter().map(|(it, _)| telling_words(it)).collect();
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    let own = telling_words(last);
    let is_related = |place: usize| {
        let mut others = words.iter().enumerate().filter(|(it, _)| *it != place);
        !words[place].is_disjoint(&own) || others.any(|(_, other)| !words[place].is_disjoint(other))
    };
    let related = fixes.into_iter().enumerate();
    let related = related.filter(|(place, _)| is_related(*place));
    related.map(|(_, fix)| fix).collect()
}

fn claim(path: &str, name: &str, fixes: &[(String, &LoggedCommit)]) -> InboxClaim {
    let anchor = KeptChange::symbol(path, name).anchor;
    let named = fixes.iter().take(NAMED_MAX);
    let mut list: Vec<String> = named.map(|(fixed, _)| format!("\"{fixed}\"")).collect();
    if fixes.len() > NAMED_MAX {
        list.push(format!("and {} more", fixes.len() - NAMED_MAX));
    }
    let statement = format!(
        "`{name}` in {} was fixed {} times: {}. Check these cases when you change it.",
        file_name(path),
        fixes.len(),
        list.join("; ")
    );
    let mut cites = fixes.iter().map(|(_, commit)| cite_commit(commit));
    let newest = cites.next().unwrap_or_default();
    // The id is derived from the symbol: the next fix must not offer it again.
    let mut staged = InboxClaim::new(EntryKind::Learning, anchor.clone(), ID_SOURCE, newest);
    staged.statement = statement;
    staged.rule = Some(HistoryRule::RepeatedFix);
    staged.anchors = vec![anchor];
    staged.also_cites = cites.take(NAMED_MAX - 1).collect();
    staged.findings = vec![format!("{} fixes of one symbol", fixes.len())];
    staged
}
