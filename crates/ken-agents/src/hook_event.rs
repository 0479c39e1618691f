//! Hook events of an agent session and the name each agent gives them.

use crate::CodingAgent;

/// An event of a session at which an agent runs its hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookEvent {
    /// A session starts or resumes, or its context was compacted.
    Start,
    /// The user submitted a prompt.
    Prompt,
    /// A tool call succeeded.
    Tool,
    /// A tool call failed.
    Failure,
    /// An agent starts a subagent.
    Subagent,
    /// The agent is about to stop.
    Stop,
    /// The session is over.
    End,
}

impl HookEvent {
    /// Every hook event, in the order of a session.
    pub const ALL: [Self; 7] = [
        Self::Start,
        Self::Prompt,
        Self::Tool,
        Self::Failure,
        Self::Subagent,
        Self::Stop,
        Self::End,
    ];

    /// Returns the command-line name, as in `ken hook codex start`.
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

    /// Parses a command-line name.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == text)
    }
}

impl CodingAgent {
    /// Returns the agent's name for an event in its hook files, or `None` if it has no such hook.
    #[must_use]
    pub fn event(self, event: HookEvent) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => claude_event(event),
            Self::Codex => codex_event(event),
            Self::Cursor => cursor_event(event),
            Self::Copilot => copilot_event(event),
            Self::Gemini => gemini_event(event),
            // The opencode hooks are our own plugin, which uses our event names.
            Self::Opencode => Some(event.name()),
            Self::Zed => None,
        }
    }

    /// Parses an event name: ours or the agent's own.
    #[must_use]
    pub fn moment(self, text: &str) -> Option<HookEvent> {
        // Our names win: they are the same for every agent and appear in `ken hook` commands.
        let own = |it: &HookEvent| self.event(*it) == Some(text);
        HookEvent::named(text).or_else(|| HookEvent::ALL.into_iter().find(own))
    }
}

fn claude_event(event: HookEvent) -> Option<&'static str> {
    Some(match event {
        HookEvent::Start => "SessionStart",
        HookEvent::Prompt => "UserPromptSubmit",
        HookEvent::Tool => "PostToolUse",
        HookEvent::Failure => "PostToolUseFailure",
        HookEvent::Subagent => "SubagentStart",
        HookEvent::Stop => "Stop",
        HookEvent::End => "SessionEnd",
    })
}

/// Returns the Codex name of an event.
///
/// The hook schemas in the Codex repository cover neither a failed tool call, which the tool hook
/// reports, nor the end of a session.
fn codex_event(event: HookEvent) -> Option<&'static str> {
    match event {
        HookEvent::Failure | HookEvent::End => None,
        HookEvent::Start
        | HookEvent::Prompt
        | HookEvent::Tool
        | HookEvent::Subagent
        | HookEvent::Stop => claude_event(event),
    }
}

fn cursor_event(event: HookEvent) -> Option<&'static str> {
    Some(match event {
        HookEvent::Start => "sessionStart",
        HookEvent::Prompt => "beforeSubmitPrompt",
        HookEvent::Tool => "postToolUse",
        HookEvent::Failure => "postToolUseFailure",
        HookEvent::Subagent => "subagentStart",
        HookEvent::Stop => "stop",
        HookEvent::End => "sessionEnd",
    })
}

fn copilot_event(event: HookEvent) -> Option<&'static str> {
    Some(match event {
        HookEvent::Start => "sessionStart",
        HookEvent::Prompt => "userPromptSubmitted",
        HookEvent::Tool => "postToolUse",
        // `errorOccurred` reports errors of the session itself, such as an unreachable model.
        HookEvent::Failure => "postToolUseFailure",
        HookEvent::Subagent => "subagentStart",
        HookEvent::Stop => "agentStop",
        HookEvent::End => "sessionEnd",
    })
}

fn gemini_event(event: HookEvent) -> Option<&'static str> {
    Some(match event {
        HookEvent::Start => "SessionStart",
        HookEvent::Prompt => "BeforeAgent",
        HookEvent::Tool => "AfterTool",
        // The tool hook of Gemini CLI also reports failures.
        HookEvent::Failure | HookEvent::Subagent => return None,
        HookEvent::Stop => "AfterAgent",
        HookEvent::End => "SessionEnd",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_known_by_our_word_and_by_the_agents() {
        for agent in CodingAgent::ALL {
            for moment in HookEvent::ALL {
                assert_eq!(agent.moment(moment.name()), Some(moment));
                let own = agent.event(moment).and_then(|it| agent.moment(it));
                assert!(own.is_none() || own == Some(moment), "{agent:?} {moment:?}");
            }
            assert_eq!(agent.moment("PreToolUse"), None);
        }
    }
}
