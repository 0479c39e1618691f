//! Texts agents read about Ken. They are short because each costs tokens in every session.

/// The block in `AGENTS.md`.
pub const INSTRUCTIONS: &str = include_str!("instructions.md");
/// The skill, with its frontmatter.
pub const SKILL: &str = include_str!("skill.md");
/// The opencode plugin that implements its hooks.
pub const OPENCODE_PLUGIN: &str = include_str!("ken.ts");

/// Maximum lines of the block in `AGENTS.md`.
pub const INSTRUCTIONS_LINES_MAX: usize = 15;
/// Maximum lines of a skill.
pub const SKILL_LINES_MAX: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_short() {
        // The markers take two lines.
        assert!(INSTRUCTIONS.lines().count() + 2 <= INSTRUCTIONS_LINES_MAX);
        assert!(INSTRUCTIONS.ends_with('\n'));
    }

    #[test]
    fn the_skill_is_one_as_agents_read_them() {
        let (front, body) = SKILL
            .strip_prefix("---\n")
            .and_then(|it| it.split_once("\n---\n"))
            .expect("frontmatter");
        assert!(front.lines().any(|line| line == "name: ken"));
        let description = front
            .lines()
            .find_map(|it| it.strip_prefix("description: "));
        let description = description.expect("a description");
        assert!(description.len() <= 1024, "{}", description.len());
        assert!(
            !description.contains(": "),
            "it must be a plain YAML scalar"
        );
        assert!(!body.trim().is_empty());
        assert!(SKILL.lines().count() < SKILL_LINES_MAX);
    }
}
