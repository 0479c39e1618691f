//! Commands that passed repeatedly: the project's way to test, build and check.

use std::collections::BTreeMap;

use ken_core::values::kind::EntryKind;

use super::command::CommandPurpose;
use super::extraction::{AgentStep, ExtractedClaim, ExtractionKind};
use crate::topic;

/// Minimum number of successes of a habitual command.
const TIMES_MIN: usize = 3;

/// Commands with their number of successes and last line.
type CommandCounts = BTreeMap<String, (usize, usize)>;

/// Returns the command with the most successes per purpose and folder.
pub(super) fn find_habits(steps: &[AgentStep]) -> Vec<ExtractedClaim> {
    let mut counts: BTreeMap<(CommandPurpose, Option<&str>), CommandCounts> = BTreeMap::new();
    for step in steps {
        let AgentStep::Ran(ran) = step else { continue };
        // Failed runs do not count: a habit must work.
        if let (true, Some(purpose), Some(text)) =
            (ran.passed, ran.simple.purpose(), ran.simple.text())
        {
            let folder = ran.simple.folder.as_deref();
            let (count, line) = counts
                .entry((purpose, folder))
                .or_default()
                .entry(text)
                .or_insert((0, 0));
            *count += 1;
            *line = ran.line;
        }
    }
    let ways = counts.into_iter().filter_map(|((purpose, folder), texts)| {
        // Of equally frequent commands, the alphabetically first one, to be deterministic:
        // `max_by_key` returns the last maximum, hence `rev`.
        let best = texts
            .into_iter()
            .rev()
            .max_by_key(|(_, (count, _))| *count)?;
        let (command, (count, line)) = best;
        (count >= TIMES_MIN).then(|| habit_claim(purpose, folder, command, line))
    });
    ways.collect()
}

fn habit_claim(
    purpose: CommandPurpose,
    folder: Option<&str>,
    command: String,
    line: usize,
) -> ExtractedClaim {
    let does = match purpose {
        CommandPurpose::Test => "Run the tests",
        CommandPurpose::Build => "Build",
        CommandPurpose::Lint => "Lint",
        CommandPurpose::Types => "Check types",
        CommandPurpose::Format => "Format code",
        CommandPurpose::Generate => "Generate code",
        CommandPurpose::Migrate => "Migrate the database",
    };
    let whereabouts = folder.map(|it| format!(" in `{it}`")).unwrap_or_default();
    let text = format!("{does} with `{command}`{whereabouts}.");
    ExtractedClaim {
        found: ExtractionKind::Habit,
        kind: EntryKind::Convention,
        tags: topic::assign_tags(&text, &[]),
        paths: Vec::new(),
        verify: vec![command],
        exchange: None,
        amends: false,
        first_line: line,
        line,
        text,
    }
}
