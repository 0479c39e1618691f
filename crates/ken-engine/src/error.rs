//! The engine's error type, with a kind that determines exit codes and a hint for the user.

use std::io;

use ken_core::decide::Refusal;
use ken_core::values::citation::CitationType;
use ken_core::values::id::EntryId;
use ken_guard::{GuardFinding, ScanAxis, WriteRejection, describe_rejection};
use ken_index::RefreshError;
use ken_ledger::DiskError;
use ken_ledger::git::GitError;

use crate::federation::FederationError;
use crate::llm::LlmError;
use crate::model::ModelError;
use crate::promotion::SignatureError;
use crate::remote::RemoteError;

/// An error of any engine operation.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("this repository has no ledger")]
    NotInitialized,
    #[error("the ledger has schema {found}; this version of Ken reads up to {known}")]
    TooNew { found: String, known: &'static str },
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{}", describe_rejection(.0))]
    RejectedByGuard(Vec<GuardFinding>),
    #[error("the quality score of this entry is too low (0.{milli:03} of 1)")]
    QualityTooLow { milli: u16 },
    #[error("no entry matches `{0}`")]
    NotFound(String),
    #[error("`{wanted}` is ambiguous: {}", join_ids(.candidates))]
    Ambiguous {
        wanted: String,
        candidates: Vec<EntryId>,
    },
    #[error("no event has the id `{0}`")]
    NoSuchEvent(String),
    #[error(transparent)]
    TooLarge(#[from] ken_core::ledger::event::LineTooLong),
    #[error("{0}")]
    Usage(String),
    #[error("{count} entry files were deleted at once")]
    BulkDeletion { count: usize, files: Vec<String> },
    /// An anchor or condition of an entry does not hold in the work tree.
    #[error("{what}: {why}")]
    UnsupportedByCode {
        what: String,
        why: String,
        /// Similar names that exist.
        nearest: Vec<String>,
    },
    #[error("`{citation}` cannot be cited: {why}")]
    DanglingCitation { citation: String, why: &'static str },
    #[error("the artifact of {0} differs from the ledger")]
    ArtifactMismatch(EntryId),
    #[error(transparent)]
    Signature(#[from] SignatureError),
    #[error(transparent)]
    Tree(#[from] ken_anchor::FileTreeError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Judge(#[from] LlmError),
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error(transparent)]
    Federation(#[from] FederationError),
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
    Place(#[from] ken_ledger::place::DiscoverError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Index(#[from] ken_index::IndexError),
    #[error("segment `.ken/{segment}` is damaged at line {line}")]
    Damaged {
        segment: String,
        line: u64,
        source: ken_core::ledger::event::LineError,
    },
}

impl From<WriteRejection> for EngineError {
    fn from(turned: WriteRejection) -> Self {
        match turned {
            WriteRejection::Refused(why) => Self::Refused(why),
            WriteRejection::Guarded(findings) => Self::RejectedByGuard(findings),
            WriteRejection::Worthless { milli } => Self::QualityTooLow { milli },
            WriteRejection::SubjectMismatch | WriteRejection::QuarantineClaim => {
                Self::Usage(turned.to_string())
            }
        }
    }
}

impl From<ken_core::trust::run::opening::RunInputError> for EngineError {
    fn from(error: ken_core::trust::run::opening::RunInputError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<ken_guard::ReasonTooLong> for EngineError {
    fn from(why: ken_guard::ReasonTooLong) -> Self {
        Self::Usage(why.to_string())
    }
}

impl From<RefreshError<Self>> for EngineError {
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

/// Classification of an error by the required reaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The input is invalid.
    User,
    /// A policy refuses the request.
    Refused,
    /// Another operation is in progress; retry later.
    Busy,
    /// Stored data is damaged.
    Damaged,
    /// The file system, git, the network or another dependency failed.
    Internal,
}

impl EngineError {
    /// Returns true if a file of this checkout cannot be written, as on a read-only disk.
    pub(crate) fn is_unwritable(&self) -> bool {
        let Self::Disk(error) = self else {
            return false;
        };
        matches!(
            error.source.kind(),
            io::ErrorKind::ReadOnlyFilesystem
                | io::ErrorKind::PermissionDenied
                | io::ErrorKind::NotADirectory
        )
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        // No wildcard arm: a new variant must be classified here, because the CLI derives its exit
        // code from the kind.
        match self {
            Self::NotInitialized
            | Self::NotFound(_)
            | Self::Ambiguous { .. }
            | Self::NoSuchEvent(_)
            | Self::TooLarge(_)
            | Self::Usage(_)
            | Self::Model(_)
            | Self::Judge(_)
            | Self::TooNew { .. } => ErrorKind::User,
            Self::Refused(_)
            | Self::RejectedByGuard(_)
            | Self::QualityTooLow { .. }
            | Self::BulkDeletion { .. }
            | Self::ArtifactMismatch(_)
            | Self::Signature(_)
            | Self::DanglingCitation { .. }
            | Self::UnsupportedByCode { .. } => ErrorKind::Refused,
            Self::Replace(ken_ledger::replace::ReplaceError::Busy(_))
            | Self::Remote(RemoteError::Busy { .. }) => ErrorKind::Busy,
            // All other remote errors are about the user's configuration of remotes and tokens.
            Self::Remote(RemoteError::Hub { .. }) => ErrorKind::Internal,
            Self::Remote(_) => ErrorKind::User,
            Self::Federation(error) if error.is_refusal() => ErrorKind::Refused,
            Self::Federation(_) => ErrorKind::User,
            Self::Read(ken_ledger::ReadError::Segment(_)) | Self::Damaged { .. } => {
                ErrorKind::Damaged
            }
            Self::Index(error) if error.is_damage() => ErrorKind::Damaged,
            Self::Disk(_)
            | Self::Append(_)
            | Self::Read(_)
            | Self::Replace(_)
            | Self::Recover(_)
            | Self::Place(_)
            | Self::Git(_)
            | Self::Tree(_)
            | Self::Index(_) => ErrorKind::Internal,
        }
    }

    /// Returns a suggestion for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotInitialized => Some("run `ken init` at the top of the repository".to_owned()),
            Self::TooNew { .. } => Some("install a newer version of Ken".to_owned()),
            Self::Refused(Refusal::ProvenanceRequired) => {
                Some(format!("add --cite with one of {}", CitationType::FORMS))
            }
            Self::QualityTooLow { .. } => {
                Some("add citations, an anchor or a verification step".to_owned())
            }
            Self::RejectedByGuard(findings) => Some(guard_hint(findings).to_owned()),
            Self::NotFound(_) => Some("run `ken list --all` to list every entry".to_owned()),
            Self::Ambiguous { .. } => Some("type more characters of the id".to_owned()),
            Self::BulkDeletion { .. } => {
                Some("run `ken sync --yes` to retract them, or `ken ledger render` to write the files again".to_owned())
            }
            Self::Read(_) | Self::Damaged { .. } => {
                Some("run `ken ledger check` to list every damaged line; `git checkout` restores a committed segment".to_owned())
            }
            Self::Model(error) => error.hint(),
            Self::Judge(error) => error.hint().map(ToOwned::to_owned),
            Self::Remote(error) => error.hint(),
            Self::Federation(error) => error.hint(),
            Self::UnsupportedByCode { nearest, .. } if !nearest.is_empty() => {
                Some(format!("did you mean `{}`?", nearest.join("`, `")))
            }
            Self::UnsupportedByCode { .. } => {
                Some("anchors and conditions must match the current code; cite removed code instead".to_owned())
            }
            Self::DanglingCitation { .. } => Some(
                "cite a commit (hash, branch, tag or HEAD), a file of this repository, a pull request, a test or a URL: commit:HEAD, doc:docs/adr/7.md, pr:142, test:NAME, doc:https://…".to_owned(),
            ),
            Self::Index(error) if error.is_damage() => {
                Some("run `ken ledger check` to list every damaged line".to_owned())
            }
            Self::ArtifactMismatch(id) => Some(format!(
                "run `ken inbox approve {id} --show`, review the output and sign it"
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

fn guard_hint(findings: &[GuardFinding]) -> &'static str {
    // The guard sorts findings by severity, so the first one decides.
    match findings.first().map(|gravest| gravest.axis) {
        Some(ScanAxis::Credential | ScanAxis::CredentialLeakage) | None => {
            "remove the secret (or use --redact), and rotate it if it was ever stored elsewhere"
        }
        Some(ScanAxis::Sanitization) => {
            "generalize the statement; give paths and lines with --anchor and --cite"
        }
        Some(ScanAxis::Unscanned) => "shorten or split it",
        Some(
            ScanAxis::Exfiltration | ScanAxis::Injection | ScanAxis::UnsafeCode | ScanAxis::Hidden,
        ) => "describe the step without the command, or ask a person to review it",
    }
}

fn join_ids(ids: &[EntryId]) -> String {
    ids.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
