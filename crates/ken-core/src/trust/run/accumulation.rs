//! Turns new findings of a run into entries.
//!
//! A finding is accepted if two agents made it independently of each other. The finding of a single
//! agent is accepted only if missing it costs more than reading it: if it is severe, or if a review
//! dismissed it.

use std::collections::BTreeSet;

use super::{MatchedFinding, Run, RunFinding};
use crate::ledger::event::Outcome;
use crate::trust::similarity::TokenizedStatement;
use crate::values::actor::Actor;
use crate::values::kind::EntryKind;

/// Agents that must make the same finding independently.
pub const CONVERGENCE_MIN: usize = 2;

/// Severity from which a single finding is an incident.
pub const INCIDENT_SEVERITY_MILLI: u16 = 9_000;

/// Severity from which a single finding can be a pattern.
pub const PATTERN_SEVERITY_MILLI: u16 = 7_000;
/// Confidence from which a single finding can be a pattern.
pub const PATTERN_CONFIDENCE_MILLI: u16 = 8_000;

/// Maximum of severity and confidence.
pub const SCALE_MILLI: u16 = 10_000;

/// Words for the current change, if "this" or "current" stands before them.
const CHANGE_NOUNS: [&str; 13] = [
    "pr", "pull", "mr", "merge", "commit", "diff", "change", "patch", "branch", "review", "run",
    "session", "task",
];

/// Pairs of words that limit a finding to the current change.
const CHANGE_PAIRS: [(&str, &str); 8] = [
    ("right", "now"),
    ("for", "now"),
    ("added", "here"),
    ("changed", "here"),
    ("just", "added"),
    ("just", "changed"),
    ("newly", "added"),
    ("newly", "introduced"),
];

/// Words after "the PR" with which it is a rule about all of them.
const REQUEST_PARTS: [&str; 8] = [
    "template",
    "title",
    "titles",
    "description",
    "checks",
    "gate",
    "author",
    "number",
];

/// A finding that is accepted as a new entry.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceptedFinding {
    pub kind: EntryKind,
    pub finding: RunFinding,
    pub found_by: BTreeSet<Actor>,
    /// Set if several agents made the finding independently.
    pub is_convergent: bool,
}

/// Returns the accepted findings of a run, one per group of findings with the same claim.
pub fn accept_findings(run: &Run, outcome: Outcome) -> Vec<AcceptedFinding> {
    let groups = run.grouped_new_findings().into_iter();
    let gains = groups.filter_map(|group| accept_finding(run, outcome, &group));
    gains.collect()
}

/// Decides about a group of findings that make the same claim, for which no entry exists.
pub fn accept_finding(
    run: &Run,
    outcome: Outcome,
    findings: &[(&Actor, &RunFinding)],
) -> Option<AcceptedFinding> {
    // The finding with the most anchors and steps can be verified best, so it becomes the entry.
    let all = findings.iter().map(|(_, finding)| *finding);
    let best = all.max_by_key(|it| (it.anchors.len() + it.verify.len(), it.severity_milli));
    let finding = best.filter(|it| is_durable(it.statement.as_str()))?;
    let found_by: BTreeSet<Actor> = findings.iter().map(|(agent, _)| (*agent).clone()).collect();
    let is_convergent = run.is_end_observed(outcome) && run.is_convergent(&found_by);
    let kinds = findings
        .iter()
        .filter_map(|(_, finding)| kind_by_severity(finding));
    // A dismissal outranks severity: a review of the finding knows more than the finding itself.
    let single = kinds.max_by_key(|kind| {
        (
            *kind == EntryKind::FalsePositive,
            *kind == EntryKind::Incident,
        )
    });
    let kind = single.or(is_convergent.then_some(EntryKind::Pattern))?;
    Some(AcceptedFinding {
        kind,
        finding: finding.clone(),
        found_by,
        // The agents agreed on the problem, not on its dismissal.
        is_convergent: is_convergent && kind != EntryKind::FalsePositive,
    })
}

/// Returns the kind of a finding that is accepted by itself.
fn kind_by_severity(finding: &RunFinding) -> Option<EntryKind> {
    if finding.dismissed {
        return Some(EntryKind::FalsePositive);
    }
    let (severity, confidence) = (finding.severity_milli, finding.confidence_milli);
    if severity >= INCIDENT_SEVERITY_MILLI {
        return Some(EntryKind::Incident);
    }
    let is_pattern = severity >= PATTERN_SEVERITY_MILLI && confidence >= PATTERN_CONFIDENCE_MILLI;
    is_pattern.then_some(EntryKind::Pattern)
}

/// Returns whether a finding outlives the change in which it was made.
fn is_durable(statement: &str) -> bool {
    let lower = statement.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let is_of_change = |(at, pair): (usize, &[&str])| {
        let [first, second] = pair else { return false };
        match *first {
            "this" | "current" => CHANGE_NOUNS.contains(second),
            "the" if matches!(*second, "pr" | "mr") => !words
                .get(at + 2)
                .is_some_and(|it| REQUEST_PARTS.contains(it)),
            "line" | "lines" => is_number(second),
            _ => CHANGE_PAIRS.contains(&(*first, *second)),
        }
    };
    let names_line = lower.split_whitespace().any(|word| {
        let word = word.trim_end_matches(|c: char| !c.is_ascii_digit());
        let place = word.rsplit_once(':');
        place.is_some_and(|(path, line)| path.contains('.') && !line.is_empty() && is_number(line))
    });
    !names_line && !words.windows(2).enumerate().any(is_of_change)
}

impl Run {
    /// Returns the findings that matched no entry when they were reported.
    ///
    /// A matching entry may have been added since; the caller looks again.
    pub fn unmatched_findings(&mut self) -> impl Iterator<Item = &mut MatchedFinding> {
        let findings = self.agents.values_mut().flat_map(|it| &mut it.findings);
        findings.filter(|it| it.says.is_empty())
    }

    /// Returns the unmatched findings with their agents, grouped by claim.
    fn grouped_new_findings(&self) -> Vec<Vec<(&Actor, &RunFinding)>> {
        let mut groups: Vec<(TokenizedStatement, Vec<(&Actor, &RunFinding)>)> = Vec::new();
        for (name, agent) in &self.agents {
            for found in agent.findings.iter().filter(|it| it.says.is_empty()) {
                let statement = found.finding.statement.as_str();
                // The first finding represents its group. Similarity is not transitive, so
                // comparing with every member could chain unrelated claims.
                let same = groups
                    .iter_mut()
                    .find(|(claim, _)| claim.matches_text(statement, None));
                match same {
                    Some((_, group)) => group.push((name, &found.finding)),
                    None => groups.push((
                        TokenizedStatement::parse(statement),
                        vec![(name, &found.finding)],
                    )),
                }
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }

    /// Returns whether enough of `agents` made the finding independently.
    ///
    /// Each must be witnessed, must not have received words of another one, and must not share a
    /// reporter with another one.
    fn is_convergent(&self, agents: &BTreeSet<Actor>) -> bool {
        let witnessed: Vec<&Actor> = agents.iter().filter(|it| self.is_witnessed(it)).collect();
        let is_independent = |one: &&&Actor| {
            let sources = self.message_sources(one);
            witnessed.iter().all(|it| !sources.contains(*it))
        };
        let (mut reporters, mut count) = (BTreeSet::new(), 0);
        for agent in witnessed.iter().filter(is_independent) {
            let own = self.reporters_for(agent);
            // One actor that reports in the name of two agents is one source.
            count += usize::from(reporters.is_disjoint(&own));
            reporters.extend(own);
        }
        count >= CONVERGENCE_MIN
    }

    /// Returns the agent itself and the actors that reported findings in its name.
    pub(super) fn reporters_for<'a>(&'a self, agent: &'a Actor) -> BTreeSet<&'a Actor> {
        let activity = self.agents.get(agent).into_iter();
        let reporters = activity.flat_map(|it| &it.voices);
        reporters.chain([agent]).collect()
    }

    /// Returns all agents whose words reached an agent, directly or through others.
    fn message_sources<'a>(&'a self, agent: &'a Actor) -> BTreeSet<&'a Actor> {
        let (mut open, mut sources) = (vec![agent], BTreeSet::new());
        while let Some(name) = open.pop() {
            let Some(activity) = self.agents.get(name) else {
                continue;
            };
            let senders = activity.member.told_by.iter().chain(&activity.heard);
            // `insert` returns false for known agents, which ends cycles.
            open.extend(senders.filter(|name| sources.insert(*name)));
        }
        sources
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RunMember, RunMode, RunNote, RunRecord, RunWitness};
    use super::*;

    fn actor(name: &str) -> Actor {
        format!("agent:{name}").parse().unwrap()
    }

    fn run(more: Vec<RunNote>) -> Run {
        let opened = RunNote::Opened {
            run: "run-1".to_owned(),
            manner: RunMode::Explicit,
            witness: RunWitness::Orchestrator,
            thread: None,
            task: None,
        };
        let joined = ["a", "b", "c"].map(|name| RunNote::Joined {
            agent: actor(name),
            member: RunMember {
                declared: true,
                ..RunMember::default()
            },
        });
        let notes = [opened].into_iter().chain(joined).chain(more);
        let noted = notes.map(|note| RunRecord {
            at: "2026-11-15T00:00:00Z".parse().unwrap(),
            by: "human:lead".parse().unwrap(),
            note,
        });
        Run::from_records(noted).unwrap()
    }

    fn finding(severity_milli: u16, confidence_milli: u16, dismissed: bool) -> RunFinding {
        RunFinding {
            statement: "Retries of the payment call must carry the same key."
                .parse()
                .unwrap(),
            anchors: Vec::new(),
            verify: Vec::new(),
            severity_milli,
            confidence_milli,
            dismissed,
        }
    }

    fn kind(findings: &[RunFinding]) -> Option<EntryKind> {
        let a = actor("a");
        let findings: Vec<_> = findings.iter().map(|it| (&a, it)).collect();
        accept_finding(&run(Vec::new()), Outcome::Succeeded, &findings).map(|it| it.kind)
    }

    /// Decides about a finding that two agents made.
    fn together(run: &Run, outcome: Outcome, agents: [&str; 2]) -> Option<AcceptedFinding> {
        let agents = agents.map(actor);
        let slight = finding(0, 0, false);
        let findings: Vec<_> = agents.iter().map(|agent| (agent, &slight)).collect();
        accept_finding(run, outcome, &findings)
    }

    #[test]
    fn two_agents_apart_are_enough_and_one_is_not() {
        let gained = together(&run(Vec::new()), Outcome::Succeeded, ["a", "b"]).unwrap();
        assert_eq!(
            (gained.kind, gained.is_convergent),
            (EntryKind::Pattern, true)
        );
        assert_eq!(gained.found_by.len(), 2);
        assert_eq!(
            together(&run(Vec::new()), Outcome::Succeeded, ["a", "a"]),
            None
        );
    }

    #[test]
    fn an_agent_that_heard_of_it_from_the_other_does_not_count() {
        let said = |to: Vec<Actor>| RunNote::Said {
            agent: actor("a"),
            words: None,
            cites: Vec::new(),
            to,
        };
        let told = RunNote::Joined {
            agent: actor("child"),
            member: RunMember {
                told_by: BTreeSet::from([actor("a")]),
                declared: true,
                ..RunMember::default()
            },
        };
        for (notes, pair) in [
            (vec![said(Vec::new())], ["a", "b"]),
            (vec![said(vec![actor("b")])], ["a", "b"]),
            (vec![told], ["a", "child"]),
        ] {
            let run = run(notes);
            assert_eq!(together(&run, Outcome::Succeeded, pair), None, "{pair:?}");
        }
        let elsewhere = run(vec![said(vec![actor("c")])]);
        assert!(together(&elsewhere, Outcome::Succeeded, ["a", "b"]).is_some());
    }

    #[test]
    fn nobody_converges_where_nobody_watched_or_the_run_was_given_up() {
        let gap = run(vec![RunNote::Gap]);
        assert_eq!(together(&gap, Outcome::Succeeded, ["a", "b"]), None);
        let whole = run(Vec::new());
        assert_eq!(together(&whole, Outcome::Abandoned, ["a", "b"]), None);
        assert_eq!(
            together(&whole, Outcome::Succeeded, ["a", "stranger"]),
            None
        );
    }

    #[test]
    fn what_speaks_of_the_change_at_hand_is_no_lasting_knowledge() {
        for (statement, durable) in [
            ("This PR forgets the key", false),
            ("The PR forgets to bump the version number", false),
            ("The retry in the current change forgets its key", false),
            ("The new test added here is flaky right now", false),
            ("The key is missing on line 42", false),
            ("src/pay.rs:47 has a bug", false),
            ("Retries must carry the same key", true),
            ("The PR template asks for a changelog line", true),
            ("This process and this property have this problem", true),
            ("Editors disagree on line endings", true),
            ("This runtime supports at most 8 workers: more wait", true),
        ] {
            assert_eq!(is_durable(statement), durable, "{statement}");
        }
    }

    #[test]
    fn from_nine_on_one_finding_is_an_incident() {
        assert_eq!(kind(&[finding(9_000, 0, false)]), Some(EntryKind::Incident));
        assert_eq!(kind(&[finding(8_999, 0, false)]), None);
    }

    #[test]
    fn from_seven_and_eight_on_one_finding_is_a_pattern() {
        assert_eq!(
            kind(&[finding(7_000, 8_000, false)]),
            Some(EntryKind::Pattern)
        );
        assert_eq!(kind(&[finding(6_999, 8_000, false)]), None);
        assert_eq!(kind(&[finding(7_000, 7_999, false)]), None);
    }

    #[test]
    fn dismissal_beats_severity() {
        let dismissed = [finding(9_500, 9_000, true)];
        assert_eq!(kind(&dismissed), Some(EntryKind::FalsePositive));
        let both = [finding(9_500, 0, false), finding(0, 0, true)];
        assert_eq!(kind(&both), Some(EntryKind::FalsePositive));
    }

    #[test]
    fn the_wording_with_the_most_grounds_is_taken() {
        let plain = finding(9_000, 0, false);
        let grounded = RunFinding {
            verify: vec!["cargo test pay".parse().unwrap()],
            ..plain.clone()
        };
        let (a, b) = (actor("a"), actor("b"));
        let found = [(&a, &plain), (&b, &grounded)];
        let gained = accept_finding(&run(Vec::new()), Outcome::Succeeded, &found).unwrap();
        assert_eq!(gained.finding, grounded);
    }
}
