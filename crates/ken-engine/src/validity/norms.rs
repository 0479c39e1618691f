//! Whether a change keeps the norms that can be checked.
//!
//! Norms come from the version the change begins at: a pull request neither softens nor escapes a norm it
//! does not like, and one it brings binds the next. In force is what a person made or agreed with, or what is
//! active or verified; quarantined, archived, muted, stale and rejected norms bind nobody.

use std::collections::BTreeMap;

use ken_anchor::{TextPattern, Tree as _, code_lines};
use ken_core::check::{Check, Part, language_of};
use ken_core::condition::Glob;
use ken_core::content::Detail;
use ken_core::entry::Entry;
use ken_core::event::Overlay;
use ken_core::kind::Memory;
use ken_core::status::Status;
use ken_core::store::Store as _;
use ken_core::workspace::Workspace;
use ken_ledger::layout::KEN_DIR;

use super::bare::known_at;
use super::change::{Added, COMMITS_MAX, Change, FileChange, reviewers};
use super::range::Range;
use crate::config::FailOn;
use crate::contradictions::norms;
use crate::error::Error;
use crate::verify::{Finding, Level};

/// The gate for norms that a change does not keep.
const NORM_GATE: &str = "procedural.norm";

/// Findings of one norm that are told; the rest is counted.
const TOLD_MAX: usize = 20;

/// Where something goes against a norm, and what.
struct Violation {
    at: String,
    line: Option<u32>,
    what: String,
}

/// Returns where a change goes against norms in force at its base.
pub(crate) fn norm_findings(range: &Range, fail_on: FailOn) -> Result<Vec<Finding>, Error> {
    let folder = format!("{KEN_DIR}/{}", Memory::Procedural.name());
    let index = known_at(&range.base, &folder)?;
    let workspace = index.workspace()?;
    let mut binding = norms(&index)?;
    binding.retain(|norm| is_in_force(norm, &workspace));
    binding.sort_by_key(|norm| norm.id);
    let checked = binding
        .iter()
        .filter_map(|norm| Some((norm, check_of(norm)?)));
    let checked: Vec<(&Entry, &Check)> = checked.collect();
    if checked.is_empty() {
        return Ok(Vec::new());
    }
    let change = Change::of(range)?;
    let level = match fail_on {
        FailOn::Norms | FailOn::Any => Level::Error,
        FailOn::Nothing => Level::Warning,
    };
    let mut findings = Vec::new();
    for (norm, check) in checked {
        let violations = violations(check, range, &change)?;
        let all = violations.len();
        for it in violations.into_iter().take(TOLD_MAX) {
            findings.push(told(norm, it, level));
        }
        if TOLD_MAX < all {
            let what = format!("{} more places like this", all - TOLD_MAX);
            let at = norm.id.to_string();
            findings.push(told(
                norm,
                Violation {
                    at,
                    line: None,
                    what,
                },
                level,
            ));
        }
    }
    Ok(findings)
}

fn told(norm: &Entry, it: Violation, level: Level) -> Finding {
    Finding {
        gate: NORM_GATE,
        level,
        message: format!("{}, against {}: {}", it.what, norm.id, norm.title()),
        at: it.at,
        line: it.line.map(u64::from),
    }
}

fn check_of(norm: &Entry) -> Option<&Check> {
    match norm.content.as_ref()?.detail.as_ref()? {
        Detail::Norm(norm) => Some(&norm.check),
        Detail::Spike(_) | Detail::Entity(_) | Detail::Relationship(_) | Detail::Friction(_) => {
            None
        }
    }
}

/// Returns whether a norm binds.
fn is_in_force(norm: &Entry, workspace: &Workspace) -> bool {
    let hidden = norm.is_marked(Overlay::Mute) || norm.is_marked(Overlay::Invalidate);
    let standing = match norm.status.value {
        Status::Active | Status::Verified => true,
        Status::Candidate => !norm.is_agents_word(),
        Status::Stale | Status::Rejected => false,
    };
    norm.is_live() && standing && !hidden && !workspace.is_revoked(norm)
}

fn violations(check: &Check, range: &Range, change: &Change) -> Result<Vec<Violation>, Error> {
    match check {
        Check::CommitMessage { pattern, part } => Ok(messages(pattern, *part, change)),
        Check::ChangedTogether { when, then } => Ok(together(when, then, change)),
        Check::ForbiddenText {
            pattern,
            paths,
            except,
        } => forbidden_text(pattern, &Files::new(paths, except), range, change),
        Check::ForbiddenCode {
            language,
            pattern,
            paths,
            except,
        } => forbidden_code(
            (language, pattern),
            &Files::new(paths, except),
            range,
            change,
        ),
        Check::Reviewers { paths, count, from } => Ok(reviewed(
            &Files::new(paths, &[]),
            (*count, from),
            "",
            change,
        )),
        Check::DiffSize { lines, except } => Ok(size(*lines, except, change)),
        Check::RiskTier {
            tier,
            paths,
            reviewers,
        } => {
            let tier = format!(" of risk tier {tier}");
            Ok(reviewed(
                &Files::new(paths, &[]),
                (*reviewers, &[]),
                &tier,
                change,
            ))
        }
    }
}

/// Files that some globs mean; no glob means every file.
struct Files {
    paths: Vec<Glob>,
    except: Vec<Glob>,
}

impl Files {
    fn new(paths: &[String], except: &[String]) -> Self {
        let read = |texts: &[String]| texts.iter().filter_map(|it| it.parse().ok()).collect();
        Self {
            paths: read(paths),
            except: read(except),
        }
    }

    fn mean(&self, path: &str) -> bool {
        let any = |globs: &[Glob]| globs.iter().any(|it| it.matches(path));
        (self.paths.is_empty() || any(&self.paths)) && !any(&self.except)
    }

    fn of<'a>(&self, change: &'a Change) -> Vec<(&'a String, &'a FileChange)> {
        let files = change.files.iter();
        files.filter(|(path, _)| self.mean(path)).collect()
    }
}

fn unusable(why: &str) -> Vec<Violation> {
    let what = format!("this norm's check cannot be used ({why})");
    let at = format!("{KEN_DIR}/{}", Memory::Procedural.name());
    vec![Violation {
        at,
        line: None,
        what,
    }]
}

fn messages(pattern: &str, part: Part, change: &Change) -> Vec<Violation> {
    let pattern = match TextPattern::new(pattern) {
        Ok(pattern) => pattern,
        Err(why) => return unusable(&why),
    };
    let own = change.commits.iter().filter(|it| !it.is_merge);
    let wrong = own.filter(|it| {
        let text = match part {
            Part::Subject => it.subject(),
            Part::Message => &it.message,
        };
        !pattern.is_in(text)
    });
    let mut found: Vec<Violation> = wrong
        .map(|it| Violation {
            at: it.place(),
            line: None,
            what: format!(
                "the message \"{}\" does not have the form asked for",
                it.subject()
            ),
        })
        .collect();
    if change.too_many_commits {
        found.push(Violation {
            at: KEN_DIR.to_owned(),
            line: None,
            what: format!(
                "there are more than {COMMITS_MAX} commits; their messages were not all looked at"
            ),
        });
    }
    found
}

fn together(when: &[String], then: &[String], change: &Change) -> Vec<Violation> {
    let (asked, answered) = (Files::new(when, &[]), Files::new(then, &[]));
    // What answers does not ask: a change of both lists' files alone is fine.
    let first = asked
        .of(change)
        .into_iter()
        .find(|(path, _)| !answered.mean(path));
    let Some((path, _)) = first.filter(|_| answered.of(change).is_empty()) else {
        return Vec::new();
    };
    let what = format!("this changes, but nothing of {} does", then.join(", "));
    vec![Violation {
        at: path.clone(),
        line: None,
        what,
    }]
}

/// Returns the files to look into, and a violation for each that cannot be.
fn readable<'a>(files: &Files, change: &'a Change) -> (Vec<&'a str>, Vec<Violation>) {
    let (mut paths, mut unread) = (Vec::new(), Vec::new());
    for (path, file) in files.of(change) {
        match &file.unread {
            None if 0 < file.added => paths.push(path.as_str()),
            None => {}
            Some(why) => unread.push(Violation {
                at: path.clone(),
                line: None,
                what: format!("this cannot be checked: {why}"),
            }),
        }
    }
    (paths, unread)
}

fn forbidden_text(
    pattern: &str,
    files: &Files,
    range: &Range,
    change: &Change,
) -> Result<Vec<Violation>, Error> {
    let pattern = match TextPattern::new(pattern) {
        Ok(pattern) => pattern,
        Err(why) => return Ok(unusable(&why)),
    };
    let (paths, mut found) = readable(files, change);
    for (path, lines) in Change::added(range, &paths)? {
        for it in lines.iter().filter(|it| pattern.is_in(&it.text)) {
            found.push(Violation {
                at: path.clone(),
                line: Some(it.line),
                what: format!("`{}` is added", shortened(&it.text)),
            });
        }
    }
    Ok(found)
}

fn forbidden_code(
    (language, pattern): (&str, &str),
    files: &Files,
    range: &Range,
    change: &Change,
) -> Result<Vec<Violation>, Error> {
    let language = match language_of(language) {
        Ok(language) => language,
        Err(error) => return Ok(unusable(&error.to_string())),
    };
    let (mut paths, mut found) = readable(files, change);
    paths.retain(|path| language.claims(path));
    for (path, lines) in Change::added(range, &paths)? {
        let Some(bytes) = range.head.read(&path)? else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        let matches = match code_lines(language, pattern, &text) {
            Ok(matches) => matches,
            Err(why) => {
                let what = format!("this cannot be checked: {why}");
                found.push(Violation {
                    at: path,
                    line: None,
                    what,
                });
                continue;
            }
        };
        let lines: BTreeMap<u32, &Added> = lines.iter().map(|it| (it.line, it)).collect();
        for (first, last) in matches {
            if let Some((line, it)) = lines.range(first..=last).next() {
                found.push(Violation {
                    at: path.clone(),
                    line: Some(*line),
                    what: format!(
                        "`{}` is added, which `{pattern}` matches",
                        shortened(&it.text)
                    ),
                });
            }
        }
    }
    Ok(found)
}

fn reviewed(
    files: &Files,
    (count, from): (u32, &[String]),
    kind: &str,
    change: &Change,
) -> Vec<Violation> {
    let Some((path, _)) = files.of(change).into_iter().next() else {
        return Vec::new();
    };
    let counts = |(name, address): &(String, String)| {
        let listed = |it: &String| {
            let it = it.to_lowercase();
            it == *name || it == *address
        };
        from.is_empty() || from.iter().any(listed)
    };
    let found = reviewers(&change.commits)
        .into_iter()
        .filter(counts)
        .count();
    if count as usize <= found {
        return Vec::new();
    }
    let among = match from.is_empty() {
        true => String::new(),
        false => format!(" of {}", from.join(", ")),
    };
    let reviewers = if count == 1 { "reviewer" } else { "reviewers" };
    let what = format!(
        "a change{kind} needs {count} {reviewers}{among}; its commits name {found} (a line `Reviewed-by: NAME <ADDRESS>`, not by its author)"
    );
    vec![Violation {
        at: path.clone(),
        line: None,
        what,
    }]
}

fn size(most: u32, except: &[String], change: &Change) -> Vec<Violation> {
    let files = Files::new(&[], except);
    let mut counted = files.of(change);
    counted.retain(|(_, it)| !it.binary);
    let all: u64 = counted.iter().map(|(_, it)| it.added + it.removed).sum();
    if all <= u64::from(most) {
        return Vec::new();
    }
    let largest = counted.iter().max_by_key(|(_, it)| it.added + it.removed);
    let at = largest.map(|(path, _)| (*path).clone()).unwrap_or_default();
    let what = format!(
        "{all} lines are added or removed; at most {most} in one change, and this file has the most"
    );
    vec![Violation {
        at,
        line: None,
        what,
    }]
}

fn shortened(text: &str) -> String {
    const CHARS: usize = 80;
    ken_core::text::shortened(text.trim(), CHARS)
}
