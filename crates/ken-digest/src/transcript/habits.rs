//! Commands that came again and again and passed: the project's way to test, build, check.

use std::collections::BTreeMap;

use ken_core::kind::Kind;

use super::command::Purpose;
use super::moments::{Moment, MomentKind, Step};
use crate::topic;

/// Times a command must have passed to be the project's way.
const TIMES_MIN: usize = 3;

/// Commands, with how often each passed and where that was last seen.
type Ways = BTreeMap<String, (usize, usize)>;

/// Returns one way for each purpose and folder: the one that passed most often.
pub(super) fn habits(steps: &[Step]) -> Vec<Moment> {
    let mut counts: BTreeMap<(Purpose, Option<&str>), Ways> = BTreeMap::new();
    for step in steps {
        let Step::Ran(ran) = step else { continue };
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
        // Of two that came equally often, the one that came first in the alphabet: the same each time.
        let best = texts
            .into_iter()
            .rev()
            .max_by_key(|(_, (count, _))| *count)?;
        let (command, (count, line)) = best;
        (TIMES_MIN <= count).then(|| way(purpose, folder, command, line))
    });
    ways.collect()
}

fn way(purpose: Purpose, folder: Option<&str>, command: String, line: usize) -> Moment {
    let does = match purpose {
        Purpose::Test => "Run the tests",
        Purpose::Build => "Build",
        Purpose::Lint => "Lint",
        Purpose::Types => "Check types",
        Purpose::Format => "Format code",
        Purpose::Generate => "Generate code",
        Purpose::Migrate => "Migrate the database",
    };
    let whereabouts = folder.map(|it| format!(" in `{it}`")).unwrap_or_default();
    let text = format!("{does} with `{command}`{whereabouts}.");
    Moment {
        found: MomentKind::Habit,
        kind: Kind::Convention,
        tags: topic::tags(&text, &[]),
        paths: Vec::new(),
        verify: vec![command],
        line,
        text,
    }
}
