//! Errors of the embedding model, with hints.

use ken_index::{Backend, ModelChoiceError};

/// An error in selecting or opening an embedding model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("this build of Ken does not support the embedding model `{}`", rung.name())]
    NotInBuild { rung: Backend },
    #[error("this build of Ken cannot download models")]
    CannotFetch,
    #[error("`{name}` is not a valid embedding model")]
    UnknownRung { name: String },
    #[error("`{name}` is not a valid dialect")]
    UnknownDialect { name: String },
    #[error("no embedding model `{}` was added", rung.name())]
    NotAdded { rung: Backend },
    #[error(
        "a model can only be added in a git repository: elsewhere its configuration would be copied with the folder"
    )]
    OutsideGit,
    #[error("the model was configured in another clone")]
    ChosenElsewhere,
    #[error("the folder `{folder}` does not exist")]
    NoFolder { folder: String },
    #[error("cannot read the model configuration `{file}`: {why}")]
    File { file: String, why: String },
    #[error(transparent)]
    Choice(#[from] ModelChoiceError),
    #[cfg(feature = "http")]
    #[error("the endpoint gave an invalid answer")]
    Probe(#[from] ken_index::ProbeError),
    #[cfg(all(feature = "http", feature = "transformer"))]
    #[error("cannot download the model")]
    Fetch(#[from] ken_index::FetchError),
}

impl ModelError {
    /// Returns a suggestion for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::NotInBuild { .. } | Self::CannotFetch => {
                "use a release, or build with `cargo install --path crates/ken-cli --features transformer,http`"
            }
            Self::UnknownRung { .. } => "write static, none, transformer or http",
            Self::UnknownDialect { .. } => "write openai or ollama",
            Self::NotAdded { rung } => match rung {
                Backend::Transformer => "add one with `ken config model add FOLDER`",
                Backend::Http => {
                    "add one with `ken config model add --http URL --dialect ollama --model NAME`"
                }
                Backend::Static | Backend::None => return None,
            },
            Self::OutsideGit => "run `git init` first",
            Self::ChosenElsewhere => {
                "run `ken config model add` or `ken config model use static` in this clone"
            }
            Self::NoFolder { .. } => {
                "pass the folder of a model, or its name such as sentence-transformers/all-MiniLM-L6-v2"
            }
            Self::File { .. } => "run `ken config model use static` to rewrite the file",
            #[cfg(all(feature = "http", feature = "transformer"))]
            Self::Fetch(ken_index::FetchError::Download { .. } | ken_index::FetchError::Hub(_)) => {
                "without a network, copy the model's folder to this machine and run `ken config model add FOLDER`"
            }
            #[cfg(all(feature = "http", feature = "transformer"))]
            Self::Fetch(_) => return None,
            #[cfg(feature = "http")]
            Self::Probe(_) => return None,
            Self::Choice(_) => return None,
        };
        Some(text.to_owned())
    }
}
