//! The moments of a conversation at which an agent asks its hooks, and what each agent calls them.

use crate::Agent;

/// A moment of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// A conversation begins, goes on, or begins anew after its context was condensed.
    Start,
    /// Somebody typed a prompt.
    Prompt,
    /// A tool did what it should.
    Tool,
    /// A tool failed.
    Failure,
    /// An agent starts another for a part of the work.
    Subagent,
    /// The agent thinks it is done.
    Stop,
    /// The conversation is over.
    End,
}

impl Moment {
    /// Every moment, in the order they come.
    pub const ALL: [Self; 7] = [
        Self::Start,
        Self::Prompt,
        Self::Tool,
        Self::Failure,
        Self::Subagent,
        Self::Stop,
        Self::End,
    ];

    /// Returns the name it is typed under, as in `ken hook codex start`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Prompt => "prompt",
            Self::Tool => "tool",
            Self::Failure => "failure",
            Self::Subagent => "subagent",
            Self::Stop => "stop",
            Self::End => "end",
        }
    }

    /// Returns the moment that is typed so.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == text)
    }
}

impl Agent {
    /// Returns what the agent calls a moment in its hook files; `None` where it has no hook then.
    #[must_use]
    pub fn event(self, moment: Moment) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => claude_event(moment),
            Self::Codex => codex_event(moment),
            Self::Cursor => cursor_event(moment),
            Self::Copilot => copilot_event(moment),
            Self::Gemini => gemini_event(moment),
            // Its hooks are a plugin of ours, which calls moments by our names.
            Self::Opencode => Some(moment.name()),
            Self::Zed => None,
        }
    }

    /// Returns the moment that is typed so, or that the agent calls so.
    #[must_use]
    pub fn moment(self, text: &str) -> Option<Moment> {
        let own = |it: &Moment| self.event(*it) == Some(text);
        Moment::named(text).or_else(|| Moment::ALL.into_iter().find(own))
    }
}

fn claude_event(moment: Moment) -> Option<&'static str> {
    Some(match moment {
        Moment::Start => "SessionStart",
        Moment::Prompt => "UserPromptSubmit",
        Moment::Tool => "PostToolUse",
        Moment::Failure => "PostToolUseFailure",
        Moment::Subagent => "SubagentStart",
        Moment::Stop => "Stop",
        Moment::End => "SessionEnd",
    })
}

/// Its repository has schemas for the hooks it knows: none for a failed tool, of which the tool's own hook is told,
/// and none for the end of a conversation.
fn codex_event(moment: Moment) -> Option<&'static str> {
    match moment {
        Moment::Failure | Moment::End => None,
        Moment::Start | Moment::Prompt | Moment::Tool | Moment::Subagent | Moment::Stop => {
            claude_event(moment)
        }
    }
}

fn cursor_event(moment: Moment) -> Option<&'static str> {
    Some(match moment {
        Moment::Start => "sessionStart",
        Moment::Prompt => "beforeSubmitPrompt",
        Moment::Tool => "postToolUse",
        Moment::Failure => "postToolUseFailure",
        Moment::Subagent => "subagentStart",
        Moment::Stop => "stop",
        Moment::End => "sessionEnd",
    })
}

fn copilot_event(moment: Moment) -> Option<&'static str> {
    Some(match moment {
        Moment::Start => "sessionStart",
        Moment::Prompt => "userPromptSubmitted",
        Moment::Tool => "postToolUse",
        // `errorOccurred` tells of the session's own errors, such as a model that cannot be reached.
        Moment::Failure => "postToolUseFailure",
        Moment::Subagent => "subagentStart",
        Moment::Stop => "agentStop",
        Moment::End => "sessionEnd",
    })
}

fn gemini_event(moment: Moment) -> Option<&'static str> {
    Some(match moment {
        Moment::Start => "SessionStart",
        Moment::Prompt => "BeforeAgent",
        Moment::Tool => "AfterTool",
        // Its tool hook is told of failures, too.
        Moment::Failure | Moment::Subagent => return None,
        Moment::Stop => "AfterAgent",
        Moment::End => "SessionEnd",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_known_by_our_word_and_by_the_agents() {
        for agent in Agent::ALL {
            for moment in Moment::ALL {
                assert_eq!(agent.moment(moment.name()), Some(moment));
                let own = agent.event(moment).and_then(|it| agent.moment(it));
                assert!(own.is_none() || own == Some(moment), "{agent:?} {moment:?}");
            }
            assert_eq!(agent.moment("PreToolUse"), None);
        }
    }
}
