//! Injection log: which entry an agent was shown, when, through which channel, and which entries
//! were withheld from it by chance or omitted for lack of room.

use std::collections::BTreeSet;

use super::{ExposureChannel, HoldoutAssignment, RunNote, RunRecord};
use crate::ledger::event::Arm;
use crate::values::actor::Actor;
use crate::values::id::EntryId;
use crate::values::text::Note as Words;
use crate::values::time::Timestamp;

/// One exposure, or one that was decided against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExposureRecord {
    pub at: Timestamp,
    pub run: String,
    pub agent: Actor,
    /// `None` if the agent read a file with too many entries to list.
    pub entry: Option<EntryId>,
    pub decision: ExposureDecision,
    /// Set if the agent reported later in this run that it used the entry.
    pub was_used: bool,
    /// The task of the run.
    pub task: Option<Words>,
}

/// Whether an agent was shown an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExposureDecision {
    Shown(ExposureChannel),
    /// Withheld at random, with this probability in thousandths.
    Withheld {
        propensity_milli: u16,
    },
    /// Relevant, but there was no room for it.
    Omitted,
}

impl ExposureDecision {
    /// Returns what the lot of a briefing decided.
    fn drawn(offer: &HoldoutAssignment) -> Self {
        match offer.arm {
            Arm::Shown => Self::Shown(ExposureChannel::Brief),
            Arm::Withheld => Self::Withheld {
                propensity_milli: offer.propensity_milli,
            },
        }
    }
}

/// An agent was told of an entry by another one.
const TOLD: ExposureDecision = ExposureDecision::Shown(ExposureChannel::Told);

impl ExposureChannel {
    /// Returns how the entry reached the agent, to follow "shown".
    pub fn description(self) -> &'static str {
        match self {
            Self::Push => "by a hook",
            Self::Pull => "as a search result",
            Self::Show => "on request",
            Self::Brief => "in a briefing",
            Self::File => "in a file it read",
            Self::Told => "in another agent's conclusion",
        }
    }
}

/// Returns the exposures in the notes of one run, in their order. Notes without an opening have
/// none.
pub fn exposure_records(notes: &[RunRecord]) -> Vec<ExposureRecord> {
    let Some(RunNote::Opened { run, task, .. }) = notes.first().map(|it| &it.note) else {
        return Vec::new();
    };
    let mut agents: BTreeSet<&Actor> = BTreeSet::new();
    let mut found = Vec::new();
    for RunRecord { at, note, .. } in notes {
        agents.extend(note.agent());
        let mut add = |agent: &Actor, entry: Option<EntryId>, decision: ExposureDecision| {
            found.push(ExposureRecord {
                at: *at,
                run: run.clone(),
                agent: agent.clone(),
                entry,
                decision,
                was_used: false,
                task: task.clone(),
            });
        };
        match note {
            RunNote::Shown {
                agent,
                entries,
                how,
            } => {
                for id in entries {
                    add(agent, Some(*id), ExposureDecision::Shown(*how));
                }
            }
            RunNote::SawEverything { agent, how } => {
                add(agent, None, ExposureDecision::Shown(*how));
            }
            RunNote::Pushed { agent, offers } => {
                // Only a briefing draws lots, and what it drew to show is in no other note.
                for offer in offers {
                    add(agent, Some(offer.entry), ExposureDecision::drawn(offer));
                }
            }
            RunNote::Passed { agent, entries } => {
                for id in entries {
                    add(agent, Some(*id), ExposureDecision::Omitted);
                }
            }
            RunNote::Said {
                agent, cites, to, ..
            } => {
                let all = agents.iter().copied().filter(|it| *it != agent);
                let recipients: Vec<&Actor> = match &to[..] {
                    [] => all.collect(),
                    named => named.iter().collect(),
                };
                for recipient in recipients {
                    for id in cites {
                        add(recipient, Some(*id), TOLD);
                    }
                }
            }
            RunNote::Opened { .. }
            | RunNote::Joined { .. }
            | RunNote::Used { .. }
            | RunNote::Added { .. }
            | RunNote::Observed { .. }
            | RunNote::Feedback { .. }
            | RunNote::Ended { .. }
            | RunNote::Facts { .. }
            | RunNote::Gap => {}
        }
    }
    mark_used(notes, &mut found);
    found
}

/// Marks the records of entries that their agent reported as used.
fn mark_used(notes: &[RunRecord], records: &mut [ExposureRecord]) {
    let mut used: BTreeSet<(&Actor, EntryId)> = BTreeSet::new();
    for RunRecord { note, .. } in notes {
        if let RunNote::Used { agent, entries } = note {
            used.extend(entries.iter().map(|it| (agent, *it)));
        }
    }
    for record in records {
        let key = record.entry.map(|it| (&record.agent, it));
        record.was_used = key.is_some_and(|it| used.contains(&it));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::run::{RunMember, RunMode, RunWitness};

    fn actor(name: &str) -> Actor {
        format!("agent:{name}").parse().unwrap()
    }

    fn record(note: RunNote) -> RunRecord {
        RunRecord {
            at: Timestamp::default(),
            by: actor("a"),
            note,
        }
    }

    fn opened() -> RunRecord {
        record(RunNote::Opened {
            run: "review".to_owned(),
            manner: RunMode::Explicit,
            witness: RunWitness::Nobody,
            thread: None,
            task: None,
        })
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of all notes")]
    fn each_note_yields_its_exposures() {
        let (one, two): (EntryId, EntryId) =
            ("L-00000001".parse().unwrap(), "L-00000002".parse().unwrap());
        let (a, b) = (actor("a"), actor("b"));
        let how = ExposureChannel::Brief;
        let offer = |entry, arm| HoldoutAssignment {
            entry,
            arm,
            propensity_milli: 333,
        };
        let withheld = ExposureDecision::Withheld {
            propensity_milli: 333,
        };
        let shown = ExposureDecision::Shown(how);
        let told = ExposureDecision::Shown(ExposureChannel::Told);
        let joined = RunNote::Joined {
            agent: b.clone(),
            member: RunMember::default(),
        };
        let agent = a.clone();
        let cases = [
            (
                RunNote::Shown {
                    agent: agent.clone(),
                    entries: vec![one, two],
                    how,
                },
                vec![(&a, Some(one), shown), (&a, Some(two), shown)],
            ),
            (
                RunNote::SawEverything {
                    agent: agent.clone(),
                    how,
                },
                vec![(&a, None, shown)],
            ),
            (
                RunNote::Pushed {
                    agent: agent.clone(),
                    offers: vec![offer(one, Arm::Shown), offer(two, Arm::Withheld)],
                },
                vec![(&a, Some(one), shown), (&a, Some(two), withheld)],
            ),
            (
                RunNote::Passed {
                    agent: agent.clone(),
                    entries: vec![one],
                },
                vec![(&a, Some(one), ExposureDecision::Omitted)],
            ),
            (
                RunNote::Said {
                    agent: agent.clone(),
                    words: None,
                    cites: vec![two],
                    to: Vec::new(),
                },
                vec![(&b, Some(two), told)],
            ),
            (
                RunNote::Used {
                    agent,
                    entries: vec![one],
                },
                vec![],
            ),
        ];
        for (note, wanted) in cases {
            let notes = [opened(), record(joined.clone()), record(note)];
            let found = exposure_records(&notes);
            let found: Vec<_> = found
                .iter()
                .map(|it| (&it.agent, it.entry, it.decision))
                .collect();
            assert_eq!(found, wanted, "{:?}", notes[2].note);
        }
    }

    #[test]
    fn an_exposure_says_whether_the_entry_was_used() {
        let (one, two): (EntryId, EntryId) =
            ("L-00000001".parse().unwrap(), "L-00000002".parse().unwrap());
        let (a, how) = (actor("a"), ExposureChannel::Brief);
        let shown = RunNote::Shown {
            agent: a.clone(),
            entries: vec![one, two],
            how,
        };
        let used = RunNote::Used {
            agent: a.clone(),
            entries: vec![two],
        };
        let found = exposure_records(&[opened(), record(shown), record(used)]);
        let found: Vec<bool> = found.iter().map(|it| it.was_used).collect();
        assert_eq!(found, [false, true]);
        let alone = [record(RunNote::SawEverything { agent: a, how })];
        assert!(exposure_records(&alone).is_empty(), "no run was opened");
    }
}
