//! Everything that can go wrong in a use case, sorted by what the caller can do about it.

use ken_core::decide::Refusal;
use ken_core::id::EntryId;
use ken_guard::{Axis, Finding, Turned, refused_because};
use ken_index::RefreshError;
use ken_ledger::DiskError;
use ken_ledger::git::GitError;

use crate::judge::JudgeError;
use crate::model::ModelError;
use crate::promotion::SignatureError;
use crate::remote::RemoteError;

/// Why a use case did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no ledger here")]
    NotInitialised,
    #[error("the ledger has schema {found}; this ken reads up to {known}")]
    TooNew { found: String, known: &'static str },
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{}", refused_because(.0))]
    Guarded(Vec<Finding>),
    #[error("too little speaks for this entry (0.{milli:03} of 1)")]
    Worthless { milli: u16 },
    #[error("no entry begins with `{0}`")]
    NotFound(String),
    #[error("`{wanted}` could be {}", list(.candidates))]
    Ambiguous {
        wanted: String,
        candidates: Vec<EntryId>,
    },
    #[error("no event has the id `{0}`")]
    NoSuchEvent(String),
    #[error(transparent)]
    TooLarge(#[from] ken_core::event::TooLong),
    #[error("{0}")]
    Usage(String),
    #[error("{count} entry files are gone at once")]
    BulkLoss { count: usize, files: Vec<String> },
    /// An entry would rest on what is not there.
    #[error("{what}: {why}")]
    Ungrounded {
        what: String,
        why: String,
        /// Names that may have been meant.
        nearest: Vec<String>,
    },
    #[error("the artifact of {0} says something else than the ledger")]
    OtherArtifact(EntryId),
    #[error(transparent)]
    Signature(#[from] SignatureError),
    #[error(transparent)]
    Tree(#[from] ken_anchor::TreeError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Judge(#[from] JudgeError),
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Append(#[from] ken_ledger::AppendError),
    #[error(transparent)]
    Read(#[from] ken_ledger::ReadError),
    #[error(transparent)]
    Replace(#[from] ken_ledger::replace::ReplaceError),
    #[error(transparent)]
    Recover(#[from] ken_ledger::recover::RecoverError),
    #[error(transparent)]
    Place(#[from] ken_ledger::place::PlaceError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Index(#[from] ken_index::IndexError),
    #[error("segment `.ken/{segment}` is damaged at line {line}")]
    Damaged {
        segment: String,
        line: u64,
        source: ken_core::event::LineError,
    },
}

impl From<Turned> for Error {
    fn from(turned: Turned) -> Self {
        match turned {
            Turned::Refused(why) => Self::Refused(why),
            Turned::Guarded(findings) => Self::Guarded(findings),
            Turned::Worthless { milli } => Self::Worthless { milli },
            Turned::Misfiled | Turned::Hiding => Self::Usage(turned.to_string()),
        }
    }
}

impl From<ken_guard::TooLong> for Error {
    fn from(why: ken_guard::TooLong) -> Self {
        Self::Usage(why.to_string())
    }
}

impl From<RefreshError<Self>> for Error {
    fn from(error: RefreshError<Self>) -> Self {
        match error {
            RefreshError::List { source } | RefreshError::Read { source, .. } => source,
            RefreshError::Line {
                segment,
                line,
                source,
            } => Self::Damaged {
                segment,
                line,
                source,
            },
            RefreshError::Index(source) => Self::Index(source),
        }
    }
}

/// What the caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Ask differently.
    User,
    /// The answer is no.
    Refused,
    /// Try again when something else has ended.
    Busy,
    /// The stored data needs a look.
    Damaged,
    /// The world failed us.
    Internal,
}

impl Error {
    /// Sorts the failure.
    pub fn kind(&self) -> Kind {
        match self {
            Self::NotInitialised
            | Self::NotFound(_)
            | Self::Ambiguous { .. }
            | Self::NoSuchEvent(_)
            | Self::TooLarge(_)
            | Self::Usage(_)
            | Self::Model(_)
            | Self::Judge(_)
            | Self::TooNew { .. } => Kind::User,
            Self::Refused(_)
            | Self::Guarded(_)
            | Self::Worthless { .. }
            | Self::BulkLoss { .. }
            | Self::OtherArtifact(_)
            | Self::Signature(_)
            | Self::Ungrounded { .. } => Kind::Refused,
            Self::Replace(ken_ledger::replace::ReplaceError::Busy(_))
            | Self::Remote(RemoteError::Busy { .. }) => Kind::Busy,
            Self::Remote(RemoteError::Hub { .. }) => Kind::Internal,
            Self::Remote(_) => Kind::User,
            Self::Read(ken_ledger::ReadError::Segment(_)) | Self::Damaged { .. } => Kind::Damaged,
            Self::Index(error) if error.is_damage() => Kind::Damaged,
            Self::Disk(_)
            | Self::Append(_)
            | Self::Read(_)
            | Self::Replace(_)
            | Self::Recover(_)
            | Self::Place(_)
            | Self::Git(_)
            | Self::Tree(_)
            | Self::Index(_) => Kind::Internal,
        }
    }

    /// Returns what to do next, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotInitialised => Some("run `ken init` at the top of the repository".to_owned()),
            Self::TooNew { .. } => Some("install a newer ken".to_owned()),
            Self::Refused(Refusal::ProvenanceRequired) => {
                Some("add --cite commit:HASH (or pr:, doc:, test:, transcript:)".to_owned())
            }
            Self::Worthless { .. } => {
                Some("cite more, anchor it to code, or add a step that checks it".to_owned())
            }
            Self::Guarded(findings) => Some(guard_hint(findings).to_owned()),
            Self::NotFound(_) => Some("`ken list --all` shows every entry".to_owned()),
            Self::Ambiguous { .. } => Some("type more characters of the id".to_owned()),
            Self::BulkLoss { .. } => {
                Some("`ken sync --yes` retracts them; `ken render` writes the files again".to_owned())
            }
            Self::Read(_) | Self::Damaged { .. } => {
                Some("`ken ledger check` lists every damaged line; `git checkout` restores a committed segment".to_owned())
            }
            Self::Model(error) => error.hint(),
            Self::Judge(error) => error.hint().map(ToOwned::to_owned),
            Self::Remote(error) => error.hint(),
            Self::Ungrounded { nearest, .. } if !nearest.is_empty() => {
                Some(format!("did you mean `{}`?", nearest.join("`, `")))
            }
            Self::Ungrounded { .. } => {
                Some("an entry rests on what is there now; leave out what is not, and cite it".to_owned())
            }
            Self::Index(error) if error.is_damage() => {
                Some("`ken ledger check` lists every damaged line".to_owned())
            }
            Self::OtherArtifact(id) => Some(format!(
                "read it again: `ken approve {id} --show` prints it; sign that"
            )),
            Self::Refused(_)
            | Self::Signature(_)
            | Self::NoSuchEvent(_)
            | Self::TooLarge(_)
            | Self::Usage(_)
            | Self::Disk(_)
            | Self::Append(_)
            | Self::Replace(_)
            | Self::Recover(_)
            | Self::Place(_)
            | Self::Git(_)
            | Self::Tree(_)
            | Self::Index(_) => None,
        }
    }
}

fn guard_hint(findings: &[Finding]) -> &'static str {
    match findings.first().map(|gravest| gravest.axis) {
        Some(Axis::Credential | Axis::CredentialLeakage) | None => {
            "remove the secret (--redact does) and rotate it if it was ever stored elsewhere"
        }
        Some(Axis::Sanitisation) => {
            "say it in general words; paths and lines belong into --anchor and --cite"
        }
        Some(Axis::Unscanned) => "write less, or split it",
        Some(Axis::Exfiltration | Axis::Injection | Axis::UnsafeCode | Axis::Hidden) => {
            "say what to do without the command, or let a person look at it"
        }
    }
}

fn list(ids: &[EntryId]) -> String {
    ids.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
