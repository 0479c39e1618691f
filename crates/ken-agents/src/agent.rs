//! Supported coding agents and their names on the command line, in actors and as MCP clients.

/// A supported coding agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodingAgent {
    ClaudeCode,
    Codex,
    Cursor,
    Copilot,
    Gemini,
    Opencode,
    Zed,
}

impl CodingAgent {
    /// Every agent, in display order.
    pub const ALL: [Self; 7] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Cursor,
        Self::Copilot,
        Self::Gemini,
        Self::Opencode,
        Self::Zed,
    ];

    /// Returns the name used on the command line and in actors, as in `agent:claude-code`.
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

    /// Returns the product name for display.
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

    /// Parses a command-line name; accepts the short names `claude`, `gemini` and `antigravity`.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        let short = match text {
            "claude" => "claude-code",
            "gemini" | "antigravity" => "gemini-cli",
            other => other,
        };
        Self::ALL.into_iter().find(|it| it.name() == short)
    }

    /// Maps an MCP client name, such as `claude-code` or `codex-mcp-client`, to an agent.
    #[must_use]
    pub fn from_client_name(name: &str) -> Option<Self> {
        // Clients add prefixes and suffixes to their product name, so a whole word is enough.
        // A substring match would take `organized` for Zed.
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
        for agent in CodingAgent::ALL {
            assert_eq!(CodingAgent::named(agent.name()), Some(agent));
            assert_eq!(CodingAgent::from_client_name(agent.name()), Some(agent));
        }
        assert_eq!(CodingAgent::named("claude"), Some(CodingAgent::ClaudeCode));
        assert_eq!(CodingAgent::named("clippy"), None);
    }

    #[test]
    fn a_client_is_known_by_a_whole_word_of_its_name() {
        for (name, agent) in [
            ("codex-mcp-client", Some(CodingAgent::Codex)),
            ("Cursor-VSCode", Some(CodingAgent::Cursor)),
            ("gemini-cli-mcp-client-ken", Some(CodingAgent::Gemini)),
            ("mcp-inspector", None),
            ("organized", None),
            ("", None),
        ] {
            assert_eq!(CodingAgent::from_client_name(name), agent, "{name}");
        }
    }
}
