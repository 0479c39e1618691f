//! Checker that evaluates the anchors and conditions of entries against one version.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use ken_anchor::condition::{ConditionEvaluator, SymbolResolver, SymbolState};
use ken_anchor::{FileTree as _, Fingerprint, ResolveError, ResolvedAnchor};
use ken_core::ledger::entry::Entry;
use ken_core::values::anchor::{Anchor, CodeLocation, FilePart};
use ken_core::values::condition::{self, ConditionClause, TruthValue};
use ken_core::values::kind::{CodeRelation, EntryKind};
use ken_core::values::text::Condition;

use super::file_reader::{SpotLookup, VersionReader};
use super::moved_code::{MoveFinder, MoveSearch};
use super::{AnchorCheck, AnchorVerdict, ConditionCheck, EntryCheck};
use crate::error::EngineError;

/// Entries per batch. Outlines are dropped after each, because those of a whole repository are
/// large.
const CHECK_BATCH_ENTRIES: usize = 4096;

/// The reason given for an anchor whose file does not exist.
pub(crate) const FILE_GONE: &str = "the file is gone";

/// Checks entries against the version of its reader.
#[derive(Debug)]
pub(crate) struct EntryChecker<'a> {
    pub(crate) reader: VersionReader<'a>,
    moves: MoveFinder<'a>,
    effort: Effort,
    facts: &'a BTreeSet<String>,
    /// Evaluated conditions by text; many entries share a condition.
    conditions: BTreeMap<String, ConditionCheck>,
}

impl<'a> EntryChecker<'a> {
    pub(crate) fn new(
        reader: VersionReader<'a>,
        search: MoveSearch<'a>,
        effort: Effort,
        facts: &'a BTreeSet<String>,
    ) -> Self {
        Self {
            reader,
            moves: MoveFinder::new(search),
            effort,
            facts,
            conditions: BTreeMap::new(),
        }
    }

    /// Stores new outlines and truth values in the index.
    pub(super) fn store_results(&mut self) -> Result<(), EngineError> {
        // With cached effort, some truths come from the index or are placeholders, which must not
        // be stored as evaluated.
        if self.effort == Effort::Full {
            let truths = self.conditions.values();
            let truths = truths.map(|it| (it.condition.as_str(), it.truth.name()));
            self.reader.store_truths(truths)?;
        }
        self.reader.flush_outlines()
    }

    /// Checks entries, passes each result to `each`, and stores outlines and truths in the index.
    ///
    /// Entries about the same file should be neighbors, so that the file is read once.
    pub(crate) fn check_all(
        &mut self,
        entries: Vec<Entry>,
        mut each: impl FnMut(EntryCheck),
    ) -> Result<(), EngineError> {
        self.evaluate_conditions(conditions_of(&entries));
        let mut entries = entries.into_iter();
        while entries.len() > 0 {
            let batch: Vec<Entry> = entries.by_ref().take(CHECK_BATCH_ENTRIES).collect();
            self.reader.preload_outlines(symbol_paths(&batch))?;
            for entry in batch {
                each(self.check(entry)?);
            }
            self.reader.clear_outlines();
        }
        self.store_results()
    }

    /// Checks one entry.
    pub(crate) fn check(&mut self, entry: Entry) -> Result<EntryCheck, EngineError> {
        // Redaction removes the content; an entry without anchors and conditions is unverifiable.
        let Some(content) = &entry.content else {
            return Ok(EntryCheck::new(entry, Vec::new(), Vec::new()));
        };
        let mut anchors = Vec::with_capacity(content.anchors.len());
        let relation = entry.kind().map(EntryKind::code_relation);
        for anchor in &content.anchors {
            let mut check = self.check_anchor(anchor)?;
            let is_independent = relation == Some(CodeRelation::Independent);
            if check.verdict == AnchorVerdict::Changed && is_independent {
                check.verdict = AnchorVerdict::Intact;
                check.why.clear();
            }
            anchors.push(check);
        }
        let mut conditions = Vec::with_capacity(content.depends_on.len());
        for condition in &content.depends_on {
            conditions.push(self.check_condition(condition));
        }
        Ok(EntryCheck::new(entry, anchors, conditions))
    }

    /// Checks one anchor, searching for moved code if it does not match in place.
    pub(crate) fn check_anchor(&mut self, anchor: &Anchor) -> Result<AnchorCheck, EngineError> {
        let check = match self.check_in_place(anchor)? {
            InPlaceCheck::Final(check) => return Ok(check),
            InPlaceCheck::Lost(check) => check,
        };
        Ok(match self.moves.find(&mut self.reader, anchor)? {
            Some(found) => moved_check(&anchor.at, found.now, found.lines),
            None => check,
        })
    }

    /// Compares an anchor with the code at its own location.
    fn check_in_place(&mut self, anchor: &Anchor) -> Result<InPlaceCheck, EngineError> {
        let at = &anchor.at;
        let Some(stored) = &anchor.fingerprint else {
            return self.check_without_fingerprint(at);
        };
        let Ok(fingerprint) = stored.parse::<Fingerprint>() else {
            let why = "this version of Ken does not know the format of its fingerprint";
            return Ok(InPlaceCheck::Final(unverifiable_check(at, why.to_owned())));
        };
        let verdict = match self.reader.compare_spot(at.path(), at.part(), fingerprint) {
            Ok(Some(verdict)) => verdict,
            Ok(None) => return self.check_missing_file(at),
            Err(EngineError::Tree(error)) => {
                return Ok(InPlaceCheck::Final(unverifiable_check(at, error.why)));
            }
            Err(other) => return Err(other),
        };
        Ok(match verdict {
            ken_anchor::AnchorComparison::Intact(now) => {
                InPlaceCheck::Final(intact_check(at, &now))
            }
            // A whole-file anchor claims that the file exists, not that it never changes.
            ken_anchor::AnchorComparison::Changed(now) if *at.part() == FilePart::File => {
                InPlaceCheck::Final(intact_check(at, &now))
            }
            ken_anchor::AnchorComparison::Moved { to, at: now } => {
                let lines = (now.first_line, now.last_line);
                let to = Anchor {
                    at: at.with_part(to),
                    fingerprint: Some(now.fingerprint.to_string()),
                };
                InPlaceCheck::Final(moved_check(at, to, lines))
            }
            ken_anchor::AnchorComparison::Changed(now) => InPlaceCheck::Lost(AnchorCheck {
                verdict: AnchorVerdict::Changed,
                why: "changed".to_owned(),
                ..intact_check(at, &now)
            }),
            ken_anchor::AnchorComparison::Gone { nearest } => {
                InPlaceCheck::Lost(gone_check(at, &nearest))
            }
            ken_anchor::AnchorComparison::Unknown(why) => {
                InPlaceCheck::Final(unverifiable_check(at, why.to_string()))
            }
        })
    }

    fn check_without_fingerprint(
        &mut self,
        at: &CodeLocation,
    ) -> Result<InPlaceCheck, EngineError> {
        let looked = self.reader.resolve_spot(at.path(), at.part())?;
        Ok(match looked {
            SpotLookup::Found(now) if *at.part() == FilePart::File => {
                InPlaceCheck::Final(intact_check(at, &now))
            }
            SpotLookup::Found(now) => InPlaceCheck::Final(AnchorCheck {
                verdict: AnchorVerdict::Unverifiable,
                why: "it has no fingerprint; run `ken entry reanchor --all` to add one".to_owned(),
                ..intact_check(at, &now)
            }),
            SpotLookup::NoFile => return self.check_missing_file(at),
            SpotLookup::Missing(ResolveError::SymbolNotFound { nearest, .. }) => {
                InPlaceCheck::Lost(gone_check(at, &nearest))
            }
            SpotLookup::Missing(ResolveError::LinesOutOfRange { .. }) => {
                InPlaceCheck::Lost(gone_check(at, &[]))
            }
            SpotLookup::Missing(other) => {
                InPlaceCheck::Final(unverifiable_check(at, other.to_string()))
            }
            SpotLookup::Unreadable(why) => InPlaceCheck::Final(unverifiable_check(at, why)),
        })
    }

    fn check_missing_file(&self, at: &CodeLocation) -> Result<InPlaceCheck, EngineError> {
        let check = |verdict, why: &str| AnchorCheck {
            at: at.clone(),
            verdict,
            now: None,
            line: None,
            last_line: None,
            why: why.to_owned(),
            diff: None,
        };
        Ok(if self.is_folder(at)? {
            InPlaceCheck::Final(check(AnchorVerdict::Intact, ""))
        } else {
            InPlaceCheck::Lost(check(AnchorVerdict::Gone, FILE_GONE))
        })
    }

    /// Returns true if the anchor has no spot and its path is an existing folder.
    pub(super) fn is_folder(&self, at: &CodeLocation) -> Result<bool, EngineError> {
        if *at.part() != FilePart::File {
            return Ok(false);
        }
        // Git does not store folders: a folder exists if a file is below it.
        let below = format!("{}/", at.path().trim_end_matches('/'));
        let paths = self.reader.version.paths()?;
        Ok(paths.iter().any(|path| path.starts_with(&below)))
    }

    /// Evaluates one condition, or returns its earlier evaluation.
    pub(crate) fn check_condition(&mut self, condition: &Condition) -> ConditionCheck {
        let known = self.conditions.get(condition.as_str());
        if let Some(known) = known {
            return known.clone();
        }
        self.evaluate_conditions([condition]);
        // `evaluate_conditions` inserts a result for every condition it is given.
        self.conditions[condition.as_str()].clone()
    }

    /// Evaluates each condition once; files that several conditions need are read once.
    fn evaluate_conditions<'c>(&mut self, conditions: impl IntoIterator<Item = &'c Condition>) {
        let (version, haste) = (self.reader.version, self.effort);
        // `SymbolResolver::look_up` takes `&self`, but resolving a symbol fills the reader's cache.
        let symbols = SymbolLookup(RefCell::new(&mut self.reader));
        let evidence = ConditionEvaluator::new(version, &symbols, self.facts);
        for condition in conditions {
            let text = condition.as_str();
            if self.conditions.contains_key(text) {
                continue;
            }
            let check = if haste == Effort::Cached && may_read_whole_tree(text) {
                symbols.stored_check(text)
            } else {
                let outcome = evidence.evaluate_stored(condition);
                ConditionCheck {
                    condition: text.to_owned(),
                    truth: outcome.truth,
                    why: outcome.why,
                    at: outcome.at.map(|place| (place.path, place.line)),
                }
            };
            self.conditions.insert(text.to_owned(), check);
        }
    }
}

/// Amount of work a check may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Evaluate everything.
    Full,
    /// For interactive queries: use the stored truth of conditions about the whole tree.
    Cached,
}

/// Returns the files with symbol anchors.
fn symbol_paths(entries: &[Entry]) -> impl Iterator<Item = String> {
    let contents = entries.iter().filter_map(|entry| entry.content.as_ref());
    let anchors = contents.flat_map(|content| &content.anchors);
    let symbols = anchors.filter(|it| matches!(it.at.part(), FilePart::Symbol(_)));
    symbols.map(|anchor| anchor.at.path().to_owned())
}

fn conditions_of(entries: &[Entry]) -> impl Iterator<Item = &Condition> {
    let contents = entries.iter().filter_map(|entry| entry.content.as_ref());
    contents.flat_map(|content| &content.depends_on)
}

/// Returns true if evaluating a condition may read the whole tree.
fn may_read_whole_tree(text: &str) -> bool {
    match text
        .parse::<condition::ParsedCondition>()
        .map(|it| it.clause)
    {
        Ok(
            ConditionClause::Text { .. } | ConditionClause::Code { .. } | ConditionClause::File(_),
        ) => true,
        Ok(
            ConditionClause::Symbol(_)
            | ConditionClause::Config { .. }
            | ConditionClause::Package(_)
            | ConditionClause::Fact(_),
        )
        | Err(_) => false,
    }
}

/// The result of checking an anchor at its own location.
enum InPlaceCheck {
    /// The verdict is final.
    Final(AnchorCheck),
    /// The code is not there anymore, but may have moved.
    Lost(AnchorCheck),
}

fn intact_check(at: &CodeLocation, now: &ResolvedAnchor) -> AnchorCheck {
    AnchorCheck {
        at: at.clone(),
        verdict: AnchorVerdict::Intact,
        now: Some(Anchor {
            at: at.clone(),
            fingerprint: Some(now.fingerprint.to_string()),
        }),
        line: Some(now.first_line),
        last_line: Some(now.last_line),
        why: String::new(),
        diff: None,
    }
}

fn moved_check(at: &CodeLocation, to: Anchor, (first, last): (u32, u32)) -> AnchorCheck {
    AnchorCheck {
        at: at.clone(),
        verdict: AnchorVerdict::Moved,
        why: if to.at.path() == at.path() && matches!(at.part(), FilePart::Symbol(_)) {
            format!("renamed to {}", to.at)
        } else {
            format!("moved to {}", to.at)
        },
        now: Some(to),
        line: Some(first),
        last_line: Some(last),
        diff: None,
    }
}

fn gone_check(at: &CodeLocation, nearest: &[String]) -> AnchorCheck {
    let why = match nearest {
        [] => "gone".to_owned(),
        names => format!("gone; nearest: `{}`", names.join("`, `")),
    };
    AnchorCheck {
        at: at.clone(),
        verdict: AnchorVerdict::Gone,
        now: None,
        line: None,
        last_line: None,
        why,
        diff: None,
    }
}

fn unverifiable_check(at: &CodeLocation, why: String) -> AnchorCheck {
    AnchorCheck {
        verdict: AnchorVerdict::Unverifiable,
        why,
        ..gone_check(at, &[])
    }
}

/// Resolves symbols of conditions with the checker's reader, so that both share outlines.
struct SymbolLookup<'r, 'a>(RefCell<&'r mut VersionReader<'a>>);

impl SymbolLookup<'_, '_> {
    /// Returns the stored evaluation of a condition.
    fn stored_check(&self, text: &str) -> ConditionCheck {
        let truth = self.0.borrow().stored_truth(text);
        ConditionCheck {
            condition: text.to_owned(),
            truth: truth.unwrap_or(TruthValue::Unverifiable),
            why: match truth {
                Some(_) => "according to the last `ken verify`".to_owned(),
                None => "not checked by `ken verify` yet".to_owned(),
            },
            at: None,
        }
    }
}

impl SymbolResolver for SymbolLookup<'_, '_> {
    fn look_up(&self, path: &str, name: &str) -> Result<Option<SymbolState>, String> {
        let spot = FilePart::Symbol(name.to_owned());
        let looked = self.0.borrow_mut().resolve_spot(path, &spot);
        match looked {
            Ok(SpotLookup::Found(found)) => Ok(Some(SymbolState {
                fingerprint: found.fingerprint.to_string(),
                line: found.first_line,
            })),
            Ok(SpotLookup::NoFile) => Ok(None),
            Ok(SpotLookup::Missing(
                ResolveError::SymbolNotFound { .. } | ResolveError::LinesOutOfRange { .. },
            )) => Ok(None),
            Ok(SpotLookup::Missing(other)) => Err(other.to_string()),
            Ok(SpotLookup::Unreadable(why)) => Err(why),
            Err(error) => Err(error.to_string()),
        }
    }
}
