//! What Ken does at the moments of a conversation with an agent, for hooks of any agent.
//!
//! A conversation is a run. Its start is told what holds (`start`), a prompt and a failure get the few entries that
//! surely fit (here and in `failure`), an agent that is started gets what its role is used to (`role`), what tools
//! show of Ken's files is written down (`reading`), and at the end the run is closed (`end`).
//!
//! Invariants: nothing is shown that is not written down first; nothing is shown twice in a conversation, norms
//! after its context was condensed aside; chance keeps entries from agents as in a briefing. Without something
//! to say there is no answer.

mod end;
mod failure;
mod log;
mod memory;
mod reading;
mod role;
mod start;

use std::collections::BTreeSet;

use ken_core::actor::{Actor, Role as Party};
use ken_core::brief::take_heard;
use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::run::name::conversation;
use ken_core::run::{AGENTS_MAX, How, Run, Witness};
use ken_core::surface::{self, Page};
use ken_core::text::Tag;

use crate::brief::Brief;
use crate::engine::Engine;
use crate::error::Error;
use crate::runs::Reader;
use crate::search::{Answer, Floor, Portion, Search, from_words};
use crate::usage::{Answered, Asked, Surface};

pub use failure::{Call, worked};
pub use ken_index::count_tokens;
pub use log::{LOG_BYTES_MAX, is_kept_here, log, lost};
pub use reading::{Sighting, sighting};
pub use role::Surfacing;
pub use start::{BRIEFING_TOKENS_MAX, Beginning};

/// Entries somebody is told who did not ask.
pub const UNASKED_MAX: usize = 3;

/// Tokens of these.
const UNASKED_TOKENS: usize = 300;

/// Characters of a prompt that are looked for; what is longer was pasted.
const QUERY_CHARS_MAX: usize = 600;

/// Bytes of a subagent's name; a longer one is written as a hash.
const SUBAGENT_BYTES_MAX: usize = 40;

/// What is said about knowledge that speaks against what an agent is about to do.
pub(crate) const AGAINST_THE_PLAN: &str = "\
Where an entry speaks against the plan, the plan may have chosen so on purpose: judge whether the reason still holds, \
follow what you judge right, and name the entry and your reason in a line.
";

/// Whoever is in a conversation.
#[derive(Clone, Debug)]
pub struct Attendee {
    /// The agent a person talks to.
    pub agent: Actor,
    /// The conversation.
    pub session: Option<String>,
    /// The run somebody else opened for what it does; without one the conversation is a run of its own.
    pub run: Option<String>,
    /// The agent that the other one started, where that one acts.
    pub subagent: Option<Subagent>,
    /// Whether hooks see everything this kind of agent reads.
    pub witness: Witness,
    /// Whether what is said now reaches the model; what does not is not shown either.
    pub listens: bool,
}

/// An agent that another one started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subagent {
    pub id: String,
    /// What kind of agent it is, as in `code-reviewer`.
    pub kind: String,
    /// What it is to do, where that is known.
    pub task: String,
}

impl Attendee {
    /// Returns who acts.
    #[must_use]
    pub fn actor(&self) -> Actor {
        let Some(subagent) = &self.subagent else {
            return self.agent.clone();
        };
        let id = match subagent.id.len() <= SUBAGENT_BYTES_MAX {
            true => subagent.id.clone(),
            false => blake3::hash(subagent.id.as_bytes()).to_hex()[..16].to_owned(),
        };
        Actor::from_claim(Party::Agent, &format!("{}/{id}", self.agent.name()))
    }

    /// Returns the name of the run everything belongs to.
    fn run(&self) -> Option<String> {
        if self.run.is_some() {
            return self.run.clone();
        }
        let session = self.session.as_deref()?;
        Some(conversation(&self.agent, session))
    }

    fn reader(&self) -> Reader {
        Reader {
            agent: self.actor(),
            run: self.run(),
            session: self.session.clone(),
        }
    }

    fn main(&self) -> Self {
        Self {
            subagent: None,
            ..self.clone()
        }
    }
}

impl Engine {
    /// Says what surely fits a prompt, and notes what the prompt itself shows of Ken's files.
    pub fn attend_prompt(&mut self, who: &Attendee, prompt: &str) -> Result<Option<String>, Error> {
        // Whoever was not seen from its start may have read anything before.
        self.join_conversation(who, Witness::Nobody, None)?;
        self.attend_reading(who, &sighting(&[], "", prompt))?;
        if !who.listens || prompt.trim().is_empty() {
            return Ok(None);
        }
        let short: String = prompt.chars().take(QUERY_CHARS_MAX).collect();
        let asked = from_words(&short);
        self.tell_few(who, asked.text, asked.paths)
    }

    /// Returns the run of the conversation, opened if it is not; that of somebody else's making must be open.
    fn join_conversation(
        &mut self,
        who: &Attendee,
        witness: Witness,
        thread: Option<Tag>,
    ) -> Result<Option<Run>, Error> {
        match (&who.run, &who.session) {
            (Some(run), _) => self.run(run).map(Some),
            (None, Some(session)) => {
                let run = self.converse_on(&who.agent, session, witness, thread)?;
                Ok(Some(run))
            }
            (None, None) => Ok(None),
        }
    }

    /// Says the few entries that surely fit and were not shown before; nothing without any.
    fn tell_few(
        &mut self,
        who: &Attendee,
        query: String,
        paths: Vec<String>,
    ) -> Result<Option<String>, Error> {
        let search = Search {
            query,
            paths,
            run: who.run(),
            floor: Floor::Strict,
            ..Search::default()
        };
        let portion = Portion {
            cap: UNASKED_MAX,
            budget: UNASKED_TOKENS,
            tier: None,
            role: None,
        };
        let (page, served_by) = self.push(who, &search, portion, &|_| true)?;
        Ok((!page.shown.is_empty()).then(|| surface::context(&page, served_by)))
    }

    /// Searches and hands over what is new in this conversation and `wanted`, as much of it as fits.
    fn push(
        &mut self,
        who: &Attendee,
        search: &Search,
        portion: Portion,
        wanted: &dyn Fn(&Entry) -> bool,
    ) -> Result<(Page, &'static str), Error> {
        let thread = self.thread_of(&who.reader())?;
        let search = Search {
            thread: search.thread.clone().or(thread),
            ..search.clone()
        };
        let mut known = self.search_at_once(&search)?;
        let served_by = known.served_by.name();
        let before = self.shown_before(who)?;
        known
            .hits
            .retain(|hit| wanted(&hit.entry) && !before.contains(&hit.entry.id));
        let page = self.hand_to(who, Some(Asked::Search), (Page::empty(), known), portion)?;
        Ok((page, served_by))
    }

    /// Searches without waiting for anybody.
    fn search_at_once(&mut self, search: &Search) -> Result<Answer, Error> {
        self.serve_at_once();
        self.search(search, &mut |_, _| {})
    }

    /// Hands entries and norms over as a briefing does, notes them, and counts them as an answer to what was `asked`.
    fn hand_to(
        &mut self,
        who: &Attendee,
        asked: Option<Asked>,
        (norms, mut known): (Page, Answer),
        portion: Portion,
    ) -> Result<Page, Error> {
        let unsaid = take_heard(&mut known.hits);
        let mut brief = Brief {
            norms,
            known,
            unsaid,
        };
        let page = self.hand_over(&mut brief, portion, Some(&who.reader()))?;
        let pages = [&brief.norms, &page];
        if let Some(asked) = asked {
            self.count(Surface::Hook, Answered::of(asked, &brief.known, &pages));
        }
        self.note_told_main(who, &page.ids())?;
        Ok(page)
    }

    /// Notes for the main agent what one that it started was shown: that one's report goes to it, and from it to all
    /// that it starts.
    fn note_told_main(&mut self, who: &Attendee, shown: &[EntryId]) -> Result<(), Error> {
        if who.subagent.is_none() {
            return Ok(());
        }
        self.note_shown(&who.main().reader(), shown, How::Told)
    }

    /// Returns the entries that need not be offered again: shown in this conversation, by whatever way, before this run
    /// or in it, or kept away by chance.
    fn shown_before(&self, who: &Attendee) -> Result<BTreeSet<EntryId>, Error> {
        let mut before = BTreeSet::new();
        if let Some(session) = &who.session {
            let sight = self.session_before(session)?;
            before.extend(sight.into_iter().flat_map(|it| it.entries));
        }
        let reader = who.reader();
        let Some(run) = self.open_run_of(&reader)? else {
            return Ok(before);
        };
        let mut own = |name: &Actor| {
            let Some(agent) = run.agents.get(name) else {
                return;
            };
            before.extend(agent.shown.keys().chain(&agent.told).chain(&agent.added));
            before.extend(agent.offers.keys());
        };
        own(&reader.agent);
        Ok(before)
    }

    /// Returns the conversation's run, if it is open and has room for another agent.
    fn roomy_run(&self, who: &Attendee) -> Result<Option<Run>, Error> {
        let run = self.open_run_of(&who.reader())?;
        Ok(run.filter(|it| it.agents.len() < AGENTS_MAX))
    }
}
