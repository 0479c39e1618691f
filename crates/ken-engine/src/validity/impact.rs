//! What a version, or a change, does to knowledge: which entries it invalidates, which it moves, which norms
//! it has to keep, what it brings itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use ken_anchor::{Tree as _, diff, resolve};
use ken_core::anchor::Target;
use ken_core::brief::is_norm_for;
use ken_core::condition::{Condition, Truth};
use ken_core::entry::Entry;
use ken_core::facts::Validity;
use ken_core::id::EntryId;
use ken_core::kind::{Memory, Prefix};
use ken_core::store::{Filter, Store as _};
use ken_core::time::Timestamp;
use ken_index::Index;

use super::brought::{Brought, From, Stroke, brought};
use super::check::{Checker, Haste};
use super::moves::Search;
use super::range::Range;
use super::reading::Reader;
use super::tree::Version;
use super::{Checked, Verdict};
use crate::config::{Config, FailOn};
use crate::error::Error;
use crate::guard::Guard;
use crate::verify::{Finding, Level};

/// Lines of a difference that are shown.
const DIFF_LINES_MAX: usize = 12;

/// What was found.
#[derive(Debug, Default)]
pub struct Impact {
    /// Entries that were looked at.
    pub checked: usize,
    /// Files that had to be parsed.
    pub parsed: usize,
    /// Entries the code contradicts, and did not before a change.
    pub invalid: Vec<Checked>,
    /// Entries it contradicted before already.
    pub before: Vec<Checked>,
    /// Entries whose code is somewhere else now.
    pub moved: Vec<Checked>,
    /// Entries with something nobody can check.
    pub unverifiable: Vec<Checked>,
    /// Norms for what a change touches.
    pub norms: Vec<Entry>,
    /// What a change does to knowledge itself.
    pub strokes: Vec<Stroke>,
    pub(crate) findings: Vec<Finding>,
}

/// What is at hand to check with.
pub(crate) struct Bench<'a> {
    pub(crate) index: &'a mut Index,
    pub(crate) now: Timestamp,
    pub(crate) progress: &'a mut dyn FnMut(usize, usize),
}

impl Impact {
    /// Returns the entries whose text whoever reads this sees.
    pub fn entries_told(&self) -> Vec<EntryId> {
        let lists = [&self.invalid, &self.before, &self.moved, &self.unverifiable];
        let checked = lists.into_iter().flatten().map(|it| it.entry.id);
        let brought = self.strokes.iter().filter_map(|it| it.entry);
        let norms = self.norms.iter().map(|it| it.id);
        checked.chain(norms).chain(brought).collect()
    }

    /// Returns what the gate says about entries the code contradicts.
    pub(crate) fn told(&self, fail_on: FailOn) -> Vec<Finding> {
        let new = self.invalid.iter().flat_map(|it| findings(it, fail_on));
        let old = self.before.iter();
        let old = old.flat_map(|it| findings(it, FailOn::Nothing));
        let old = old.map(|mut it| {
            it.message.push_str(" (before this change already)");
            it
        });
        new.chain(old).collect()
    }

    /// Checks entries and sorts them in.
    fn fill(
        &mut self,
        mut checker: Checker<'_>,
        entries: Vec<Entry>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), Error> {
        let all = entries.len();
        checker.check_all(entries, |checked| {
            self.take(checked);
            progress(self.checked, all);
        })?;
        self.parsed = checker.reader.parsed;
        Ok(())
    }

    /// Sorts a checked entry in.
    fn take(&mut self, checked: Checked) {
        self.checked += 1;
        if checked.is_invalid() {
            self.invalid.push(checked);
        } else if checked.has_moved() {
            self.moved.push(checked);
        } else if checked.validity == Validity::Unverifiable {
            self.unverifiable.push(checked);
        }
    }
}

/// Checks entries against a version.
pub(crate) fn everything(
    bench: &mut Bench<'_>,
    mut entries: Vec<Entry>,
    version: &Version,
    config: &Config,
) -> Result<Impact, Error> {
    entries.retain(Entry::has_grounds);
    // Entries about one file follow each other, so that it is read once.
    entries.sort_by_cached_key(|entry| (first_path(entry), entry.id));
    let reader = Reader::new(version, bench.index, bench.now);
    let checker = Checker::new(reader, Search::Tree, Haste::None, &config.facts);
    let mut impact = Impact::default();
    impact.fill(checker, entries, bench.progress)?;
    Ok(impact)
}

/// Checks the entries a change can touch, and only those; `config` is that of its base.
pub(crate) fn of_change(
    bench: &mut Bench<'_>,
    range: &Range,
    config: &Config,
    (from, guard): (From, &Guard),
) -> Result<Impact, Error> {
    let touched: Vec<String> = range.touched.iter().cloned().collect();
    let affected = affected(bench.index, &touched)?;
    let mut impact = Impact::default();
    let mut entries = Vec::with_capacity(affected.len());
    for id in affected {
        entries.extend(bench.index.entry(id)?);
    }
    let reader = Reader::new(&range.head, bench.index, bench.now);
    let checker = Checker::new(reader, Search::Change(range), Haste::None, &config.facts);
    impact.fill(checker, entries, bench.progress)?;
    tell_apart(bench, range, config, &mut impact)?;
    impact.norms = norms(bench.index, &touched)?;
    let Brought {
        strokes, findings, ..
    } = brought(range, from, guard)?;
    (impact.strokes, impact.findings) = (strokes, findings);
    Ok(impact)
}

/// Returns the live entries with an anchor or a condition that one of `paths` can touch.
fn affected(index: &Index, paths: &[String]) -> Result<BTreeSet<EntryId>, Error> {
    let mut found = index.anchored_at(paths)?;
    for (text, entries) in index.conditions()? {
        // What this build cannot read it cannot check either.
        let Ok(condition) = text.parse::<Condition>() else {
            continue;
        };
        if paths.iter().any(|path| condition.may_depend_on(path)) {
            found.extend(entries);
        }
    }
    Ok(found)
}

/// Asks of what does not hold now whether it held before the change, and what of it changed.
fn tell_apart(
    bench: &mut Bench<'_>,
    range: &Range,
    config: &Config,
    impact: &mut Impact,
) -> Result<(), Error> {
    let base = Version::Commit(Arc::clone(&range.base));
    let reader = Reader::new(&base, bench.index, bench.now);
    let mut checker = Checker::new(reader, Search::File, Haste::None, &config.facts);
    let mut invalid = Vec::new();
    for mut checked in std::mem::take(&mut impact.invalid) {
        let then = checker.check(checked.entry.clone())?;
        for (now, then) in checked.anchors.iter_mut().zip(&then.anchors) {
            if now.verdict == Verdict::Changed && then.verdict == Verdict::Intact {
                now.diff = difference(&base, &range.head, &now.at)?;
            }
        }
        match then.is_invalid() {
            true => impact.before.push(checked),
            false => invalid.push(checked),
        }
    }
    impact.invalid = invalid;
    Ok(())
}

/// Returns a few lines about what changed at a place.
pub(super) fn difference(
    before: &Version,
    after: &Version,
    at: &Target,
) -> Result<Option<String>, Error> {
    let text = |version: &Version| -> Result<Option<String>, Error> {
        let Some(bytes) = version.read(at.path())? else {
            return Ok(None);
        };
        let found = resolve(at.path(), &bytes, at.spot());
        Ok(found.ok().map(|found| found.text(&bytes)))
    };
    let both = text(before)?.zip(text(after)?);
    Ok(both.map(|(old, new)| diff(&old, &new, DIFF_LINES_MAX)))
}

fn norms(index: &Index, paths: &[String]) -> Result<Vec<Entry>, Error> {
    let mut norms = index.list(&Filter {
        memory: Some(Memory::Procedural),
        ..Filter::default()
    })?;
    norms.retain(|entry| entry.id.prefix() == Prefix::Norm && is_norm_for(entry, paths));
    norms.sort_by_key(|entry| entry.id);
    Ok(norms)
}

/// Returns a finding for each ground of an entry that does not hold.
fn findings(checked: &Checked, fail_on: FailOn) -> Vec<Finding> {
    let entry = &checked.entry;
    let is_norm = entry.id.prefix().memory() == Memory::Procedural;
    let level = match fail_on {
        FailOn::Any => Level::Error,
        FailOn::Norms if is_norm => Level::Error,
        FailOn::Norms | FailOn::Nothing => Level::Warning,
    };
    let (id, title) = (entry.id, entry.title());
    let say = |what: String, at: String, line: Option<u32>| Finding {
        gate: "knowledge.validity",
        level,
        message: format!("{what}, on which {id} rests: {title}"),
        at,
        line: line.map(u64::from),
    };
    let anchors = checked.anchors.iter().filter_map(|it| match it.verdict {
        Verdict::Changed => Some(say(
            format!("`{}` changed", it.at),
            it.at.path().to_owned(),
            it.line,
        )),
        Verdict::Gone => {
            let why = it.why.strip_prefix("gone").unwrap_or_default();
            let what = format!("`{}` is gone{why}", it.at);
            Some(say(what, it.at.path().to_owned(), None))
        }
        Verdict::Intact | Verdict::Moved | Verdict::Unverifiable => None,
    });
    let broken = checked.conditions.iter();
    let broken = broken.filter(|it| it.truth == Truth::Broken).map(|it| {
        let (at, line) = match &it.at {
            Some((path, line)) => (path.clone(), Some(*line)),
            None => (id.to_string(), None),
        };
        let what = format!("`{}` does not hold ({})", it.condition, it.why);
        say(what, at, line)
    });
    anchors.chain(broken).collect()
}

fn first_path(entry: &Entry) -> String {
    let content = entry.content.as_ref();
    let first = content.and_then(|content| content.evidence.first());
    first.map_or_else(String::new, |anchor| anchor.at.path().to_owned())
}
