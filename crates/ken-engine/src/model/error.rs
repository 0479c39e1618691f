//! Errors of the embedding model, with hints.

use ken_index::{Backend, ModelChoiceError};

/// An error in selecting or opening an embedding model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("this ken was built without the rung `{}`", rung.name())]
    NotInBuild { rung: Backend },
    #[error("this ken was built without a way to fetch models")]
    CannotFetch,
    #[error("there is no rung `{name}`")]
    UnknownRung { name: String },
    #[error("there is no dialect `{name}`")]
    UnknownDialect { name: String },
    #[error("no model was added for the rung `{}`", rung.name())]
    NotAdded { rung: Backend },
    #[error(
        "a model can be added in a git repository only: elsewhere the choice would lie in the folder and travel with it"
    )]
    OutsideGit,
    #[error("the model was chosen in another clone")]
    ChosenElsewhere,
    #[error("there is no folder `{folder}`")]
    NoFolder { folder: String },
    #[error("the file `{file}` that names the model cannot be read: {why}")]
    File { file: String, why: String },
    #[error(transparent)]
    Choice(#[from] ModelChoiceError),
    #[cfg(feature = "http")]
    #[error("the endpoint did not answer as it should")]
    Probe(#[from] ken_index::ProbeError),
    #[cfg(all(feature = "http", feature = "transformer"))]
    #[error("cannot fetch the model")]
    Fetch(#[from] ken_index::FetchError),
}

impl ModelError {
    /// Returns a suggestion for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::NotInBuild { .. } | Self::CannotFetch => {
                "releases have it; `cargo install --path crates/ken-cli --features transformer,http` builds it"
            }
            Self::UnknownRung { .. } => "write static, none, transformer or http",
            Self::UnknownDialect { .. } => "write openai or ollama",
            Self::NotAdded { rung } => match rung {
                Backend::Transformer => "`ken config model add FOLDER` adds one",
                Backend::Http => {
                    "`ken config model add --http URL --dialect ollama --model NAME` adds one"
                }
                Backend::Static | Backend::None => return None,
            },
            Self::OutsideGit => "`git init` makes this folder one",
            Self::ChosenElsewhere => {
                "choose it here with `ken config model add`, or `ken config model use static`"
            }
            Self::NoFolder { .. } => {
                "give the folder of a model, or its name such as sentence-transformers/all-MiniLM-L6-v2"
            }
            Self::File { .. } => "`ken config model use static` writes it anew",
            #[cfg(all(feature = "http", feature = "transformer"))]
            Self::Fetch(
                ken_index::FetchError::Unreachable { .. } | ken_index::FetchError::Hub(_),
            ) => {
                "without a network, get the model's folder another way and give that: `ken config model add FOLDER`"
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
