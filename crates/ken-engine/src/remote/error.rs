//! Errors of remotes, push and pull, with hints.

use std::path::PathBuf;

use ken_remote::{HubAddressError, HubError, HubTokenError};

/// An error in configuring a remote or in exchanging events with it.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("`{0}` is no name: small letters, digits, `_` and `-`")]
    InvalidName(String),
    #[error("there is no remote `{name}`")]
    Unknown { name: String, known: Vec<String> },
    #[error("no remote was added here")]
    NoRemote,
    #[error("there is a remote `{name}` already, at another address")]
    NameTaken { name: String },
    #[error(
        "a remote can be added in a git repository only: elsewhere its address would lie in the folder and travel with it"
    )]
    OutsideGit,
    #[error("the remotes were added in another clone")]
    AddedElsewhere,
    #[error("cannot read the list of remotes `{}`", path.display())]
    Unreadable {
        path: PathBuf,
        source: Box<toml::de::Error>,
    },
    #[error("cannot write the list of remotes")]
    Unwritable(#[source] Box<toml::ser::Error>),
    #[error("another ken exchanges events with `{name}`")]
    Busy { name: String },
    #[error("the token that is kept for `{name}` was given for another machine")]
    OtherMachine { name: String },
    #[error("cannot read the token file `{}`", path.display())]
    TokenFile {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot keep or forget the token in `{}`", path.display())]
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
                return Some(format!("there is `{}`", known.join("`, `")));
            }
            Self::NoRemote => ADD_HINT,
            Self::NameTaken { name } => {
                return Some(format!(
                    "`ken remote remove {name}` first, or choose another name"
                ));
            }
            Self::OutsideGit => "`git init` makes this folder one",
            Self::AddedElsewhere => {
                "a copy of git's folder does not bring its remotes along: add them here with `ken remote add`"
            }
            Self::Unreadable { .. } => {
                "mend or delete it; `ken remote add NAME URL` writes it anew"
            }
            Self::Unwritable(_) => "give the token's file a name in UTF-8",
            Self::Busy { .. } => "wait until it has ended",
            Self::OtherMachine { .. } => {
                "give a token with `ken remote add NAME URL --token-stdin`"
            }
            Self::TokenFile { .. } | Self::TokenStorage { .. } => {
                "check the path and who may read it"
            }
            Self::Address(HubAddressError::Plain { .. }) => {
                "use https; --insecure lets events and token travel in the open"
            }
            Self::Address(_) => "such as https://hub.example.org/my-repository",
            Self::Token(_) => "give it alone on one line",
            Self::Hub { why, .. } => why.hint(),
        };
        Some(text.to_owned())
    }
}

const ADD_HINT: &str = "`ken remote add https://hub.example.org/WORKSPACE` adds one";

fn after_events(done: usize) -> String {
    match done {
        0 => String::new(),
        1 => " (after 1 event)".to_owned(),
        more => format!(" (after {more} events)"),
    }
}
