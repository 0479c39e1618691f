//! The only road to stdout and stderr.
//!
//! stdout is data, stderr is talk. Text for people or, with `--format json`, one versioned object
//! a line. Nothing relies on colour.

pub(crate) mod answer_json;
pub(crate) mod audit;
pub(crate) mod entry_text;
pub(crate) mod event_text;
pub(crate) mod gate;
pub(crate) mod hits;
mod notice;
pub(crate) mod progress;
pub(crate) mod run_text;
pub(crate) mod sarif;
pub(crate) mod stats_text;
pub(crate) mod table;
pub(crate) mod worth;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::{Display, Write as _};
use std::io::{self, IsTerminal as _, Write as _};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::error::ErrorKind;
use ken_engine::guard::without_secrets;
use ken_engine::notice::Notice;
use serde::Serialize;

use crate::args::{Color, Format, Global};
use crate::failure::{Exit, Failure};

pub(crate) use ken_core::text::visible;
pub(crate) use table::{Cell, Table, cut, wrap};

/// Columns where there is no terminal to ask.
const WIDTH_DEFAULT: usize = 100;
/// Narrower than this nothing is laid out.
const WIDTH_MIN: usize = 40;
/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 64 * 1024;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();

/// Writes answers and talk.
#[derive(Debug)]
pub(crate) struct Printer {
    format: Option<Format>,
    quiet: bool,
    waiting: String,
    out: AutoStream<io::Stdout>,
    err: AutoStream<io::Stderr>,
}

/// An error as programs read it.
#[derive(Serialize)]
struct ErrorObject<'a> {
    schema: &'static str,
    code: &'a str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    candidates: &'a [String],
}

/// A notice as programs read it.
#[derive(Serialize)]
struct NoticeObject<'a> {
    schema: &'static str,
    message: &'a str,
}

impl Printer {
    pub(crate) fn new(global: &Global) -> Self {
        let (out, err) = streams(global.color);
        Self {
            format: global.format,
            quiet: global.quiet,
            waiting: String::new(),
            out,
            err,
        }
    }

    /// Returns whether answers are JSON, `default` deciding where nothing was asked for.
    pub(crate) fn is_json(&self, default: Format) -> bool {
        self.format.unwrap_or(default) == Format::Json
    }

    /// Returns what was asked for, text where nothing was.
    pub(crate) fn format(&self) -> Format {
        self.format.unwrap_or(Format::Text)
    }

    /// Returns whether progress and other talk for people at a terminal is welcome.
    pub(crate) fn is_lively(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Returns whether somebody looks at the answer on a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.out.is_terminal()
    }

    /// Returns whether answers have colour.
    pub(crate) fn is_coloured(&self) -> bool {
        self.out.current_choice() != ColorChoice::Never
    }

    /// Returns how many columns an answer may have.
    pub(crate) fn width(&self) -> usize {
        let size = terminal_size::terminal_size_of(io::stdout());
        size.map_or(WIDTH_DEFAULT, |(width, _)| usize::from(width.0))
            .max(WIDTH_MIN)
    }

    /// Writes a line of the answer.
    pub(crate) fn line(&mut self, text: impl Display) -> Result<(), Failure> {
        self.text(format_args!("{text}\n"))
    }

    /// Writes a text of the answer as it stands.
    pub(crate) fn text(&mut self, text: impl Display) -> Result<(), Failure> {
        let _ = write!(self.waiting, "{text}");
        if BUFFER_BYTES <= self.waiting.len() {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes one object of the answer.
    pub(crate) fn json(&mut self, object: &impl Serialize) -> Result<(), Failure> {
        let text =
            serde_json::to_string(object).map_err(|e| Failure::output(&io::Error::other(e)))?;
        self.line(text)
    }

    /// Writes what has gathered.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let text = std::mem::take(&mut self.waiting);
        let written = self
            .out
            .write_all(text.as_bytes())
            .and_then(|()| self.out.flush());
        written.map_err(|e| Failure::output(&e))
    }

    /// Says what was done, to people only.
    pub(crate) fn talk(&mut self, text: impl Display) -> Result<(), Failure> {
        if self.quiet || self.is_json(Format::Text) {
            return Ok(());
        }
        self.flush()?;
        self.say(&format!("{}\n", visible(&text.to_string())));
        Ok(())
    }

    /// Asks a person and returns the answer; nothing answered is an end of input, which is no.
    pub(crate) fn ask(&mut self, question: &str) -> Result<String, Failure> {
        self.flush()?;
        self.say(question);
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        match read.map_err(|e| Failure::io("cannot read the answer", &e))? {
            0 => Ok("no".to_owned()),
            _ => Ok(line.trim().to_owned()),
        }
    }

    /// Says what to do next, to people only.
    pub(crate) fn hint(&mut self, text: impl Display) -> Result<(), Failure> {
        if self.quiet || self.is_json(Format::Text) {
            return Ok(());
        }
        self.flush()?;
        self.say(&format!(
            "{} {}\n",
            styled(GOOD, "hint:"),
            visible(&text.to_string())
        ));
        Ok(())
    }

    /// Tells what happened beside the answer.
    pub(crate) fn notices(&mut self, notices: &[Notice]) -> Result<(), Failure> {
        for notice in notices {
            self.note(&notice::words(notice))?;
        }
        Ok(())
    }

    /// Tells one thing beside the answer.
    pub(crate) fn note(&mut self, text: &str) -> Result<(), Failure> {
        if self.quiet {
            return Ok(());
        }
        self.flush()?;
        let line = note_line(text, self.is_json(Format::Text));
        self.say(&line);
        Ok(())
    }

    /// Returns what tells something beside the answer while the printer is in other hands.
    pub(crate) fn aside(&self) -> Aside {
        match (self.quiet, self.is_json(Format::Text)) {
            (true, _) => Aside::Silent,
            (false, true) => Aside::Objects,
            (false, false) => Aside::Words,
        }
    }

    /// Ends the program's output with how the command went.
    pub(crate) fn finish(mut self, outcome: Result<Exit, Failure>) -> Exit {
        let outcome = outcome.and_then(|exit| self.flush().map(|()| exit));
        match outcome {
            Ok(exit) => exit,
            Err(failure) => {
                let failure = failure.without_secrets();
                if !failure.is_closed_pipe {
                    let _ = self.flush();
                    let text = self.failure_text(&failure);
                    self.say(&text);
                }
                failure.exit
            }
        }
    }

    fn failure_text(&self, failure: &Failure) -> String {
        if self.is_json(Format::Text) {
            return error_line(failure);
        }
        let message = visible(&failure.message);
        let mut text = format!("{} {message}\n", styled(BAD.bold(), "error:"));
        for cause in &failure.causes {
            let _ = writeln!(text, "  because: {}", visible(cause));
        }
        if let Some(hint) = &failure.hint {
            let _ = writeln!(text, "\n{} {}", styled(GOOD, "hint:"), visible(hint));
        }
        text
    }

    /// A terminal that is gone cannot be told so.
    fn say(&mut self, text: &str) {
        let _ = self.err.write_all(text.as_bytes());
    }
}

/// How something is told beside the answer before the command comes back to its printer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Aside {
    Silent,
    /// As objects, for programs.
    Objects,
    Words,
}

impl Aside {
    /// Tells one thing, at once.
    pub(crate) fn note(self, text: &str) {
        let line = match self {
            Self::Silent => return,
            Self::Objects => note_line(text, true),
            Self::Words => note_line(text, false),
        };
        let _ = anstream::stderr().write_all(line.as_bytes());
    }
}

fn note_line(text: &str, is_json: bool) -> String {
    if !is_json {
        return format!("{} {}\n", styled(WARN, "note:"), visible(text));
    }
    let object = NoticeObject {
        schema: "ken.notice.v1",
        message: text,
    };
    serde_json::to_string(&object).unwrap_or_default() + "\n"
}

/// Writes a whole answer to whoever waits for it, and nothing else, ever; one that went away is no failure.
pub(crate) fn answer(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Tells a person something where there is no printer yet.
pub(crate) fn aside(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints what clap has to say: help, the version, or what was typed wrongly.
pub(crate) fn usage(error: &clap::Error, arguments: &[OsString]) -> Exit {
    let is_json = arguments
        .windows(2)
        .any(|pair| pair[0] == "--format" && pair[1] == "json")
        || arguments.iter().any(|argument| argument == "--format=json");
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        let _ = error.print();
        return Exit::Fine;
    }
    if is_json {
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
        let tip = rest
            .lines()
            .find_map(|line| line.trim().strip_prefix("tip: "));
        let hint = tip.unwrap_or("`ken COMMAND --help` shows what can be given");
        let failure = Failure::usage(message.trim())
            .with_hint(hint)
            .without_secrets();
        let _ = io::stderr().write_all(error_line(&failure).as_bytes());
    } else {
        let text = error.to_string();
        // What was typed is repeated, and may have been a secret.
        match without_secrets(&text) {
            Cow::Borrowed(_) => drop(error.print()),
            Cow::Owned(text) => drop(io::stderr().write_all(text.as_bytes())),
        }
    }
    Exit::Failed
}

fn error_line(failure: &Failure) -> String {
    let causes = failure.causes.iter().map(|cause| format!(": {cause}"));
    let object = ErrorObject {
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

/// Puts `text` in a style; the stream takes it out again where there is no colour.
pub(crate) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Returns `count` and the right form of a noun.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
