//! Errors of remotes, push and pull, with hints.

use std::path::PathBuf;

use ken_remote::{HubAddressError, HubError, HubTokenError};

/// An error in configuring a remote or in exchanging events with it.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("`{0}` is not a valid name: use lowercase letters, digits, `_` and `-`")]
    InvalidName(String),
    #[error("the remote `{name}` does not exist")]
    Unknown { name: String, known: Vec<String> },
    #[error("no remote is configured")]
    NoRemote,
    #[error("the remote `{name}` already exists with another URL")]
    NameTaken { name: String },
    #[error(
        "a remote can only be added in a git repository: elsewhere its URL would be copied with the folder"
    )]
    OutsideGit,
    #[error("the remotes were configured in another clone")]
    AddedElsewhere,
    #[error("cannot read the list of remotes `{}`", path.display())]
    Unreadable {
        path: PathBuf,
        source: Box<toml::de::Error>,
    },
    #[error("cannot write the list of remotes")]
    Unwritable(#[source] Box<toml::ser::Error>),
    #[error("another Ken process is exchanging events with `{name}`")]
    Busy { name: String },
    #[error("the token stored for `{name}` belongs to another host")]
    OtherMachine { name: String },
    #[error("cannot read the token file `{}`", path.display())]
    TokenFile {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot store or delete the token in `{}`", path.display())]
    TokenStorage {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Address(#[from] HubAddressError),
    #[error(transparent)]
    Token(#[from] HubTokenError),
    /// The hub failed; its answers for the first `done` events are recorded.
    #[error("{why}{}", after_events(*.done))]
    Hub { done: usize, why: HubError },
}

impl RemoteError {
    /// Returns a suggestion for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::InvalidName(_) => "such as `hub`",
            Self::Unknown { known, .. } if known.is_empty() => ADD_HINT,
            Self::Unknown { known, .. } => {
                return Some(format!("known: `{}`", known.join("`, `")));
            }
            Self::NoRemote => ADD_HINT,
            Self::NameTaken { name } => {
                return Some(format!(
                    "run `ken remote remove {name}` first, or choose another name"
                ));
            }
            Self::OutsideGit => "run `git init` first",
            Self::AddedElsewhere => {
                "remotes are not copied with the git directory: add them in this clone with `ken remote add`"
            }
            Self::Unreadable { .. } => {
                "repair or delete the file; `ken remote add NAME URL` writes a new one"
            }
            Self::Unwritable(_) => "rename the token file to a UTF-8 name",
            Self::Busy { .. } => "wait until it finishes",
            Self::OtherMachine { .. } => {
                "store a token with `ken remote add NAME URL --token-stdin`"
            }
            Self::TokenFile { .. } | Self::TokenStorage { .. } => {
                "check the path and its permissions"
            }
            Self::Address(HubAddressError::Plain { .. }) => {
                "use https, or --insecure to send events and token unencrypted"
            }
            Self::Address(_) => "such as https://hub.example.org/my-repository",
            Self::Token(_) => "pass the token alone on one line",
            Self::Hub { why, .. } => why.hint(),
        };
        Some(text.to_owned())
    }
}

const ADD_HINT: &str = "add one with `ken remote add https://hub.example.org/WORKSPACE`";

fn after_events(done: usize) -> String {
    match done {
        0 => String::new(),
        1 => " (after 1 event)".to_owned(),
        more => format!(" (after {more} events)"),
    }
}
