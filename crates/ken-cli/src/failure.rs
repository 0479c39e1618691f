//! Sorts everything that can go wrong into an exit code, a code for programs and a hint.
//!
//! Every error ends here as one sentence with its causes; [`Printer`](crate::print::Printer)
//! prints it. A reader that closed the pipe is no failure.

use std::borrow::Cow;
use std::error::Error as _;
use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use ken_core::decide::Refusal;
use ken_engine::guard::without_secrets;
use ken_engine::remote::RemoteError;
use ken_engine::{Error, Kind};

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Fine = 0,
    /// Findings, or the answer is no.
    Refused = 1,
    /// Asked wrongly, or we failed.
    Failed = 2,
    /// The stored data needs a look.
    Damaged = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// A stable word for programs.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) causes: Vec<String>,
    pub(crate) hint: Option<String>,
    /// Entries an ambiguous id could mean.
    pub(crate) candidates: Vec<String>,
    /// Whoever read our output went away.
    pub(crate) is_closed_pipe: bool,
}

impl Failure {
    /// The command was asked for wrongly.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(Exit::Failed, "usage", format!("{message}"))
    }

    /// The answer is no.
    pub(crate) fn refused(code: &'static str, message: impl Display) -> Self {
        Self::new(Exit::Refused, code, format!("{message}"))
    }

    /// A text that should be JSON is not, or not of the right shape.
    pub(crate) fn json(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        let text = text.split(" at line ").next().unwrap_or_default();
        if error.is_data() {
            return Self::usage(text);
        }
        Self::usage(format!("not JSON: {text} at column {}", error.column()))
    }

    /// Returns this failure without the secrets that what was typed may have had in it.
    pub(crate) fn without_secrets(mut self) -> Self {
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

    /// Something outside failed.
    pub(crate) fn io(doing: impl Display, source: &io::Error) -> Self {
        let mut failure = Self::new(Exit::Failed, "io", format!("{doing}"));
        failure.causes.push(source.to_string());
        failure
    }

    /// Our own output could not be written.
    pub(crate) fn output(source: &io::Error) -> Self {
        let mut failure = Self::io("cannot write the answer", source);
        if source.kind() == io::ErrorKind::BrokenPipe {
            failure.is_closed_pipe = true;
            failure.exit = Exit::Fine;
        }
        failure
    }

    /// Adds what to do next.
    pub(crate) fn with_hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(format!("{hint}"));
        self
    }

    /// Says where in the input it happened.
    pub(crate) fn at(mut self, place: impl Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    fn new(exit: Exit, code: &'static str, message: String) -> Self {
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

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = match error.kind() {
            Kind::User | Kind::Internal => Exit::Failed,
            Kind::Refused | Kind::Busy => Exit::Refused,
            Kind::Damaged => Exit::Damaged,
        };
        let mut failure = Self::new(exit, code(&error), error.to_string());
        let mut source = error.source();
        while let Some(cause) = source {
            failure.causes.push(cause.to_string());
            source = cause.source();
        }
        failure.hint = error.hint().or_else(|| hint(&error));
        if let Error::Ambiguous { candidates, .. } = &error {
            failure.candidates = candidates.iter().map(ToString::to_string).collect();
        }
        failure
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Error::from(refusal).into()
    }
}

/// Returns the word programs may rely on.
fn code(error: &Error) -> &'static str {
    match error {
        Error::NotInitialised => "not_initialised",
        Error::TooNew { .. } => "too_new",
        Error::Refused(refusal) => refusal_code(refusal),
        Error::Guarded(_) => "guarded",
        Error::Worthless { .. } => "worthless",
        Error::NotFound(_) => "not_found",
        Error::Ambiguous { .. } => "ambiguous",
        Error::NoSuchEvent(_) => "no_such_event",
        Error::TooLarge(_) => "too_large",
        Error::Usage(_) => "usage",
        Error::Model(_) => "model",
        Error::Judge(_) => "judge",
        Error::Remote(RemoteError::Hub { .. }) => "hub",
        Error::Remote(RemoteError::Busy { .. }) => "busy",
        Error::Remote(_) => "remote",
        Error::Ungrounded { .. } => "ungrounded",
        Error::BulkLoss { .. } => "bulk_loss",
        Error::OtherArtifact(_) => "other_artifact",
        Error::Signature(_) => "signature",
        Error::Disk(_)
        | Error::Append(_)
        | Error::Read(_)
        | Error::Replace(_)
        | Error::Recover(_)
        | Error::Place(_)
        | Error::Git(_)
        | Error::Tree(_)
        | Error::Index(_)
        | Error::Damaged { .. } => match error.kind() {
            Kind::Busy => "busy",
            Kind::Damaged => "damaged",
            Kind::User | Kind::Refused | Kind::Internal => "internal",
        },
    }
}

fn refusal_code(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::ProvenanceRequired => "provenance_required",
        Refusal::TooMany { .. } | Refusal::TooManySentences { .. } => "too_many",
        Refusal::DetailMissing { .. } | Refusal::DetailMisplaced { .. } => "detail",
        Refusal::Condition(_) => "condition",
        Refusal::Check(_) => "check",
        Refusal::ReadOnly(_) => "read_only",
        Refusal::NoContent(_) => "no_content",
        Refusal::AlreadyRetracted(_)
        | Refusal::AlreadyArchived(_)
        | Refusal::AlreadyBlanked(_)
        | Refusal::NothingToRestore(_)
        | Refusal::NotQuarantined(_)
        | Refusal::AlreadyRevoked(_)
        | Refusal::NotRevoked(_)
        | Refusal::NotStuck(_)
        | Refusal::MergedAlready { .. }
        | Refusal::NothingChanges => "nothing_changes",
        Refusal::TooFewSources { .. } | Refusal::NotDistillable(_) => "not_distillable",
        Refusal::SelfLink | Refusal::SelfMerge => "self_link",
        Refusal::Quarantined(_) => "quarantined",
        Refusal::PersonNeeded { .. } => "person_needed",
        Refusal::CannotUndo { .. } => "cannot_undo",
        Refusal::Tombstone { .. } => "tombstone",
        Refusal::DirectionalFlow { .. } => "directional_flow",
        Refusal::Unfit { .. } => "unfit",
        Refusal::OneProject(_) => "one_project",
        Refusal::OwnWords { .. } => "own_words",
        Refusal::NotWaiting(_) => "nothing_changes",
        Refusal::ApprovalNeeded(_) => "approval_needed",
        Refusal::NotShown { .. } => "not_shown",
    }
}

/// Returns what to do where the engine, which knows no command line, has no advice.
fn hint(error: &Error) -> Option<String> {
    let text = match error {
        Error::Refused(Refusal::TooMany { .. } | Refusal::TooManySentences { .. }) => {
            "split it into several entries and `ken link` them"
        }
        Error::Refused(Refusal::DetailMissing { .. }) => "give them with --detail JSON",
        Error::Refused(Refusal::ReadOnly(_)) => "install a newer ken",
        Error::Refused(Refusal::AlreadyRetracted(id) | Refusal::AlreadyArchived(id)) => {
            return Some(format!("`ken restore {id}` brings it back"));
        }
        Error::Refused(Refusal::PersonNeeded { .. }) => "ask a person to run this command",
        Error::Refused(Refusal::Tombstone { entry, .. }) => {
            return Some(format!("`ken show {entry}` says who took it back and why"));
        }
        Error::Refused(Refusal::Quarantined(id)) => {
            return Some(format!("`ken quarantine lift {id} --reason …` lets it out"));
        }
        Error::Refused(Refusal::DirectionalFlow { .. }) => {
            "put it forward and let a person approve: `ken promote ENTRY --to procedural --as KIND --statement TEXT`"
        }
        Error::Refused(Refusal::Unfit { why, .. }) if why.may_be_overridden() => {
            "`--anyway` promotes it all the same; only a person may say so"
        }
        Error::Refused(Refusal::OneProject(_)) => {
            "`--anyway` says that others need it, too; only a person may"
        }
        Error::Refused(Refusal::OwnWords { entry, .. }) => {
            return Some(format!("ask somebody else to run `ken approve {entry}`"));
        }
        Error::Refused(Refusal::ApprovalNeeded(id)) => {
            return Some(format!("`ken approve {id}` approves it"));
        }
        Error::NoSuchEvent(_) => "`ken log ID` lists the events of an entry",
        Error::TooLarge(_) => "shorten the text, or cite a document that holds it",
        Error::Git(_) => "`ken doctor` looks the installation over",
        Error::NotInitialised
        | Error::TooNew { .. }
        | Error::Refused(_)
        | Error::Guarded(_)
        | Error::Worthless { .. }
        | Error::NotFound(_)
        | Error::Ambiguous { .. }
        | Error::Usage(_)
        | Error::Model(_)
        | Error::Judge(_)
        | Error::Remote(_)
        | Error::BulkLoss { .. }
        | Error::OtherArtifact(_)
        | Error::Signature(_)
        | Error::Disk(_)
        | Error::Append(_)
        | Error::Read(_)
        | Error::Replace(_)
        | Error::Recover(_)
        | Error::Place(_)
        | Error::Tree(_)
        | Error::Ungrounded { .. }
        | Error::Index(_)
        | Error::Damaged { .. } => return None,
    };
    Some(text.to_owned())
}
