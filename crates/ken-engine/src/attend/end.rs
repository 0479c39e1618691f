//! An agent thinks it is done, and a conversation is over.

use ken_core::run::Note;
use ken_core::run::close::Ending;

use super::Attendee;
use super::memory::{Line, Memory, forget, remember};
use crate::engine::Engine;
use crate::error::Error;
use crate::runs::Closed;

impl Engine {
    /// Reminds an agent to write down what it learned: once a conversation, only where there is something, and only
    /// while it has written nothing.
    pub fn attend_stop(&mut self, who: &Attendee) -> Result<Option<String>, Error> {
        let (Some(id), true) = (who.run(), who.listens) else {
            return Ok(None);
        };
        let Some(run) = self.open_run_of(&who.reader())? else {
            return Ok(None);
        };
        let memory = Memory::of(&self.place, &id);
        let found: usize = run.agents.values().map(|it| it.findings.len()).sum();
        let is_written = run.agents.values().any(|it| !it.added.is_empty());
        let fixed = memory.fixed.len();
        if memory.reminded || is_written || found + fixed == 0 {
            return Ok(None);
        }
        remember(&self.place, &id, Line::Reminded);
        Ok(Some(reminder(found, fixed)))
    }

    /// Closes a conversation's run; of how it went nobody said anything.
    ///
    /// Whoever ended it waits for nothing, so what was put off at the start is done now.
    pub fn attend_end(&mut self, who: &Attendee) -> Result<Option<Closed>, Error> {
        let (Some(id), None) = (who.run(), &who.run) else {
            // Whoever opened the run closes it.
            return Ok(None);
        };
        if self.open_run_of(&who.main().reader())?.is_none() {
            forget(&self.place, &id);
            return Ok(None);
        }
        let ending = Ending::abandoned();
        let (agent, outcome) = (who.agent.clone(), ending.outcome);
        self.note_run(&id, Note::Ended { agent, outcome }, &who.agent)?;
        let closed = self.close_run(&id, &ending, &who.agent)?;
        forget(&self.place, &id);
        self.note_health_quickly();
        Ok(Some(closed))
    }
}

fn reminder(found: usize, fixed: usize) -> String {
    let counted = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    };
    let mut had = Vec::new();
    if 0 < found {
        had.push(counted(found, "finding was noted", "findings were noted"));
    }
    if 0 < fixed {
        had.push(counted(
            fixed,
            "failure was put right",
            "failures were put right",
        ));
    }
    format!(
        "Ken: in this conversation {}, and nothing was written down yet. If one of them will help whoever comes next, record it \
         in one to three sentences that hold beyond this case: `ken_record`, or `ken add --kind learning --statement … --anchor PATH#SYMBOL --cite commit:HASH`. \
         If nothing will, stop; this is said once.\n",
        had.join(" and ")
    )
}
