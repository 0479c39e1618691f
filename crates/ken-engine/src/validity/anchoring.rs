//! Taking fingerprints: of what somebody writes down now, of what was written before, of where code went.

use std::collections::BTreeMap;
use std::sync::Arc;

use ken_anchor::{TextPattern, Tree as _, Unresolved, check_code, resolve};
use ken_core::actor::Actor;
use ken_core::anchor::Anchor;
use ken_core::check::{Check, language_of};
use ken_core::condition::Truth;
use ken_core::content::{Changes, Content, Detail};
use ken_core::decide::{self, Refusal};
use ken_core::entry::Entry;
use ken_core::facts::Validity;
use ken_core::id::EntryId;
use ken_core::store::{Filter, Store as _};
use ken_core::text::Condition;
use ken_ledger::Place;
use ken_ledger::git::Runner;

use super::impact::difference;
use super::reading::Looked;
use super::tree::CommitTree;
use super::{Checked, Checker, Haste, Reader, Search, Verdict, Version, WorkTree};
use crate::config::Config;
use crate::engine::Engine;
use crate::error::Error;

/// Commits of a file in which code is looked for as it was when a claim was written.
const COMMITS_LOOKED_AT: usize = 32;

/// What `ken reanchor` did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reanchored {
    /// Entries that got fingerprints they lacked.
    pub taken: Vec<EntryId>,
    /// Entries that were led to where their code went.
    pub followed: Vec<EntryId>,
    /// Entries that need a person: changed or gone.
    pub left: Vec<EntryId>,
}

/// What new knowledge is held against: the work tree, and what the repository says of itself.
#[derive(Debug)]
pub(crate) struct Ground {
    version: Version,
    config: Config,
}

impl Ground {
    fn of(place: &Place) -> Result<Self, Error> {
        let version = Version::Work(WorkTree::new(place)?);
        let config = Config::of(&version)?;
        Ok(Self { version, config })
    }
}

impl Engine {
    /// Takes the fingerprints of what `content` points at, or says what is not there.
    ///
    /// Anchors that bring one keep it; a condition that does not hold now is refused. The ground is made
    /// when first needed and serves a whole batch.
    pub(crate) fn ground(
        &mut self,
        content: &mut Content,
        ground: &mut Option<Ground>,
    ) -> Result<(), Error> {
        understand(content.detail.as_ref())?;
        self.ground_both(&mut content.evidence, &content.depends_on, ground)
    }

    /// Does the same for what is worded anew.
    pub(crate) fn ground_changes(&mut self, changes: &mut Changes) -> Result<(), Error> {
        understand(changes.detail.as_ref().and_then(Option::as_ref))?;
        let evidence = changes.evidence.as_deref_mut().unwrap_or_default();
        let conditions = changes.depends_on.as_deref().unwrap_or_default();
        self.ground_both(evidence, conditions, &mut None)
    }

    /// Does the same for anchors alone.
    pub(crate) fn ground_anchors(&mut self, evidence: &mut [Anchor]) -> Result<(), Error> {
        self.ground_both(evidence, &[], &mut None)
    }

    fn ground_both(
        &mut self,
        evidence: &mut [Anchor],
        conditions: &[Condition],
        ground: &mut Option<Ground>,
    ) -> Result<(), Error> {
        if evidence.is_empty() && conditions.is_empty() {
            return Ok(());
        }
        let Ground { version, config } = match ground {
            Some(ground) => ground,
            none => none.insert(Ground::of(&self.place)?),
        };
        let reader = Reader::new(version, &mut self.index, self.world.now());
        let mut checker = Checker::new(reader, Search::Tree, Haste::None, &config.facts);
        for anchor in evidence {
            if anchor.fingerprint.is_none() {
                take(&mut checker, anchor)?;
            }
        }
        for condition in conditions {
            let check = checker.condition(condition);
            if check.truth == Truth::Broken {
                return Err(Error::Ungrounded {
                    what: format!("the condition `{condition}` does not hold"),
                    why: check.why,
                    nearest: Vec::new(),
                });
            }
        }
        checker.keep()
    }

    /// Checks one entry against the work tree and says what changed.
    pub fn check_entry(&mut self, id: EntryId) -> Result<Checked, Error> {
        let mut checked = self.checked(id)?;
        self.tell_changes(std::slice::from_mut(&mut checked))?;
        Ok(checked)
    }

    fn checked(&mut self, id: EntryId) -> Result<Checked, Error> {
        let entry = self.entry(id)?;
        let checked = self.check_entries(vec![entry], Search::Tree, Haste::None)?;
        checked
            .into_iter()
            .next()
            .ok_or(Error::NotFound(id.to_string()))
    }

    /// Checks entries against the work tree.
    pub(crate) fn check_entries(
        &mut self,
        entries: Vec<Entry>,
        search: Search<'_>,
        haste: Haste,
    ) -> Result<Vec<Checked>, Error> {
        let version = Version::Work(WorkTree::new(&self.place)?);
        let config = Config::of(&version).unwrap_or_default();
        let reader = Reader::new(&version, &mut self.index, self.world.now());
        let mut checker = Checker::new(reader, search, haste, &config.facts);
        let mut checked = Vec::with_capacity(entries.len());
        checker.check_all(entries, |it| checked.push(it))?;
        Ok(checked)
    }

    /// Returns what the code says now about those of `entries` that rest on it; quickly, somebody waits.
    pub(crate) fn validity_of<'e>(
        &mut self,
        entries: impl IntoIterator<Item = &'e Entry>,
    ) -> Result<BTreeMap<EntryId, Validity>, Error> {
        let entries = entries.into_iter().filter(|it| it.has_grounds());
        let entries: Vec<Entry> = entries.cloned().collect();
        if entries.is_empty() {
            return Ok(BTreeMap::new());
        }
        let checked = self.check_entries(entries, Search::File, Haste::Waiting)?;
        let validity = checked.into_iter().map(|it| (it.entry.id, it.validity));
        Ok(validity.collect())
    }

    /// Returns the entries whose code changed or is gone.
    pub fn invalid(&mut self) -> Result<Vec<Checked>, Error> {
        let entries = self.index.list(&Filter::default())?;
        let mut checked = self.check_entries(entries, Search::Tree, Haste::None)?;
        checked.retain(Checked::is_invalid);
        self.tell_changes(&mut checked)?;
        Ok(checked)
    }

    /// Fills in what changed, where git still has the code as it was.
    fn tell_changes(&self, all: &mut [Checked]) -> Result<(), Error> {
        let Some(dirs) = &self.place.git else {
            return Ok(());
        };
        let git = Runner::new(&self.place.root, dirs);
        let now = Version::Work(WorkTree::new(&self.place)?);
        for checked in all {
            let content = checked.entry.content.as_ref();
            let taken = content.into_iter().flat_map(|it| &it.evidence);
            for (anchor, check) in taken.zip(&mut checked.anchors) {
                if check.verdict == Verdict::Changed
                    && let Some(then) = as_it_was(&git, anchor)?
                {
                    check.diff = difference(&then, &now, &anchor.at)?;
                }
            }
        }
        Ok(())
    }

    /// Takes missing fingerprints and follows what moved; what changed is left to a person.
    pub fn reanchor_all(&mut self, by: &Actor) -> Result<Reanchored, Error> {
        let mut entries = self.index.list(&Filter::default())?;
        entries.retain(|entry| {
            let content = entry.content.as_ref();
            content.is_some_and(|content| !content.evidence.is_empty())
        });
        let mut done = Reanchored::default();
        for checked in self.check_entries(entries, Search::Tree, Haste::None)? {
            self.bring_up(&checked, by, &mut done)?;
        }
        self.render_due()?;
        Ok(done)
    }

    /// Writes down where the code of moved entries is.
    pub(crate) fn follow(&mut self, moved: &[Checked], by: &Actor) -> Result<Reanchored, Error> {
        let mut done = Reanchored::default();
        for checked in moved {
            self.bring_up(checked, by, &mut done)?;
        }
        self.render_due()?;
        Ok(done)
    }

    fn bring_up(
        &mut self,
        checked: &Checked,
        by: &Actor,
        done: &mut Reanchored,
    ) -> Result<(), Error> {
        let id = checked.entry.id;
        let evidence = checked.refreshed();
        let content = checked.entry.content.as_ref();
        if content.is_some_and(|content| content.evidence != evidence) {
            let draft = decide::reanchor(&checked.entry, evidence)?;
            self.record(vec![draft], by)?;
            match checked.has_moved() {
                true => done.followed.push(id),
                false => done.taken.push(id),
            }
        }
        if checked.is_invalid() {
            done.left.push(id);
        }
        Ok(())
    }

    /// Takes the code of an entry as it is now: somebody looked and says that the claim still stands.
    pub fn keep(&mut self, id: EntryId, by: &Actor) -> Result<Entry, Error> {
        let checked = self.checked(id)?;
        let mut anchors = checked.anchors.iter();
        if let Some(gone) = anchors.find(|it| it.verdict == Verdict::Gone) {
            return Err(Error::Ungrounded {
                what: format!("`{}` is gone", gone.at),
                why: "an entry cannot rest on what is not there".to_owned(),
                nearest: Vec::new(),
            });
        }
        let evidence = checked.anchors.iter().map(|it| {
            let old = Anchor::from(it.at.clone());
            it.now.clone().unwrap_or(old)
        });
        let evidence = evidence.collect();
        let draft = decide::reanchor(&checked.entry, evidence)?;
        self.record(vec![draft], by)?;
        self.render_due()?;
        self.entry(id)
    }
}

/// Returns the latest commit in which what an anchor points at was as it is remembered.
fn as_it_was(git: &Runner, anchor: &Anchor) -> Result<Option<Version>, Error> {
    let (path, spot) = (anchor.at.path(), anchor.at.spot());
    let count = format!("-{COMMITS_LOOKED_AT}");
    let commits = git.output(&["log", "--format=%H", &count, "--", path])?;
    for commit in String::from_utf8_lossy(&commits).lines() {
        let then = CommitTree::new(git.clone(), commit.to_owned());
        let bytes = then.read(path)?;
        let found = bytes.and_then(|bytes| resolve(path, &bytes, spot).ok());
        let taken = found.map(|it| it.fingerprint.to_string());
        if taken.is_some() && taken == anchor.fingerprint {
            return Ok(Some(Version::Commit(Arc::new(then))));
        }
    }
    Ok(None)
}

/// Takes the fingerprint of what an anchor points at.
fn take(checker: &mut Checker<'_>, anchor: &mut Anchor) -> Result<(), Error> {
    let at = &anchor.at;
    let refused = |why: String, nearest: Vec<String>| {
        let what = format!("the anchor `{at}` points at nothing");
        Err(Error::Ungrounded { what, why, nearest })
    };
    match checker.reader.look(at.path(), at.spot())? {
        Looked::Found(found) => {
            anchor.fingerprint = Some(found.fingerprint.to_string());
            Ok(())
        }
        Looked::NoFile if checker.is_folder(at)? => Ok(()),
        Looked::NoFile => refused(format!("there is no file `{}`", at.path()), Vec::new()),
        Looked::Missing(Unresolved::NoSymbol { nearest, .. }) => {
            refused("there is no such symbol".to_owned(), nearest)
        }
        Looked::Missing(other) => refused(other.to_string(), Vec::new()),
        Looked::Unreadable(why) => refused(why, Vec::new()),
    }
}

/// Refuses a norm's check whose pattern nothing could be held against.
fn understand(detail: Option<&Detail>) -> Result<(), Error> {
    let Some(Detail::Norm(norm)) = detail else {
        return Ok(());
    };
    norm.check.understand().map_err(Refusal::from)?;
    let understood = match &norm.check {
        Check::CommitMessage { pattern, .. } | Check::ForbiddenText { pattern, .. } => {
            TextPattern::new(pattern).map(|_| ())
        }
        Check::ForbiddenCode {
            language, pattern, ..
        } => {
            let language = language_of(language).map_err(Refusal::from)?;
            check_code(language, pattern)
        }
        Check::ChangedTogether { .. }
        | Check::Reviewers { .. }
        | Check::DiffSize { .. }
        | Check::RiskTier { .. } => Ok(()),
    };
    understood.map_err(|why| Error::Usage(format!("the check cannot be used: {why}")))
}
