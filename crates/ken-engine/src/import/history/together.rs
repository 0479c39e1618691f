//! Source files that change in the same commits although nothing in their names says so.

use std::collections::BTreeMap;

use ken_core::values::kind::EntryKind;
use ken_digest::commit::HistoryRule;

use super::code::{CurrentCode, file_name, file_stem, is_source};
use super::{ID_SOURCE, cite_commit};
use crate::git::LoggedCommit;
use crate::import::inbox::InboxClaim;

/// Number of commits examined, newest first: an older habit may have ended.
const COMMITS_MAX: usize = 2_000;

/// Maximum number of files of a commit: a wider one changes everything together.
const FILES_MAX: usize = 10;

/// Minimum number of commits that changed both files.
const SHARED_MIN: usize = 8;

/// Minimum percentage of the commits with one of the files that changed both.
const PERCENT_MIN: usize = 45;

/// Maximum number of commits cited.
const CITED_MAX: usize = 3;

/// Names of files that list the other files of their folder.
const INDEX_STEMS: [&str; 6] = ["mod", "lib", "index", "__init__", "main", "package"];

/// Returns a claim per pair of files, the closest first.
pub(super) fn changing_together(commits: &[LoggedCommit], code: &CurrentCode) -> Vec<InboxClaim> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut pairs: BTreeMap<(&str, &str), Vec<&LoggedCommit>> = BTreeMap::new();
    for commit in commits.iter().take(COMMITS_MAX) {
        if commit.files.len() > FILES_MAX {
            continue;
        }
        let is_wanted = |it: &&String| is_source(it) && code.has(it);
        let mut files: Vec<&str> = commit
            .files
            .iter()
            .filter(is_wanted)
            .map(String::as_str)
            .collect();
        files.sort_unstable();
        for (place, one) in files.iter().enumerate() {
            *counts.entry(one).or_default() += 1;
            for other in &files[place + 1..] {
                pairs.entry((one, other)).or_default().push(commit);
            }
        }
    }
    let mut found: Vec<(usize, InboxClaim)> = Vec::new();
    for ((one, other), shared) in &pairs {
        let either = counts[one] + counts[other] - shared.len();
        let percent = shared.len() * 100 / either;
        if shared.len() >= SHARED_MIN && percent >= PERCENT_MIN && !is_obvious(one, other) {
            found.push((percent, claim(one, other, shared, either)));
        }
    }
    found.sort_by_key(|(percent, _)| std::cmp::Reverse(*percent));
    found.into_iter().map(|(_, claim)| claim).collect()
}

/// Returns whether the names of two files say that they belong together.
fn is_obvious(one: &str, other: &str) -> bool {
    let (stem, other_stem) = (file_stem(one), file_stem(other));
    let is_index = |stem: &str| INDEX_STEMS.contains(&stem);
    // `pay.c` and `pay.h`; but two files of one name in two folders are copies.
    let same = stem == other_stem && file_name(one) != file_name(other);
    // Whoever opens a folder sees its files; a partner elsewhere is what one forgets.
    let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    same || folder(one) == folder(other) || is_index(stem) || is_index(other_stem)
}

fn claim(one: &str, other: &str, shared: &[&LoggedCommit], either: usize) -> InboxClaim {
    let statement = format!(
        "`{one}` and `{other}` change together: {} of the {either} commits that touched one of them \
         touched both. When you change one, check whether the other needs the same change.",
        shared.len()
    );
    let mut cites = shared.iter().map(|it| cite_commit(it));
    let newest = cites.next().unwrap_or_default();
    // The id is derived from the files: the next commit changes the count.
    let identity = format!("{one} {other}");
    let mut staged = InboxClaim::new(EntryKind::Learning, identity, ID_SOURCE, newest);
    staged.statement = statement;
    staged.rule = Some(HistoryRule::ChangeTogether);
    staged.also_cites = cites.take(CITED_MAX - 1).collect();
    let paths = [one, other];
    staged.applies_to = paths.iter().filter_map(|it| it.parse().ok()).collect();
    staged.depends_on = paths.iter().map(|it| format!("file:{it}")).collect();
    staged.findings = vec![format!("{} commits changed both", shared.len())];
    staged
}
