//! Output: the only way to stdout and stderr.
//!
//! Results go to stdout, everything else to stderr. Results are text or, with `--format json`, one
//! versioned object per line. Nothing depends on color.

pub(crate) mod answer_json;
pub(crate) mod audit;
pub(crate) mod entry_text;
pub(crate) mod event_text;
pub(crate) mod exposure_text;
pub(crate) mod gate;
pub(crate) mod hits;
pub(crate) mod impact;
mod notice;
pub(crate) mod progress;
pub(crate) mod run_text;
pub(crate) mod sarif;
pub(crate) mod stats_text;
pub(crate) mod table;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::{Display, Write as _};
use std::io::{self, IsTerminal as _, Write as _};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use ken_engine::guard::without_secrets;
use ken_engine::notice::EngineNotice;
use serde::Serialize;

use crate::args::{Color, Format, Global};
use crate::commands::help::hint_for_other_name;
use crate::failure::{CommandExit, CommandFailure};

pub(crate) use ken_core::values::text::escape_invisible;
pub(crate) use table::{TableCell, TextTable, truncate_columns, wrap};

/// Width if the output is not a terminal.
const WIDTH_DEFAULT: usize = 100;
/// Minimum width of a layout.
const WIDTH_MIN: usize = 40;
/// Number of bytes buffered before they are written.
const BUFFER_BYTES: usize = 64 * 1024;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();

/// Writes results, messages and notices.
#[derive(Debug)]
pub(crate) struct Printer {
    format: Option<Format>,
    quiet: bool,
    waiting: String,
    out: AutoStream<io::Stdout>,
    err: AutoStream<io::Stderr>,
}

/// An error as JSON.
#[derive(Serialize)]
struct ErrorJson<'a> {
    schema: &'static str,
    code: &'a str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    candidates: &'a [String],
}

/// A notice as JSON.
#[derive(Serialize)]
struct NoticeJson<'a> {
    schema: &'static str,
    message: &'a str,
}

impl Printer {
    pub(crate) fn new(global: &Global) -> Self {
        let (out, err) = streams(global.color);
        Self {
            format: global.format.or(global.json.then_some(Format::Json)),
            quiet: global.quiet,
            waiting: String::new(),
            out,
            err,
        }
    }

    /// Returns true if results are JSON; `default` applies if no format was requested.
    pub(crate) fn is_json(&self, default: Format) -> bool {
        self.format.unwrap_or(default) == Format::Json
    }

    /// Returns the requested format, or text.
    pub(crate) fn format(&self) -> Format {
        self.format.unwrap_or(Format::Text)
    }

    /// Returns true if progress may be shown: stderr is a terminal, and the output is for a person.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && !self.is_json(Format::Text) && io::stderr().is_terminal()
    }

    /// Returns true if only results and errors are printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns true if stdout is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.out.is_terminal()
    }

    /// Returns true if results are colored.
    pub(crate) fn is_colored(&self) -> bool {
        self.out.current_choice() != ColorChoice::Never
    }

    /// Returns the width for results.
    pub(crate) fn width(&self) -> usize {
        let size = terminal_size::terminal_size_of(io::stdout());
        size.map_or(WIDTH_DEFAULT, |(width, _)| usize::from(width.0))
            .max(WIDTH_MIN)
    }

    /// Writes a line of the result.
    pub(crate) fn line(&mut self, text: impl Display) -> Result<(), CommandFailure> {
        self.text(format_args!("{text}\n"))
    }

    /// Writes text of the result without a newline.
    pub(crate) fn text(&mut self, text: impl Display) -> Result<(), CommandFailure> {
        let _ = write!(self.waiting, "{text}");
        if self.waiting.len() >= BUFFER_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes one JSON object of the result.
    pub(crate) fn json(&mut self, object: &impl Serialize) -> Result<(), CommandFailure> {
        let text = serde_json::to_string(object)
            .map_err(|e| CommandFailure::output(&io::Error::other(e)))?;
        self.line(text)
    }

    /// Writes the buffer.
    pub(crate) fn flush(&mut self) -> Result<(), CommandFailure> {
        let text = std::mem::take(&mut self.waiting);
        // Written through `AutoStream`, which strips styles if the stream has no color.
        let written = self
            .out
            .write_all(text.as_bytes())
            .and_then(|()| self.out.flush());
        written.map_err(|e| CommandFailure::output(&e))
    }

    /// Prints a message for people; nothing with `--quiet` or JSON.
    pub(crate) fn talk(&mut self, text: impl Display) -> Result<(), CommandFailure> {
        // Programs read stderr as JSON lines; free text would break their parser.
        if self.quiet || self.is_json(Format::Text) {
            return Ok(());
        }
        self.flush()?;
        // Flushed first, so that both streams appear in order on a terminal.
        self.say(&format!("{}\n", escape_invisible(&text.to_string())));
        Ok(())
    }

    /// Asks the user a question and returns the answer. The end of the input counts as "no".
    pub(crate) fn ask(&mut self, question: &str) -> Result<String, CommandFailure> {
        self.flush()?;
        self.say(question);
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        match read.map_err(|e| CommandFailure::io("cannot read the answer", &e))? {
            0 => Ok("no".to_owned()),
            _ => Ok(line.trim().to_owned()),
        }
    }

    /// Prints a hint for people; nothing with `--quiet` or JSON.
    pub(crate) fn hint(&mut self, text: impl Display) -> Result<(), CommandFailure> {
        if self.quiet || self.is_json(Format::Text) {
            return Ok(());
        }
        self.flush()?;
        self.say(&format!(
            "{} {}\n",
            styled(GOOD, "hint:"),
            escape_invisible(&text.to_string())
        ));
        Ok(())
    }

    /// Prints notices of the engine.
    pub(crate) fn notices(&mut self, notices: &[EngineNotice]) -> Result<(), CommandFailure> {
        for notice in notices {
            self.note(&notice::notice_text(notice))?;
        }
        Ok(())
    }

    /// Prints one notice.
    pub(crate) fn note(&mut self, text: &str) -> Result<(), CommandFailure> {
        if self.quiet {
            return Ok(());
        }
        self.flush()?;
        let line = notice_line(text, self.is_json(Format::Text));
        self.say(&line);
        Ok(())
    }

    /// Returns a way to print notices while the printer is borrowed.
    pub(crate) fn aside(&self) -> NoticeWriter {
        match (self.quiet, self.is_json(Format::Text)) {
            (true, _) => NoticeWriter::Silent,
            (false, true) => NoticeWriter::Objects,
            (false, false) => NoticeWriter::Words,
        }
    }

    /// Writes the rest of the output and the failure, if any; returns the exit code.
    pub(crate) fn finish(mut self, outcome: Result<CommandExit, CommandFailure>) -> CommandExit {
        let outcome = outcome.and_then(|exit| self.flush().map(|()| exit));
        match outcome {
            Ok(exit) => exit,
            Err(failure) => {
                let failure = failure.without_secrets();
                // Messages repeat what the user typed, which may contain a secret.
                if !failure.is_closed_pipe {
                    let _ = self.flush();
                    let text = self.failure_text(&failure);
                    self.say(&text);
                }
                failure.exit
            }
        }
    }

    fn failure_text(&self, failure: &CommandFailure) -> String {
        if self.is_json(Format::Text) {
            return error_line(failure);
        }
        let message = escape_invisible(&failure.message);
        let mut text = format!("{} {message}\n", styled(BAD.bold(), "error:"));
        for cause in &failure.causes {
            let _ = writeln!(text, "  because: {}", escape_invisible(cause));
        }
        if let Some(hint) = &failure.hint {
            let _ = writeln!(
                text,
                "\n{} {}",
                styled(GOOD, "hint:"),
                escape_invisible(hint)
            );
        }
        text
    }

    /// Writes to stderr. Errors are ignored: there is no other stream to report them on.
    fn say(&mut self, text: &str) {
        let _ = self.err.write_all(text.as_bytes());
    }
}

/// Prints notices without a printer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoticeWriter {
    Silent,
    /// As JSON objects, for programs.
    Objects,
    Words,
}

impl NoticeWriter {
    /// Prints one notice immediately.
    pub(crate) fn note(self, text: &str) {
        let line = match self {
            Self::Silent => return,
            Self::Objects => notice_line(text, true),
            Self::Words => notice_line(text, false),
        };
        let _ = anstream::stderr().write_all(line.as_bytes());
    }
}

fn notice_line(text: &str, is_json: bool) -> String {
    if !is_json {
        return format!("{} {}\n", styled(WARN, "note:"), escape_invisible(text));
    }
    let object = NoticeJson {
        schema: "ken.notice.v1",
        message: text,
    };
    serde_json::to_string(&object).unwrap_or_default() + "\n"
}

/// Writes a complete hook response to stdout. A closed pipe is not an error.
pub(crate) fn write_answer(text: &str) {
    let mut out = io::stdout().lock();
    // Not through the printer: a hook's stdout is a protocol and must contain nothing else.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints a message to stderr before a printer exists.
pub(crate) fn write_stderr_line(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints clap's output: help, the version or a usage error.
pub(crate) fn print_usage(error: &clap::Error, arguments: &[OsString]) -> CommandExit {
    // Parsing failed, so the format has to be read from the raw arguments.
    let is_json = arguments
        .windows(2)
        .any(|pair| pair[0] == "--format" && pair[1] == "json")
        || arguments
            .iter()
            .any(|argument| argument == "--format=json" || argument == "--json");
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        // clap selects stdout for help and the version.
        let _ = error.print();
        return CommandExit::Fine;
    }
    if is_json {
        let full = error.to_string();
        let text = full.strip_prefix("error: ").unwrap_or(&full);
        let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
        let tip = rest
            .lines()
            .find_map(|line| line.trim().strip_prefix("tip: "));
        let hint = other_name_hint(error)
            .or(tip)
            .unwrap_or("`ken COMMAND --help` lists the arguments");
        let failure = CommandFailure::usage(message.trim())
            .with_hint(hint)
            .without_secrets();
        let _ = io::stderr().write_all(error_line(&failure).as_bytes());
    } else {
        let text = error.to_string();
        // The message repeats the arguments, which may contain a secret. clap's own output, which
        // has color, is used only if there is none.
        match without_secrets(&text) {
            Cow::Borrowed(_) => drop(error.print()),
            Cow::Owned(clean) => drop(io::stderr().write_all(clean.as_bytes())),
        }
        if let Some(hint) = other_name_hint(error) {
            let _ = writeln!(io::stderr(), "hint: {hint}");
        }
    }
    CommandExit::Failed
}

/// Returns the hint for a command that Ken has under another name.
fn other_name_hint(error: &clap::Error) -> Option<&'static str> {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => hint_for_other_name(word),
        Some(_) | None => None,
    }
}

fn error_line(failure: &CommandFailure) -> String {
    let causes = failure.causes.iter().map(|cause| format!(": {cause}"));
    let object = ErrorJson {
        schema: "ken.error.v1",
        code: failure.code,
        message: std::iter::once(failure.message.clone())
            .chain(causes)
            .collect(),
        hint: failure.hint.as_deref(),
        candidates: &failure.candidates,
    };
    serde_json::to_string(&object).unwrap_or_default() + "\n"
}

fn streams(color: Color) -> (AutoStream<io::Stdout>, AutoStream<io::Stderr>) {
    let choice = match color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    (
        AutoStream::new(io::stdout(), choice),
        AutoStream::new(io::stderr(), choice),
    )
}

/// Applies a style; the stream removes it again if color is off.
pub(crate) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Returns `count` with the singular or plural of a noun.
pub(crate) fn pluralize(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
