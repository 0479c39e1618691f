//! The user's editor: `$VISUAL`, else `$EDITOR`.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::process::Command;

use crate::failure::CommandFailure;

/// Start of lines that are instructions and not part of the text.
const COMMENT: char = '#';

/// Returns whether a person can use an editor: standard input and output are a terminal.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Opens the editor with `template` and returns the text without comments; empty if there is none.
pub(crate) fn compose(path: &Path, template: &str) -> Result<String, CommandFailure> {
    let failed = |error: &io::Error| {
        CommandFailure::io(format_args!("cannot use `{}`", path.display()), error)
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    }
    fs::write(path, template).map_err(|error| failed(&error))?;
    let edited = edit(path).and_then(|()| fs::read_to_string(path).map_err(|error| failed(&error)));
    // Removed in any case: the text may contain what the guard refuses.
    let removed = fs::remove_file(path);
    let text = edited?;
    removed.map_err(|error| failed(&error))?;
    let lines = text.lines().filter(|line| !line.starts_with(COMMENT));
    Ok(lines.collect::<Vec<_>>().join("\n").trim().to_owned())
}

/// Opens the editor on a file and waits until it is closed.
pub(crate) fn edit(path: &Path) -> Result<(), CommandFailure> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).ok_or_else(|| {
        CommandFailure::usage("no editor is configured")
            .with_hint("set the environment variable VISUAL or EDITOR, such as `export EDITOR=vi`")
    })?;
    let status = command(&editor, path).status().map_err(|error| {
        CommandFailure::io(format_args!("cannot start `{}`", editor.display()), &error)
    })?;
    if !status.success() {
        let message = format!(
            "the editor `{}` failed; nothing was recorded",
            editor.display()
        );
        return Err(CommandFailure::usage(message));
    }
    Ok(())
}

/// Returns the command of an editor, which may have arguments: `code --wait`.
fn command(editor: &OsString, path: &Path) -> Command {
    if cfg!(windows) {
        let text = editor.to_string_lossy();
        let mut words = text.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).arg(path);
        return command;
    }
    // As git does it: the shell splits the arguments, and the path needs no quoting.
    let mut script = editor.clone();
    script.push(" \"$@\"");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(editor).arg(path);
    command
}
