//! Classification of errors: an exit code, a code for programs and a hint.
//!
//! Every error becomes one sentence with its causes; [`Printer`](crate::print::Printer) prints it.
//! A closed pipe is not a failure.

use std::borrow::Cow;
use std::error::Error as _;
use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use ken_core::decide::Refusal;
use ken_core::values::kind::EntryKind;
use ken_engine::guard::without_secrets;
use ken_engine::remote::RemoteError;
use ken_engine::{EngineError, ErrorKind};

use crate::args::values::detail_example;

/// The exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandExit {
    Fine = 0,
    /// Findings, or the request was refused.
    Refused = 1,
    /// Invalid usage, or an internal error.
    Failed = 2,
    /// The stored data is damaged.
    Damaged = 3,
}

impl From<CommandExit> for ExitCode {
    fn from(exit: CommandExit) -> Self {
        Self::from(exit as u8)
    }
}

/// A failed command.
#[derive(Debug)]
pub(crate) struct CommandFailure {
    pub(crate) exit: CommandExit,
    /// A stable code for programs.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) causes: Vec<String>,
    pub(crate) hint: Option<String>,
    /// Entries that an ambiguous id matches.
    pub(crate) candidates: Vec<String>,
    /// True if the reader closed the output pipe.
    pub(crate) is_closed_pipe: bool,
}

impl CommandFailure {
    /// Creates a failure for invalid usage.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(CommandExit::Failed, "usage", format!("{message}"))
    }

    /// Creates a failure for a refused request.
    pub(crate) fn refused(code: &'static str, message: impl Display) -> Self {
        Self::new(CommandExit::Refused, code, format!("{message}"))
    }

    /// Creates a failure for text that is not JSON or has the wrong structure.
    pub(crate) fn json(error: &serde_json::Error) -> Self {
        let full = error.to_string();
        // The input is one argument or one line, so the line number says nothing.
        let text = full.split(" at line ").next().unwrap_or_default();
        if error.is_data() {
            return Self::usage(text);
        }
        Self::usage(format!("invalid JSON: {text} at column {}", error.column()))
    }

    /// Removes secrets that the user's input may have contained.
    pub(crate) fn without_secrets(mut self) -> Self {
        // The text is replaced only if a secret was found, which avoids a copy in the usual case.
        fn clean(text: &mut String) {
            if let Cow::Owned(clean) = without_secrets(text) {
                *text = clean;
            }
        }
        clean(&mut self.message);
        self.causes.iter_mut().for_each(clean);
        self.hint.iter_mut().for_each(clean);
        self.candidates.iter_mut().for_each(clean);
        self
    }

    /// Creates a failure of an I/O operation.
    pub(crate) fn io(doing: impl Display, source: &io::Error) -> Self {
        let mut failure = Self::new(CommandExit::Failed, "io", format!("{doing}"));
        failure.causes.push(source.to_string());
        failure
    }

    /// Creates a failure to write the output.
    pub(crate) fn output(source: &io::Error) -> Self {
        let mut failure = Self::io("cannot write the output", source);
        // As in `ken list | head`: the reader has enough, so the command succeeded.
        if source.kind() == io::ErrorKind::BrokenPipe {
            failure.is_closed_pipe = true;
            failure.exit = CommandExit::Fine;
        }
        failure
    }

    /// Adds a hint.
    pub(crate) fn with_hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(format!("{hint}"));
        self
    }

    /// Prepends the location in the input to the message.
    pub(crate) fn at(mut self, location: impl Display) -> Self {
        self.message = format!("{location}: {}", self.message);
        self
    }

    fn new(exit: CommandExit, code: &'static str, message: String) -> Self {
        Self {
            exit,
            code,
            message,
            causes: Vec::new(),
            hint: None,
            candidates: Vec::new(),
            is_closed_pipe: false,
        }
    }
}

impl From<EngineError> for CommandFailure {
    fn from(error: EngineError) -> Self {
        let exit = match error.kind() {
            ErrorKind::User | ErrorKind::Internal => CommandExit::Failed,
            // A busy ledger is not a failure of the command: the same call succeeds later.
            ErrorKind::Refused | ErrorKind::Busy => CommandExit::Refused,
            ErrorKind::Damaged => CommandExit::Damaged,
        };
        let mut failure = Self::new(exit, error_code(&error), error.to_string());
        // The causes are kept separately, so that text shows one per line and JSON one sentence.
        let mut source = error.source();
        while let Some(cause) = source {
            failure.causes.push(cause.to_string());
            source = cause.source();
        }
        // The engine knows the details of the error and its hint wins.
        failure.hint = error.hint().or_else(|| cli_hint(&error));
        if let EngineError::Ambiguous { candidates, .. } = &error {
            failure.candidates = candidates.iter().map(ToString::to_string).collect();
        }
        failure
    }
}

impl From<Refusal> for CommandFailure {
    fn from(refusal: Refusal) -> Self {
        EngineError::from(refusal).into()
    }
}

/// Returns the stable code for programs.
fn error_code(error: &EngineError) -> &'static str {
    match error {
        EngineError::NotInitialized => "not_initialized",
        EngineError::TooNew { .. } => "too_new",
        EngineError::Refused(refusal) => refusal_code(refusal),
        EngineError::RejectedByGuard(_) => "guarded",
        EngineError::QualityTooLow { .. } => "worthless",
        EngineError::NotFound(_) => "not_found",
        EngineError::Ambiguous { .. } => "ambiguous",
        EngineError::NoSuchEvent(_) => "no_such_event",
        EngineError::TooLarge(_) => "too_large",
        EngineError::Usage(_) => "usage",
        EngineError::Model(_) => "model",
        EngineError::Judge(_) => "judge",
        EngineError::Remote(RemoteError::Hub { .. }) => "hub",
        EngineError::Remote(RemoteError::Busy { .. }) => "busy",
        EngineError::Remote(_) => "remote",
        EngineError::Federation(_) => "federation",
        EngineError::UnsupportedByCode { .. } => "ungrounded",
        EngineError::DanglingCitation { .. } => "dangling_citation",
        EngineError::BulkDeletion { .. } => "bulk_loss",
        EngineError::ArtifactMismatch(_) => "other_artifact",
        EngineError::Signature(_) => "signature",
        EngineError::Disk(_)
        | EngineError::Append(_)
        | EngineError::Read(_)
        | EngineError::Replace(_)
        | EngineError::Recover(_)
        | EngineError::Place(_)
        | EngineError::Git(_)
        | EngineError::Tree(_)
        | EngineError::Index(_)
        | EngineError::Damaged { .. } => match error.kind() {
            ErrorKind::Busy => "busy",
            ErrorKind::Damaged => "damaged",
            ErrorKind::User | ErrorKind::Refused | ErrorKind::Internal => "internal",
        },
    }
}

fn refusal_code(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::ProvenanceRequired => "provenance_required",
        Refusal::TooMany { .. } | Refusal::TooManySentences { .. } => "too_many",
        Refusal::DetailMissing { .. } | Refusal::DetailMisplaced { .. } => "detail",
        Refusal::NotADomain(_) => "not_a_domain",
        Refusal::Condition(_) => "condition",
        Refusal::Check(_) => "check",
        Refusal::ReadOnly(_) => "read_only",
        Refusal::NoContent(_) => "no_content",
        Refusal::AlreadyRetracted(_)
        | Refusal::AlreadyArchived(_)
        | Refusal::AlreadyRedacted(_)
        | Refusal::NothingToRestore(_)
        | Refusal::NotQuarantined(_)
        | Refusal::AlreadyRevoked(_)
        | Refusal::NotRevoked(_)
        | Refusal::NotStuck(_)
        | Refusal::MergedAlready { .. }
        | Refusal::NotInUse(_)
        | Refusal::NothingChanges => "nothing_changes",
        Refusal::TooFewSources { .. } | Refusal::NotDistillable(_) => "not_distillable",
        Refusal::SelfLink | Refusal::SelfMerge => "self_link",
        Refusal::Quarantined(_) => "quarantined",
        Refusal::PersonNeeded { .. } | Refusal::ProtectedContent { .. } => "person_needed",
        Refusal::CannotUndo { .. } => "cannot_undo",
        Refusal::Tombstone { .. } => "tombstone",
        Refusal::DirectionalFlow { .. } => "directional_flow",
        Refusal::Unfit { .. } => "unfit",
        Refusal::OneProject(_) => "one_project",
        Refusal::OwnContent { .. } => "own_words",
        Refusal::NotPending(_) => "nothing_changes",
        Refusal::ApprovalNeeded(_) => "approval_needed",
        Refusal::NotShown { .. } => "not_shown",
    }
}

/// Returns a hint for errors where the engine, which knows no command line, has none.
fn cli_hint(error: &EngineError) -> Option<String> {
    let text = match error {
        EngineError::Refused(refusal) => return refusal_hint(refusal),
        EngineError::NoSuchEvent(_) => "`ken log ID` lists the events of an entry",
        EngineError::TooLarge(_) => "shorten the text, or cite a document that contains it",
        EngineError::Git(_) => "run `ken doctor` to check the installation",
        EngineError::NotInitialized
        | EngineError::TooNew { .. }
        | EngineError::RejectedByGuard(_)
        | EngineError::QualityTooLow { .. }
        | EngineError::NotFound(_)
        | EngineError::Ambiguous { .. }
        | EngineError::Usage(_)
        | EngineError::Model(_)
        | EngineError::Judge(_)
        | EngineError::Remote(_)
        | EngineError::Federation(_)
        | EngineError::BulkDeletion { .. }
        | EngineError::ArtifactMismatch(_)
        | EngineError::Signature(_)
        | EngineError::Disk(_)
        | EngineError::Append(_)
        | EngineError::Read(_)
        | EngineError::Replace(_)
        | EngineError::Recover(_)
        | EngineError::Place(_)
        | EngineError::Tree(_)
        | EngineError::UnsupportedByCode { .. }
        | EngineError::DanglingCitation { .. }
        | EngineError::Index(_)
        | EngineError::Damaged { .. } => return None,
    };
    Some(text.to_owned())
}

/// Returns a hint for a refused operation.
fn refusal_hint(refusal: &Refusal) -> Option<String> {
    let text = match refusal {
        Refusal::TooMany { .. } | Refusal::TooManySentences { .. } => {
            "split it into several entries and `ken entry link` them"
        }
        Refusal::DetailMissing { kind, .. } => {
            let kind = kind.parse::<EntryKind>().ok()?;
            return Some(format!("add {}", detail_example(kind)?));
        }
        Refusal::CannotUndo { .. } => {
            "`ken undo --list` lists your steps; `ken undo STEP` undoes one of them"
        }
        Refusal::ReadOnly(_) => "install a newer ken",
        Refusal::AlreadyRetracted(id) | Refusal::AlreadyArchived(id) => {
            return Some(format!("`ken restore {id}` restores it"));
        }
        Refusal::PersonNeeded { .. } => "ask a person to run this command",
        Refusal::ProtectedContent { entry, .. } => {
            return Some(format!(
                "propose your version with `ken add`, or ask a person to edit {entry}"
            ));
        }
        Refusal::Tombstone { entry, .. } => {
            return Some(format!("`ken show {entry}` shows who retracted it and why"));
        }
        Refusal::Quarantined(id) => {
            return Some(format!(
                "`ken guard quarantine release {id} --reason …` releases it"
            ));
        }
        Refusal::DirectionalFlow { .. } => {
            "propose it and let a person approve it: `ken entry promote ENTRY --to procedural --as KIND --statement TEXT`"
        }
        Refusal::Unfit { why, .. } if why.may_be_overridden() => {
            "a person can promote it with `--anyway`"
        }
        Refusal::OneProject(_) => "a person can promote it with `--anyway`",
        Refusal::OwnContent { entry, .. } => {
            return Some(format!(
                "ask another person to run `ken inbox approve {entry}`"
            ));
        }
        Refusal::ApprovalNeeded(id) => {
            return Some(format!("`ken inbox approve {id}` approves it"));
        }
        Refusal::ProvenanceRequired
        | Refusal::NotADomain(_)
        | Refusal::DetailMisplaced { .. }
        | Refusal::Condition(_)
        | Refusal::Check(_)
        | Refusal::NoContent(_)
        | Refusal::AlreadyRedacted(_)
        | Refusal::NothingToRestore(_)
        | Refusal::NotQuarantined(_)
        | Refusal::AlreadyRevoked(_)
        | Refusal::NotRevoked(_)
        | Refusal::NotStuck(_)
        | Refusal::MergedAlready { .. }
        | Refusal::NotInUse(_)
        | Refusal::NothingChanges
        | Refusal::TooFewSources { .. }
        | Refusal::NotDistillable(_)
        | Refusal::SelfLink
        | Refusal::SelfMerge
        | Refusal::Unfit { .. }
        | Refusal::NotPending(_)
        | Refusal::NotShown { .. } => return None,
    };
    Some(text.to_owned())
}
