//! Checks of a change against the norms that have a machine-readable check.
//!
//! Norms are read at the base of the change: a pull request cannot weaken a norm it violates, and a
//! norm it adds applies from the next change on. A norm is in force if it is active or verified, or
//! a candidate that a person created or confirmed. Quarantined, archived, muted, stale and rejected
//! norms are not enforced.

use std::collections::BTreeMap;

use ken_anchor::{FileTree as _, TextPattern, find_code_lines};
use ken_core::health::gates::NORM_GATE;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::Overlay;
use ken_core::ledger::store::DerivedStore as _;
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::values::check::{MessagePart, NormCheck, parse_language};
use ken_core::values::condition::Glob;
use ken_core::values::content::KindDetail;
use ken_core::values::kind::Memory;
use ken_core::values::status::EntryStatus;
use ken_ledger::layout::KEN_DIR;

use super::bare_repository::index_at_commit;
use super::change::{AddedLine, COMMITS_MAX, CodeChange, FileChange, reviewers};
use super::range::ChangeRange;
use crate::config::FailOn;
use crate::contradictions::load_norms;
use crate::error::EngineError;
use crate::verify::{GateFinding, GateLevel};

/// Maximum number of findings reported per norm; the rest is counted.
const FINDINGS_PER_NORM_MAX: usize = 20;

/// One violation of a norm, with its location.
struct NormViolation {
    at: String,
    line: Option<u32>,
    problem: String,
}

/// Returns a finding for each violation of a norm in force at the base of the change.
pub(crate) fn norm_findings(
    range: &ChangeRange,
    fail_on: FailOn,
) -> Result<Vec<GateFinding>, EngineError> {
    // Norms are in the procedural memory, so the segments of the other memories are not read.
    let folder = format!("{KEN_DIR}/{}", Memory::Procedural.name());
    let index = index_at_commit(&range.base, &folder)?;
    let workspace = index.workspace()?;
    let mut binding = load_norms(&index)?;
    binding.retain(|norm| is_in_force(norm, &workspace));
    binding.sort_by_key(|norm| norm.id);
    let with_check = binding
        .iter()
        .filter_map(|norm| Some((norm, norm_check(norm)?)));
    let checked: Vec<(&Entry, &NormCheck)> = with_check.collect();
    // Without norms to check, reading the change with git would be wasted.
    if checked.is_empty() {
        return Ok(Vec::new());
    }
    let change = CodeChange::read(range)?;
    let level = match fail_on {
        FailOn::Norms | FailOn::Decisions | FailOn::Any => GateLevel::Error,
        FailOn::Nothing => GateLevel::Warning,
    };
    let mut findings = Vec::new();
    for (norm, check) in checked {
        let violations = find_violations(check, range, &change)?;
        let all = violations.len();
        for violation in violations.into_iter().take(FINDINGS_PER_NORM_MAX) {
            findings.push(to_finding(norm, violation, level));
        }
        if all > FINDINGS_PER_NORM_MAX {
            let what = format!("{} more violations", all - FINDINGS_PER_NORM_MAX);
            let at = norm.id.to_string();
            findings.push(to_finding(
                norm,
                NormViolation {
                    at,
                    line: None,
                    problem: what,
                },
                level,
            ));
        }
    }
    Ok(findings)
}

fn to_finding(norm: &Entry, violation: NormViolation, level: GateLevel) -> GateFinding {
    GateFinding {
        gate: NORM_GATE,
        level,
        message: format!(
            "{}; violates {}: {} (see `ken show {}`)",
            violation.problem,
            norm.id,
            norm.claim(),
            norm.id
        ),
        at: violation.at,
        line: violation.line.map(u64::from),
    }
}

fn norm_check(norm: &Entry) -> Option<&NormCheck> {
    match norm.content.as_ref()?.detail.as_ref()? {
        KindDetail::Norm(norm) => Some(&norm.check),
        KindDetail::Spike(_)
        | KindDetail::Entity(_)
        | KindDetail::Relationship(_)
        | KindDetail::Friction(_) => None,
    }
}

/// Returns true if a norm is enforced.
fn is_in_force(norm: &Entry, workspace: &WorkspaceState) -> bool {
    let hidden = norm.has_annotation(Overlay::Mute) || norm.has_annotation(Overlay::Invalidate);
    let is_enforced = match norm.status.value {
        EntryStatus::Active | EntryStatus::Verified => true,
        // An agent must not be able to fail a build with a norm that no person has seen.
        EntryStatus::Candidate => !norm.is_agent_only(),
        EntryStatus::Stale | EntryStatus::Rejected => false,
    };
    norm.is_live() && is_enforced && !hidden && !workspace.is_revoked(norm)
}

fn find_violations(
    check: &NormCheck,
    range: &ChangeRange,
    change: &CodeChange,
) -> Result<Vec<NormViolation>, EngineError> {
    match check {
        NormCheck::CommitMessage { pattern, part } => {
            Ok(check_commit_messages(pattern, *part, change))
        }
        NormCheck::ChangedTogether { when, then } => Ok(check_changed_together(when, then, change)),
        NormCheck::ForbiddenText {
            pattern,
            paths,
            except,
        } => check_forbidden_text(
            pattern,
            &ChangedFileFilter::new(paths, except),
            range,
            change,
        ),
        NormCheck::ForbiddenCode {
            language,
            pattern,
            paths,
            except,
        } => check_forbidden_code(
            (language, pattern),
            &ChangedFileFilter::new(paths, except),
            range,
            change,
        ),
        NormCheck::Reviewers { paths, count, from } => Ok(check_reviewers(
            &ChangedFileFilter::new(paths, &[]),
            (*count, from),
            "",
            change,
        )),
        NormCheck::DiffSize { lines, except } => Ok(check_diff_size(*lines, except, change)),
        NormCheck::RiskTier {
            tier,
            paths,
            reviewers,
        } => {
            let tier = format!(" of risk tier {tier}");
            Ok(check_reviewers(
                &ChangedFileFilter::new(paths, &[]),
                (*reviewers, &[]),
                &tier,
                change,
            ))
        }
    }
}

/// Glob filter over the changed files; without `paths`, every file matches.
struct ChangedFileFilter {
    paths: Vec<Glob>,
    except: Vec<Glob>,
}

impl ChangedFileFilter {
    fn new(paths: &[String], except: &[String]) -> Self {
        // Globs were validated when the norm was added; one of a newer version is ignored.
        let read = |texts: &[String]| texts.iter().filter_map(|it| it.parse().ok()).collect();
        Self {
            paths: read(paths),
            except: read(except),
        }
    }

    fn matches(&self, path: &str) -> bool {
        let any = |globs: &[Glob]| globs.iter().any(|it| it.matches(path));
        (self.paths.is_empty() || any(&self.paths)) && !any(&self.except)
    }

    fn select<'a>(&self, change: &'a CodeChange) -> Vec<(&'a String, &'a FileChange)> {
        let files = change.files.iter();
        files.filter(|(path, _)| self.matches(path)).collect()
    }
}

/// Returns a violation for a check that this version cannot run: it fails instead of passing.
fn unusable_check(why: &str) -> Vec<NormViolation> {
    let what = format!("the check of this norm is invalid ({why})");
    let at = format!("{KEN_DIR}/{}", Memory::Procedural.name());
    vec![NormViolation {
        at,
        line: None,
        problem: what,
    }]
}

fn check_commit_messages(
    pattern: &str,
    part: MessagePart,
    change: &CodeChange,
) -> Vec<NormViolation> {
    let pattern = match TextPattern::new(pattern) {
        Ok(pattern) => pattern,
        Err(why) => return unusable_check(&why),
    };
    // Git and forges write the messages of merge commits, so they are exempt.
    let authored = change.commits.iter().filter(|commit| !commit.is_merge);
    let wrong = authored.filter(|commit| {
        let text = match part {
            MessagePart::Subject => commit.subject(),
            MessagePart::Message => &commit.message,
        };
        !pattern.is_in(text)
    });
    let mut found: Vec<NormViolation> = wrong
        .map(|commit| NormViolation {
            at: commit.location(),
            line: None,
            problem: format!(
                "the message \"{}\" does not match the required pattern",
                commit.subject()
            ),
        })
        .collect();
    if change.too_many_commits {
        found.push(NormViolation {
            at: KEN_DIR.to_owned(),
            line: None,
            problem: format!(
                "the change has more than {COMMITS_MAX} commits; not all messages were checked"
            ),
        });
    }
    found
}

fn check_changed_together(
    when: &[String],
    then: &[String],
    change: &CodeChange,
) -> Vec<NormViolation> {
    let (triggers, required) = (
        ChangedFileFilter::new(when, &[]),
        ChangedFileFilter::new(then, &[]),
    );
    // A file that both lists match satisfies the norm, so it does not trigger it.
    let first = triggers
        .select(change)
        .into_iter()
        .find(|(path, _)| !required.matches(path));
    let Some((path, _)) = first.filter(|_| required.select(change).is_empty()) else {
        return Vec::new();
    };
    let what = format!("this file changes, but no file of {} does", then.join(", "));
    vec![NormViolation {
        at: path.clone(),
        line: None,
        problem: what,
    }]
}

/// Returns the files whose added lines can be checked, and a violation for each that is too large.
fn checkable_files<'a>(
    files: &ChangedFileFilter,
    change: &'a CodeChange,
) -> (Vec<&'a str>, Vec<NormViolation>) {
    let (mut paths, mut unread) = (Vec::new(), Vec::new());
    for (path, file) in files.select(change) {
        match &file.skip_reason {
            None if file.added > 0 => paths.push(path.as_str()),
            None => {}
            Some(why) => unread.push(NormViolation {
                at: path.clone(),
                line: None,
                problem: format!("this file cannot be checked: {why}"),
            }),
        }
    }
    (paths, unread)
}

fn check_forbidden_text(
    pattern: &str,
    files: &ChangedFileFilter,
    range: &ChangeRange,
    change: &CodeChange,
) -> Result<Vec<NormViolation>, EngineError> {
    let pattern = match TextPattern::new(pattern) {
        Ok(pattern) => pattern,
        Err(why) => return Ok(unusable_check(&why)),
    };
    let (paths, mut found) = checkable_files(files, change);
    for (path, lines) in CodeChange::added_lines(range, &paths)? {
        for added in lines.iter().filter(|added| pattern.is_in(&added.text)) {
            found.push(NormViolation {
                at: path.clone(),
                line: Some(added.line),
                problem: format!("added: `{}`", shorten_line(&added.text)),
            });
        }
    }
    Ok(found)
}

fn check_forbidden_code(
    (language, pattern): (&str, &str),
    files: &ChangedFileFilter,
    range: &ChangeRange,
    change: &CodeChange,
) -> Result<Vec<NormViolation>, EngineError> {
    let language = match parse_language(language) {
        Ok(language) => language,
        Err(error) => return Ok(unusable_check(&error.to_string())),
    };
    let (mut paths, mut found) = checkable_files(files, change);
    paths.retain(|path| language.matches_path(path));
    for (path, lines) in CodeChange::added_lines(range, &paths)? {
        let Some(bytes) = range.head.read(&path)? else {
            continue;
        };
        // The whole file is parsed, because added lines alone are not syntactically complete.
        let text = String::from_utf8_lossy(&bytes);
        let matches = match find_code_lines(language, pattern, &text) {
            Ok(matches) => matches,
            Err(why) => {
                let what = format!("this file cannot be checked: {why}");
                found.push(NormViolation {
                    at: path,
                    line: None,
                    problem: what,
                });
                continue;
            }
        };
        let lines: BTreeMap<u32, &AddedLine> = lines.iter().map(|it| (it.line, it)).collect();
        for (first, last) in matches {
            // A match counts only if the change added one of its lines: existing code is exempt.
            if let Some((line, added)) = lines.range(first..=last).next() {
                found.push(NormViolation {
                    at: path.clone(),
                    line: Some(*line),
                    problem: format!(
                        "added: `{}`, which matches `{pattern}`",
                        shorten_line(&added.text)
                    ),
                });
            }
        }
    }
    Ok(found)
}

fn check_reviewers(
    files: &ChangedFileFilter,
    (count, from): (u32, &[String]),
    kind: &str,
    change: &CodeChange,
) -> Vec<NormViolation> {
    let Some((path, _)) = files.select(change).into_iter().next() else {
        return Vec::new();
    };
    let counts = |(name, address): &(String, String)| {
        let listed = |allowed: &String| {
            let allowed = allowed.to_lowercase();
            allowed == *name || allowed == *address
        };
        from.is_empty() || from.iter().any(listed)
    };
    let found = reviewers(&change.commits)
        .into_iter()
        .filter(counts)
        .count();
    if found >= count as usize {
        return Vec::new();
    }
    let among = if from.is_empty() {
        String::new()
    } else {
        format!(" of {}", from.join(", "))
    };
    let reviewers = if count == 1 { "reviewer" } else { "reviewers" };
    let what = format!(
        "a change{kind} needs {count} {reviewers}{among}; its commits name {found} (add `Reviewed-by: NAME <ADDRESS>`; the author does not count)"
    );
    vec![NormViolation {
        at: path.clone(),
        line: None,
        problem: what,
    }]
}

fn check_diff_size(most: u32, except: &[String], change: &CodeChange) -> Vec<NormViolation> {
    let files = ChangedFileFilter::new(&[], except);
    let mut counted = files.select(change);
    // Binary files have no lines to review.
    counted.retain(|(_, file)| !file.binary);
    let all: u64 = counted
        .iter()
        .map(|(_, file)| file.added + file.removed)
        .sum();
    if all <= u64::from(most) {
        return Vec::new();
    }
    let largest = counted
        .iter()
        .max_by_key(|(_, file)| file.added + file.removed);
    let at = largest.map(|(path, _)| (*path).clone()).unwrap_or_default();
    let what = format!(
        "the change adds or removes {all} lines; at most {most} are allowed, and this file has the most"
    );
    vec![NormViolation {
        at,
        line: None,
        problem: what,
    }]
}

fn shorten_line(text: &str) -> String {
    const CHARS: usize = 80;
    ken_core::values::text::truncate(text.trim(), CHARS)
}
