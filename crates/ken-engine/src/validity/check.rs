//! Checks entries one after the other against one version.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use ken_anchor::condition::{Evidence, Seen, Symbols};
use ken_anchor::{Fingerprint, Resolved, Tree as _, Unresolved};
use ken_core::anchor::{Anchor, Spot, Target};
use ken_core::condition::{self, Clause, Truth};
use ken_core::entry::Entry;
use ken_core::text::Condition;

use super::moves::{Moves, Search};
use super::reading::{Looked, Reader};
use super::{AnchorCheck, Checked, ConditionCheck, Verdict};
use crate::error::Error;

/// Entries after which the outlines they needed are forgotten: those of a whole repository are large.
const REMEMBERED_FOR: usize = 4096;

/// Why an anchor is gone with its file.
pub(crate) const NO_FILE: &str = "the file is gone";

/// Checks entries against the version its reader reads.
#[derive(Debug)]
pub(crate) struct Checker<'a> {
    pub(crate) reader: Reader<'a>,
    moves: Moves<'a>,
    haste: Haste,
    facts: &'a BTreeSet<String>,
    /// Conditions are shared by many entries.
    conditions: BTreeMap<String, ConditionCheck>,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(
        reader: Reader<'a>,
        search: Search<'a>,
        haste: Haste,
        facts: &'a BTreeSet<String>,
    ) -> Self {
        Self {
            reader,
            moves: Moves::new(search),
            haste,
            facts,
            conditions: BTreeMap::new(),
        }
    }

    /// Writes down what was parsed and found out, for the next one who asks.
    pub(super) fn keep(&mut self) -> Result<(), Error> {
        if self.haste == Haste::None {
            let truths = self.conditions.values();
            let truths = truths.map(|it| (it.condition.as_str(), it.truth.name()));
            self.reader.keep_truths(truths)?;
        }
        self.reader.keep()
    }

    /// Checks entries, hands each on, and keeps what was found out.
    ///
    /// Entries about one file should follow each other: it is then read once.
    pub(crate) fn check_all(
        &mut self,
        entries: Vec<Entry>,
        mut each: impl FnMut(Checked),
    ) -> Result<(), Error> {
        self.learn(conditions_of(&entries));
        let mut entries = entries.into_iter();
        while entries.len() > 0 {
            let some: Vec<Entry> = entries.by_ref().take(REMEMBERED_FOR).collect();
            self.reader.prepare(symbol_paths(&some))?;
            for entry in some {
                each(self.check(entry)?);
            }
            self.reader.forget();
        }
        self.keep()
    }

    /// Checks one entry.
    pub(crate) fn check(&mut self, entry: Entry) -> Result<Checked, Error> {
        let Some(content) = &entry.content else {
            return Ok(Checked::of(entry, Vec::new(), Vec::new()));
        };
        let mut anchors = Vec::with_capacity(content.evidence.len());
        for anchor in &content.evidence {
            anchors.push(self.anchor(anchor)?);
        }
        let mut conditions = Vec::with_capacity(content.depends_on.len());
        for condition in &content.depends_on {
            conditions.push(self.condition(condition));
        }
        Ok(Checked::of(entry, anchors, conditions))
    }

    /// Looks one anchor up.
    pub(crate) fn anchor(&mut self, anchor: &Anchor) -> Result<AnchorCheck, Error> {
        let check = match self.compared(anchor)? {
            Compared::Here(check) => return Ok(check),
            Compared::Lost(check) => check,
        };
        Ok(match self.moves.find(&mut self.reader, anchor)? {
            Some(found) => moved(&anchor.at, found.now, found.line),
            None => check,
        })
    }

    /// Compares an anchor with what stands at its path.
    fn compared(&mut self, anchor: &Anchor) -> Result<Compared, Error> {
        let at = &anchor.at;
        let Some(taken) = &anchor.fingerprint else {
            return self.without_fingerprint(at);
        };
        let Ok(taken) = taken.parse::<Fingerprint>() else {
            let why = "its fingerprint was taken in a way this ken does not know";
            return Ok(Compared::Here(unverifiable(at, why.to_owned())));
        };
        let verdict = match self.reader.compare(at.path(), at.spot(), taken) {
            Ok(Some(verdict)) => verdict,
            Ok(None) => return self.no_file(at),
            Err(Error::Tree(error)) => {
                return Ok(Compared::Here(unverifiable(at, error.why)));
            }
            Err(other) => return Err(other),
        };
        Ok(match verdict {
            ken_anchor::Verdict::Intact(now) => Compared::Here(intact(at, &now)),
            // The claim is about a file, not that it stays as it is.
            ken_anchor::Verdict::Changed(now) if *at.spot() == Spot::File => {
                Compared::Here(intact(at, &now))
            }
            ken_anchor::Verdict::Moved { to, at: now } => {
                let line = now.first_line;
                let to = Anchor {
                    at: at.with_spot(to),
                    fingerprint: Some(now.fingerprint.to_string()),
                };
                Compared::Here(moved(at, to, line))
            }
            ken_anchor::Verdict::Changed(now) => Compared::Lost(AnchorCheck {
                verdict: Verdict::Changed,
                why: "changed".to_owned(),
                ..intact(at, &now)
            }),
            ken_anchor::Verdict::Gone { nearest } => Compared::Lost(gone(at, &nearest)),
            ken_anchor::Verdict::Unknown(why) => Compared::Here(unverifiable(at, why.to_string())),
        })
    }

    fn without_fingerprint(&mut self, at: &Target) -> Result<Compared, Error> {
        let looked = self.reader.look(at.path(), at.spot())?;
        Ok(match looked {
            Looked::Found(now) if *at.spot() == Spot::File => Compared::Here(intact(at, &now)),
            Looked::Found(now) => Compared::Here(AnchorCheck {
                verdict: Verdict::Unverifiable,
                why: "no fingerprint was taken; `ken reanchor --all` takes one".to_owned(),
                ..intact(at, &now)
            }),
            Looked::NoFile => return self.no_file(at),
            Looked::Missing(Unresolved::NoSymbol { nearest, .. }) => {
                Compared::Lost(gone(at, &nearest))
            }
            Looked::Missing(Unresolved::NoLines { .. }) => Compared::Lost(gone(at, &[])),
            Looked::Missing(other) => Compared::Here(unverifiable(at, other.to_string())),
            Looked::Unreadable(why) => Compared::Here(unverifiable(at, why)),
        })
    }

    fn no_file(&self, at: &Target) -> Result<Compared, Error> {
        let check = |verdict, why: &str| AnchorCheck {
            at: at.clone(),
            verdict,
            now: None,
            line: None,
            why: why.to_owned(),
            diff: None,
        };
        Ok(match self.is_folder(at)? {
            true => Compared::Here(check(Verdict::Intact, "")),
            false => Compared::Lost(check(Verdict::Gone, NO_FILE)),
        })
    }

    /// Returns whether an anchor without a spot names a folder that is there.
    pub(super) fn is_folder(&self, at: &Target) -> Result<bool, Error> {
        if *at.spot() != Spot::File {
            return Ok(false);
        }
        let below = format!("{}/", at.path().trim_end_matches('/'));
        let paths = self.reader.version.paths()?;
        Ok(paths.iter().any(|path| path.starts_with(&below)))
    }

    /// Evaluates one condition, once.
    pub(crate) fn condition(&mut self, condition: &Condition) -> ConditionCheck {
        let known = self.conditions.get(condition.as_str());
        if let Some(known) = known {
            return known.clone();
        }
        self.learn([condition]);
        self.conditions[condition.as_str()].clone()
    }

    /// Evaluates conditions, each once, reading what they share once.
    fn learn<'c>(&mut self, conditions: impl IntoIterator<Item = &'c Condition>) {
        let (version, haste) = (self.reader.version, self.haste);
        let symbols = Lookup(RefCell::new(&mut self.reader));
        let evidence = Evidence::new(version, &symbols, self.facts);
        for condition in conditions {
            let text = condition.as_str();
            if self.conditions.contains_key(text) {
                continue;
            }
            let check = match haste == Haste::Waiting && is_wide(text) {
                true => symbols.known(text),
                false => {
                    let outcome = evidence.evaluate_stored(condition);
                    ConditionCheck {
                        condition: text.to_owned(),
                        truth: outcome.truth,
                        why: outcome.why,
                        at: outcome.at.map(|place| (place.path, place.line)),
                    }
                }
            };
            self.conditions.insert(text.to_owned(), check);
        }
    }
}

/// Whether somebody waits for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Haste {
    /// Everything is looked up.
    None,
    /// Conditions about the whole tree are taken as they were last found in the work tree.
    Waiting,
}

/// Returns the files whose symbols entries are about.
fn symbol_paths(entries: &[Entry]) -> impl Iterator<Item = String> {
    let contents = entries.iter().filter_map(|entry| entry.content.as_ref());
    let anchors = contents.flat_map(|content| &content.evidence);
    let symbols = anchors.filter(|it| matches!(it.at.spot(), Spot::Symbol(_)));
    symbols.map(|anchor| anchor.at.path().to_owned())
}

fn conditions_of(entries: &[Entry]) -> impl Iterator<Item = &Condition> {
    let contents = entries.iter().filter_map(|entry| entry.content.as_ref());
    contents.flat_map(|content| &content.depends_on)
}

/// Whether a condition may be about the whole tree: what it says was last found out by `ken verify`.
fn is_wide(text: &str) -> bool {
    match text.parse::<condition::Condition>().map(|it| it.clause) {
        Ok(Clause::Text { .. } | Clause::Code { .. } | Clause::File(_)) => true,
        Ok(Clause::Symbol(_) | Clause::Config { .. } | Clause::Package(_) | Clause::Fact(_))
        | Err(_) => false,
    }
}

/// What stands at an anchor's own place.
enum Compared {
    Here(AnchorCheck),
    /// It does not say the same; it may be elsewhere.
    Lost(AnchorCheck),
}

fn intact(at: &Target, now: &Resolved) -> AnchorCheck {
    AnchorCheck {
        at: at.clone(),
        verdict: Verdict::Intact,
        now: Some(Anchor {
            at: at.clone(),
            fingerprint: Some(now.fingerprint.to_string()),
        }),
        line: Some(now.first_line),
        why: String::new(),
        diff: None,
    }
}

fn moved(at: &Target, to: Anchor, line: u32) -> AnchorCheck {
    AnchorCheck {
        at: at.clone(),
        verdict: Verdict::Moved,
        why: format!("moved to {}", to.at),
        now: Some(to),
        line: Some(line),
        diff: None,
    }
}

fn gone(at: &Target, nearest: &[String]) -> AnchorCheck {
    let why = match nearest {
        [] => "gone".to_owned(),
        names => format!("gone; nearest: `{}`", names.join("`, `")),
    };
    AnchorCheck {
        at: at.clone(),
        verdict: Verdict::Gone,
        now: None,
        line: None,
        why,
        diff: None,
    }
}

fn unverifiable(at: &Target, why: String) -> AnchorCheck {
    AnchorCheck {
        verdict: Verdict::Unverifiable,
        why,
        ..gone(at, &[])
    }
}

/// Symbols for conditions, from the same reader.
struct Lookup<'r, 'a>(RefCell<&'r mut Reader<'a>>);

impl Lookup<'_, '_> {
    /// Returns what was last found out about a condition.
    fn known(&self, text: &str) -> ConditionCheck {
        let truth = self.0.borrow().known_truth(text);
        ConditionCheck {
            condition: text.to_owned(),
            truth: truth.unwrap_or(Truth::Unverifiable),
            why: match truth {
                Some(_) => "as `ken verify` last found".to_owned(),
                None => "`ken verify` has not looked yet".to_owned(),
            },
            at: None,
        }
    }
}

impl Symbols for Lookup<'_, '_> {
    fn look_up(&self, path: &str, name: &str) -> Result<Option<Seen>, String> {
        let spot = Spot::Symbol(name.to_owned());
        let looked = self.0.borrow_mut().look(path, &spot);
        match looked {
            Ok(Looked::Found(found)) => Ok(Some(Seen {
                fingerprint: found.fingerprint.to_string(),
                line: found.first_line,
            })),
            Ok(Looked::NoFile) => Ok(None),
            Ok(Looked::Missing(Unresolved::NoSymbol { .. } | Unresolved::NoLines { .. })) => {
                Ok(None)
            }
            Ok(Looked::Missing(other)) => Err(other.to_string()),
            Ok(Looked::Unreadable(why)) => Err(why),
            Err(error) => Err(error.to_string()),
        }
    }
}
