//! Commands under a second name at the top level, which has no room for more commands.

use std::ffi::OsString;

use clap::Command;

/// The second name, and the words that the parser knows.
const ALIASES: [(&str, [&str; 2]); 4] = [
    ("redo", ["undo", "--redo"]),
    ("handoff", ["run", "handoff"]),
    ("blame", ["run", "blame"]),
    ("bisect", ["run", "bisect"]),
];

/// Returns the words that an alias stands for.
pub(super) fn meaning(word: &str) -> Option<[&'static str; 2]> {
    let found = ALIASES.iter().find(|(alias, _)| word == *alias);
    found.map(|(_, words)| *words)
}

/// Replaces an alias in the place of the command.
pub(super) fn expand(arguments: &[OsString], command: &Command) -> Vec<OsString> {
    let takes_value = |word: &str| {
        let mut options = command
            .get_arguments()
            .filter(|it| it.get_action().takes_values());
        options.any(|it| {
            let long = it.get_long().map(|name| format!("--{name}"));
            let short = it.get_short().map(|name| format!("-{name}"));
            long.as_deref() == Some(word) || short.as_deref() == Some(word)
        })
    };
    let mut expanded = arguments.to_vec();
    let mut words = arguments.iter().enumerate().skip(1);
    while let Some((position, word)) = words.next() {
        let word = word.to_string_lossy();
        if takes_value(&word) {
            words.next();
        } else if !word.starts_with('-') {
            if let Some(words) = meaning(&word) {
                expanded.splice(position..=position, words.map(OsString::from));
            }
            break;
        }
    }
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
        let words = expand(&words, &crate::commands::help::command());
        let words: Vec<_> = words.iter().map(|it| it.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn redo_is_found_behind_global_options_and_nowhere_else() {
        assert_eq!(expanded("ken redo"), "ken undo --redo");
        assert_eq!(
            expanded("ken -q --by human:ada redo --format json"),
            "ken -q --by human:ada undo --redo --format json"
        );
        for same in ["ken -C redo undo", "ken search redo", "ken help redo"] {
            assert_eq!(expanded(same), same);
        }
    }
}
