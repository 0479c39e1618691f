//! An agent that another one started: it joins the run, and gets what its role is used to.
//!
//! Reviewers are handed what is known; the others are told how to ask, and when. What one was shown counts as told to
//! the agent that started it.

use ken_core::entry::Entry;
use ken_core::run::{Member, Note};
use ken_core::score::Role;
use ken_core::surface::{self, CAP, NOTHING_FOUND};
use ken_core::text::Tag;
use serde::Deserialize;

use super::start::branch_words;
use super::{AGAINST_THE_PLAN, Attendee};
use crate::config::{Config, SurfacingPart};
use crate::engine::Engine;
use crate::error::Error;
use crate::git;
use crate::search::{Floor, Portion, Search};
use crate::validity::WorkTree;

/// Tokens of what a reviewer is handed.
const PUSHED_TOKENS: usize = surface::BUDGET;

/// Points of view a reviewer may have; what is filed under another one is not for it.
const LENSES: [&str; 8] = [
    "security",
    "correctness",
    "performance",
    "maintainability",
    "reliability",
    "accessibility",
    "architecture",
    "testing",
];

/// Beginnings of words in an agent's kind, and the role they speak of; the first that is there decides.
const WORDS: [(&str, Role); 19] = [
    ("review", Role::Reviewer),
    ("audit", Role::Reviewer),
    ("critic", Role::Reviewer),
    ("lint", Role::Reviewer),
    ("research", Role::Researcher),
    ("explor", Role::Researcher),
    ("scout", Role::Researcher),
    ("debug", Role::Debugger),
    ("troubleshoot", Role::Debugger),
    ("diagnos", Role::Debugger),
    ("investigat", Role::Debugger),
    ("plan", Role::Planner),
    ("architect", Role::Planner),
    ("design", Role::Planner),
    ("execut", Role::Executor),
    ("implement", Role::Executor),
    ("cod", Role::Executor),
    ("develop", Role::Executor),
    ("worker", Role::Executor),
];

/// How an agent comes by what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surfacing {
    /// It is handed what fits.
    Push,
    /// It may ask.
    Pull,
    /// It asks before it begins.
    MandatoryPull,
    /// It asks where it has to leave its plan.
    OnDeviation,
}

impl Engine {
    /// Lets an agent join the run of the one that started it, and says what its role is used to.
    pub fn attend_subagent(&mut self, who: &Attendee) -> Result<Option<String>, Error> {
        let Some(subagent) = &who.subagent else {
            return Ok(None);
        };
        let role = role_of(&subagent.kind);
        let run = self.roomy_run(who)?;
        let is_new = |it: &ken_core::run::Run| !it.agents.contains_key(&who.actor());
        if let Some(run) = run.filter(is_new) {
            let joined = Note::Joined {
                agent: who.actor(),
                member: Member {
                    role: role.and_then(|it| name_of(it).parse().ok()),
                    lens: lens_of(&subagent.kind),
                    session: who.session.clone(),
                    told_by: [who.agent.clone()].into(),
                    declared: true,
                },
            };
            self.note_run(&run.id, joined, &who.agent)?;
        }
        if !who.listens {
            return Ok(None);
        }
        let own = Config::of(&WorkTree::new(&self.place)?)?.surfacing;
        match surfacing(role, own) {
            Surfacing::Push => self.push_to(who, role),
            Surfacing::Pull => Ok(Some(told(PULL, role))),
            Surfacing::MandatoryPull => Ok(Some(told(MANDATORY, role))),
            Surfacing::OnDeviation => Ok(Some(told(DEVIATION, role))),
        }
    }

    /// Hands over what fits: what the agent is for, and what is in hand.
    fn push_to(&mut self, who: &Attendee, role: Option<Role>) -> Result<Option<String>, Error> {
        let subagent = who.subagent.clone().unwrap_or_default();
        let mut words = words_of(&subagent.kind);
        words.push(subagent.task);
        let paths = git::files_in_hand(&self.place).unwrap_or_default();
        words.extend(branch_words(git::branch(&self.place).as_deref()));
        let search = Search {
            query: words.join(" "),
            paths,
            role,
            run: who.run(),
            floor: Floor::Strict,
            ..Search::default()
        };
        let portion = Portion {
            cap: CAP,
            budget: PUSHED_TOKENS,
            tier: None,
            role,
        };
        // What is filed under the agent's own point of view, or under none.
        let lens = who.subagent.as_ref().and_then(|it| lens_of(&it.kind));
        let is_ours = |entry: &Entry| {
            let filed = entry.content.as_ref().and_then(|it| it.lens.as_ref());
            lens.is_none() || filed.is_none() || filed == lens.as_ref()
        };
        let (page, served_by) = self.push(who, &search, portion, &is_ours)?;
        let block = surface::context(&page, served_by);
        let against = match page.shown.is_empty() {
            true => "",
            false => AGAINST_THE_PLAN,
        };
        Ok(Some(format!("{block}{against}{}", told(ASK, role))))
    }
}

const ASK: &str = "\
Ask for more at any time: `ken_search`, or `ken search ROLE\"goal, technology, problem\"`. Cite what you use as [ID].
";

const PULL: &str = "\
## Knowledge
This repository keeps what was learned about it. When you decide something, meet an error or change direction, you may ask: \
`ken_search`, or `ken search ROLE\"goal, technology, problem\"`. Cite what you use as [ID].
";

const MANDATORY: &str = "\
## Knowledge: check first
Before any other step ask what is known: `ken_search`, or `ken search ROLE\"goal, technology, problem\"`. Cite what you use \
as [ID]; where nothing fits write `NOTHING`. Ask again when you meet an error or change direction.
";

const DEVIATION: &str = "\
## Knowledge: when you leave the plan
While the plan holds, do not ask. Where you would repair a bug, add something critical that is missing or clear what blocks you \
(rules 1 to 3), first ask whether somebody met it before: `ken_search`, or `ken search ROLE--error` with the output on its standard input. Cite what you \
use as [ID]. A change of the architecture (rule 4) is asked of a person, whatever is known.
";

fn told(text: &str, role: Option<Role>) -> String {
    let role = role.map(|it| format!("--role {} ", name_of(it)));
    let text = text.replace("ROLE", &role.unwrap_or_default());
    format!("{}{FOUND}", text.replace("NOTHING", NOTHING_FOUND))
}

/// How what was found gets to others.
const FOUND: &str = "\
What you find that will hold beyond this task: `ken_record`, or `ken observe --statement …`.
";

fn surfacing(role: Option<Role>, own: SurfacingPart) -> Surfacing {
    let (own, usual) = match role {
        Some(Role::Reviewer) => (own.reviewer, Surfacing::Push),
        Some(Role::Researcher) => (own.researcher, Surfacing::MandatoryPull),
        Some(Role::Planner) => (own.planner, Surfacing::Pull),
        Some(Role::Debugger) => (own.debugger, Surfacing::Pull),
        Some(Role::Executor) => (own.executor, Surfacing::OnDeviation),
        None => (own.other, Surfacing::Pull),
    };
    own.unwrap_or(usual)
}

fn role_of(kind: &str) -> Option<Role> {
    let words = words_of(kind);
    let known = WORDS.iter().find(|(beginning, _)| {
        let mut words = words.iter();
        words.any(|it| it.starts_with(beginning))
    });
    known.map(|(_, role)| *role)
}

fn lens_of(kind: &str) -> Option<Tag> {
    let words = words_of(kind);
    let lens = LENSES
        .iter()
        .find(|lens| words.iter().any(|it| it == *lens))?;
    lens.parse().ok()
}

/// Returns the words of an agent's kind, as in `code-reviewer` or `SecurityAuditor`.
fn words_of(kind: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in kind.chars() {
        if c.is_uppercase() || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words
                .last_mut()
                .expect("there is one")
                .extend(c.to_lowercase());
        }
    }
    words.retain(|it| !it.is_empty());
    words
}

fn name_of(role: Role) -> &'static str {
    match role {
        Role::Researcher => "researcher",
        Role::Planner => "planner",
        Role::Debugger => "debugger",
        Role::Executor => "executor",
        Role::Reviewer => "reviewer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_read_from_the_kind_of_agent() {
        for (kind, role) in [
            ("code-reviewer", Some(Role::Reviewer)),
            ("SecurityAuditor", Some(Role::Reviewer)),
            ("gsd-phase-researcher", Some(Role::Researcher)),
            ("Explore", Some(Role::Researcher)),
            ("Plan", Some(Role::Planner)),
            ("debugger", Some(Role::Debugger)),
            ("gsd-executor", Some(Role::Executor)),
            ("general-purpose", None),
            ("", None),
        ] {
            assert_eq!(role_of(kind), role, "{kind}");
        }
        assert_eq!(lens_of("security-reviewer").unwrap().as_str(), "security");
        assert_eq!(lens_of("code-reviewer"), None);
    }

    #[test]
    fn c1_every_role_comes_by_knowledge_in_its_own_way() {
        let usual = SurfacingPart::default();
        for (role, how) in [
            (Some(Role::Reviewer), Surfacing::Push),
            (Some(Role::Researcher), Surfacing::MandatoryPull),
            (Some(Role::Planner), Surfacing::Pull),
            (Some(Role::Debugger), Surfacing::Pull),
            (Some(Role::Executor), Surfacing::OnDeviation),
            (None, Surfacing::Pull),
        ] {
            assert_eq!(surfacing(role, usual), how);
        }
        let own = SurfacingPart {
            executor: Some(Surfacing::Push),
            ..usual
        };
        assert_eq!(surfacing(Some(Role::Executor), own), Surfacing::Push);
    }
}
