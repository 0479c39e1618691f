//! What a run's findings become: entries, where no entry says it yet.
//!
//! Two agents that could not have heard it from each other are believed together. One alone is taken at its
//! word only where missing it would cost more than reading it: when it is severe, or somebody looked into it.

use std::collections::BTreeSet;

use super::{Finding, Found, Run};
use crate::actor::Actor;
use crate::event::Outcome;
use crate::kind::Kind;
use crate::likeness::Claim;

/// Agents that must find the same, none having heard of it from another.
pub const CONVERGENCE_MIN: usize = 2;

/// The severity from which one finding is an incident.
pub const INCIDENT_SEVERITY_MILLI: u16 = 9_000;

/// The severity and confidence from which one finding is a pattern.
pub const PATTERN_SEVERITY_MILLI: u16 = 7_000;
pub const PATTERN_CONFIDENCE_MILLI: u16 = 8_000;

/// The most that severity and confidence can be.
pub const SCALE_MILLI: u16 = 10_000;

/// Words by which a finding speaks of the change at hand; what it says is over with it.
const PASSING: [&str; 10] = [
    "this pr",
    "this pull request",
    "this commit",
    "this diff",
    "this change",
    "this patch",
    "this branch",
    "this review",
    "this run",
    "on line ",
];

/// A finding that becomes an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    pub kind: Kind,
    pub finding: Finding,
    pub found_by: BTreeSet<Actor>,
    /// Whether agents found it who could not have heard of it from each other.
    pub is_convergent: bool,
}

/// Returns what becomes of the findings of a run that no entry says, those together that say the same.
pub fn gains(run: &Run, outcome: Outcome) -> Vec<Gain> {
    let groups = run.new_findings().into_iter();
    let gains = groups.filter_map(|group| gain(run, outcome, &group));
    gains.collect()
}

/// Returns what becomes of findings that all say the same and that no entry says.
pub fn gain(run: &Run, outcome: Outcome, findings: &[(&Actor, &Finding)]) -> Option<Gain> {
    let wording = findings.iter().map(|(_, finding)| *finding);
    let wording = wording.max_by_key(|it| (it.evidence.len() + it.verify.len(), it.severity_milli));
    let wording = wording.filter(|it| is_durable(it.statement.as_str()))?;
    let found_by: BTreeSet<Actor> = findings.iter().map(|(agent, _)| (*agent).clone()).collect();
    let is_convergent = run.is_seen_out(outcome) && run.converges(&found_by);
    let alone = findings.iter().filter_map(|(_, finding)| weighty(finding));
    // Somebody looked and found that it is nothing: then it is nothing, however severe it seemed.
    let alone = alone.max_by_key(|kind| (*kind == Kind::FalsePositive, *kind == Kind::Incident));
    let kind = alone.or(is_convergent.then_some(Kind::Pattern))?;
    Some(Gain {
        kind,
        finding: wording.clone(),
        found_by,
        is_convergent: is_convergent && kind != Kind::FalsePositive,
    })
}

/// Returns what one finding is by itself.
fn weighty(finding: &Finding) -> Option<Kind> {
    if finding.dismissed {
        return Some(Kind::FalsePositive);
    }
    let (severity, confidence) = (finding.severity_milli, finding.confidence_milli);
    if INCIDENT_SEVERITY_MILLI <= severity {
        return Some(Kind::Incident);
    }
    let is_pattern = PATTERN_SEVERITY_MILLI <= severity && PATTERN_CONFIDENCE_MILLI <= confidence;
    is_pattern.then_some(Kind::Pattern)
}

/// Whether a finding says something that outlives the change it was made in.
fn is_durable(statement: &str) -> bool {
    let lower = statement.to_lowercase();
    !PASSING.iter().any(|words| lower.contains(words))
}

impl Run {
    /// Returns the findings of which nobody knows an entry that says so; one may have been written since.
    pub fn unsaid(&mut self) -> impl Iterator<Item = &mut Found> {
        let findings = self.agents.values_mut().flat_map(|it| &mut it.findings);
        findings.filter(|it| it.says.is_empty())
    }

    /// Returns the findings that no entry says, with who made them; those together that say the same.
    fn new_findings(&self) -> Vec<Vec<(&Actor, &Finding)>> {
        let mut groups: Vec<(Claim, Vec<(&Actor, &Finding)>)> = Vec::new();
        for (name, agent) in &self.agents {
            for it in agent.findings.iter().filter(|it| it.says.is_empty()) {
                let statement = it.finding.statement.as_str();
                let same = groups
                    .iter_mut()
                    .find(|(claim, _)| claim.is_said_by(statement, None));
                match same {
                    Some((_, group)) => group.push((name, &it.finding)),
                    None => groups.push((Claim::of(statement), vec![(name, &it.finding)])),
                }
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }

    /// Returns whether enough of `agents` found the same by themselves: each watched, none below another, and no two told
    /// by one voice.
    fn converges(&self, agents: &BTreeSet<Actor>) -> bool {
        let watched: Vec<&Actor> = agents.iter().filter(|it| self.is_witnessed(it)).collect();
        let apart = |one: &&&Actor| {
            let above = self.heard_from(one);
            watched.iter().all(|it| !above.contains(*it))
        };
        let (mut voices, mut count) = (BTreeSet::new(), 0);
        for agent in watched.iter().filter(apart) {
            let own = self.speakers(agent);
            count += usize::from(voices.is_disjoint(&own));
            voices.extend(own);
        }
        CONVERGENCE_MIN <= count
    }

    /// Returns whose word it is what an agent found: its own, and of those who told it in its name.
    pub(super) fn speakers<'a>(&'a self, agent: &'a Actor) -> BTreeSet<&'a Actor> {
        let told = self.agents.get(agent).into_iter();
        let told = told.flat_map(|it| &it.voices);
        told.chain([agent]).collect()
    }

    /// Returns everybody whose words an agent has, directly or through others.
    fn heard_from<'a>(&'a self, agent: &'a Actor) -> BTreeSet<&'a Actor> {
        let (mut open, mut heard) = (vec![agent], BTreeSet::new());
        while let Some(name) = open.pop() {
            let Some(it) = self.agents.get(name) else {
                continue;
            };
            let above = it.member.told_by.iter().chain(&it.heard);
            open.extend(above.filter(|name| heard.insert(*name)));
        }
        heard
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Manner, Member, Note, Noted, Witness};
    use super::*;

    fn actor(name: &str) -> Actor {
        format!("agent:{name}").parse().unwrap()
    }

    fn run(more: Vec<Note>) -> Run {
        let opened = Note::Opened {
            run: "run-1".to_owned(),
            manner: Manner::Explicit,
            witness: Witness::Orchestrator,
            thread: None,
            task: None,
        };
        let joined = ["a", "b", "c"].map(|name| Note::Joined {
            agent: actor(name),
            member: Member {
                declared: true,
                ..Member::default()
            },
        });
        let notes = [opened].into_iter().chain(joined).chain(more);
        let noted = notes.map(|note| Noted {
            at: "2026-11-15T00:00:00Z".parse().unwrap(),
            by: "human:lead".parse().unwrap(),
            note,
        });
        Run::of(noted).unwrap()
    }

    fn finding(severity_milli: u16, confidence_milli: u16, dismissed: bool) -> Finding {
        Finding {
            statement: "Retries of the payment call must carry the same key."
                .parse()
                .unwrap(),
            evidence: Vec::new(),
            verify: Vec::new(),
            severity_milli,
            confidence_milli,
            dismissed,
        }
    }

    fn kind(findings: &[Finding]) -> Option<Kind> {
        let a = actor("a");
        let findings: Vec<_> = findings.iter().map(|it| (&a, it)).collect();
        gain(&run(Vec::new()), Outcome::Succeeded, &findings).map(|it| it.kind)
    }

    /// What two agents that found the same make of it.
    fn together(run: &Run, outcome: Outcome, agents: [&str; 2]) -> Option<Gain> {
        let agents = agents.map(actor);
        let slight = finding(0, 0, false);
        let findings: Vec<_> = agents.iter().map(|agent| (agent, &slight)).collect();
        gain(run, outcome, &findings)
    }

    #[test]
    fn acc_02_two_agents_apart_are_enough_and_one_is_not() {
        let gained = together(&run(Vec::new()), Outcome::Succeeded, ["a", "b"]).unwrap();
        assert_eq!((gained.kind, gained.is_convergent), (Kind::Pattern, true));
        assert_eq!(gained.found_by.len(), 2);
        assert_eq!(
            together(&run(Vec::new()), Outcome::Succeeded, ["a", "a"]),
            None
        );
    }

    #[test]
    fn acc_02_an_agent_that_heard_of_it_from_the_other_does_not_count() {
        let said = |to: Vec<Actor>| Note::Said {
            agent: actor("a"),
            words: None,
            cites: Vec::new(),
            to,
        };
        let told = Note::Joined {
            agent: actor("child"),
            member: Member {
                told_by: BTreeSet::from([actor("a")]),
                declared: true,
                ..Member::default()
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
    fn acc_02_nobody_converges_where_nobody_watched_or_the_run_was_given_up() {
        let gap = run(vec![Note::Gap]);
        assert_eq!(together(&gap, Outcome::Succeeded, ["a", "b"]), None);
        let whole = run(Vec::new());
        assert_eq!(together(&whole, Outcome::Abandoned, ["a", "b"]), None);
        assert_eq!(
            together(&whole, Outcome::Succeeded, ["a", "stranger"]),
            None
        );
    }

    #[test]
    fn acc_03_what_speaks_of_the_change_at_hand_is_no_lasting_knowledge() {
        for (statement, durable) in [
            ("This PR forgets the key", false),
            ("The key is missing on line 42", false),
            ("Retries must carry the same key", true),
        ] {
            assert_eq!(is_durable(statement), durable, "{statement}");
        }
    }

    #[test]
    fn acc_09_from_nine_on_one_finding_is_an_incident() {
        assert_eq!(kind(&[finding(9_000, 0, false)]), Some(Kind::Incident));
        assert_eq!(kind(&[finding(8_999, 0, false)]), None);
    }

    #[test]
    fn acc_10_from_seven_and_eight_on_one_finding_is_a_pattern() {
        assert_eq!(kind(&[finding(7_000, 8_000, false)]), Some(Kind::Pattern));
        assert_eq!(kind(&[finding(6_999, 8_000, false)]), None);
        assert_eq!(kind(&[finding(7_000, 7_999, false)]), None);
    }

    #[test]
    fn acc_11_dismissal_beats_severity() {
        let dismissed = [finding(9_500, 9_000, true)];
        assert_eq!(kind(&dismissed), Some(Kind::FalsePositive));
        let both = [finding(9_500, 0, false), finding(0, 0, true)];
        assert_eq!(kind(&both), Some(Kind::FalsePositive));
    }

    #[test]
    fn acc_05_the_wording_with_the_most_grounds_is_taken() {
        let plain = finding(9_000, 0, false);
        let grounded = Finding {
            verify: vec!["cargo test pay".parse().unwrap()],
            ..plain.clone()
        };
        let (a, b) = (actor("a"), actor("b"));
        let found = [(&a, &plain), (&b, &grounded)];
        let gained = gain(&run(Vec::new()), Outcome::Succeeded, &found).unwrap();
        assert_eq!(gained.finding, grounded);
    }
}
