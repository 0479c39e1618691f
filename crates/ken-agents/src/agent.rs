//! The coding agents Ken knows, by the names they are typed, written down and recognised under.

/// A coding agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agent {
    ClaudeCode,
    Codex,
    Cursor,
    Copilot,
    Gemini,
    Opencode,
    Zed,
}

impl Agent {
    /// Every agent, in the order they are listed.
    pub const ALL: [Self; 7] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Cursor,
        Self::Copilot,
        Self::Gemini,
        Self::Opencode,
        Self::Zed,
    ];

    /// Returns the name it is typed under and acts under, as in `agent:claude-code`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini-cli",
            Self::Opencode => "opencode",
            Self::Zed => "zed",
        }
    }

    /// Returns the name people know it under.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::Copilot => "GitHub Copilot",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Zed => "Zed",
        }
    }

    /// Returns the agent that is typed so; short names do, too.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        let short = match text {
            "claude" => "claude-code",
            "gemini" | "antigravity" => "gemini-cli",
            other => other,
        };
        Self::ALL.into_iter().find(|it| it.name() == short)
    }

    /// Returns the agent that calls itself so to a server, as in `claude-code` or `codex-mcp-client`.
    #[must_use]
    pub fn of_client(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
        let has = |word: &str| words.contains(&word);
        let known = [
            ("claude", Self::ClaudeCode),
            ("codex", Self::Codex),
            ("cursor", Self::Cursor),
            ("copilot", Self::Copilot),
            ("gemini", Self::Gemini),
            ("antigravity", Self::Gemini),
            ("opencode", Self::Opencode),
            ("zed", Self::Zed),
        ];
        let found = known.into_iter().find(|(word, _)| has(word));
        found.map(|(_, agent)| agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_is_found_by_its_name() {
        for agent in Agent::ALL {
            assert_eq!(Agent::named(agent.name()), Some(agent));
            assert_eq!(Agent::of_client(agent.name()), Some(agent));
        }
        assert_eq!(Agent::named("claude"), Some(Agent::ClaudeCode));
        assert_eq!(Agent::named("clippy"), None);
    }

    #[test]
    fn a_client_is_known_by_a_whole_word_of_its_name() {
        for (name, agent) in [
            ("codex-mcp-client", Some(Agent::Codex)),
            ("Cursor-VSCode", Some(Agent::Cursor)),
            ("gemini-cli-mcp-client-ken", Some(Agent::Gemini)),
            ("mcp-inspector", None),
            ("organized", None),
            ("", None),
        ] {
            assert_eq!(Agent::of_client(name), agent, "{name}");
        }
    }
}
