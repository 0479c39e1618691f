//! Why a model cannot be chosen, and what to do about it.

use ken_index::{ChoiceError, Rung};

/// Why a model was not chosen, or does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("this ken was built without the rung `{}`", rung.name())]
    NotInBuild { rung: Rung },
    #[error("this ken was built without a way to fetch models")]
    CannotFetch,
    #[error("there is no rung `{name}`")]
    UnknownRung { name: String },
    #[error("there is no dialect `{name}`")]
    UnknownDialect { name: String },
    #[error("no model was added for the rung `{}`", rung.name())]
    NotAdded { rung: Rung },
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
    Choice(#[from] ChoiceError),
    #[cfg(feature = "http")]
    #[error("the endpoint did not answer as it should")]
    Probe(#[from] ken_index::ProbeError),
    #[cfg(all(feature = "http", feature = "transformer"))]
    #[error("cannot fetch the model")]
    Fetch(#[from] ken_index::FetchError),
}

impl ModelError {
    /// Returns what to do next, where there is something.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::NotInBuild { .. } | Self::CannotFetch => {
                "releases have it; `cargo install --path crates/ken-cli --features transformer,http` builds it"
            }
            Self::UnknownRung { .. } => "write static, none, transformer or http",
            Self::UnknownDialect { .. } => "write openai or ollama",
            Self::NotAdded { rung } => match rung {
                Rung::Transformer => "`ken model add FOLDER` adds one",
                Rung::Http => "`ken model add --http URL --dialect ollama --model NAME` adds one",
                Rung::Static | Rung::None => return None,
            },
            Self::OutsideGit => "`git init` makes this folder one",
            Self::ChosenElsewhere => {
                "choose it here with `ken model add`, or `ken model use static`"
            }
            Self::NoFolder { .. } => {
                "give the folder of a model, or its name such as sentence-transformers/all-MiniLM-L6-v2"
            }
            Self::File { .. } => "`ken model use static` writes it anew",
            #[cfg(all(feature = "http", feature = "transformer"))]
            Self::Fetch(
                ken_index::FetchError::Unreachable { .. } | ken_index::FetchError::Hub(_),
            ) => {
                "without a network, get the model's folder another way and give that: `ken model add FOLDER`"
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
