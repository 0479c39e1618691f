//! The configured model and its settings.

#[cfg(feature = "transformer")]
use std::path::PathBuf;

use crate::backend::Backend;
#[cfg(feature = "http")]
use crate::http::{EmbeddingEndpoint, EmbeddingEndpointError, HttpEmbedder};
use crate::model::Embedder;
#[cfg(feature = "transformer")]
use crate::model::WeightsDigest;
use crate::static_table::StaticTable;
#[cfg(feature = "transformer")]
use crate::transformer::{FolderError, TransformerEmbedder};

/// A backend and its configuration. Backends excluded from a build cannot be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModelChoice {
    #[cfg(feature = "transformer")]
    Transformer {
        folder: PathBuf,
        /// Digest returned by an earlier [`Embedder`] of this folder.
        known: Option<WeightsDigest>,
    },
    #[cfg(feature = "http")]
    Http(EmbeddingEndpoint),
    #[default]
    Static,
    None,
}

/// Failure to open the chosen model.
#[derive(Debug, thiserror::Error)]
pub enum ModelChoiceError {
    #[cfg(feature = "transformer")]
    #[error("cannot open the model in `{}`", folder.display())]
    Transformer {
        folder: PathBuf,
        source: FolderError,
    },
    #[cfg(feature = "http")]
    #[error("cannot use the configured endpoint")]
    Http(#[source] EmbeddingEndpointError),
}

impl ModelChoice {
    /// Returns the backend of this choice.
    #[must_use]
    pub fn rung(&self) -> Backend {
        match self {
            #[cfg(feature = "transformer")]
            Self::Transformer { .. } => Backend::Transformer,
            #[cfg(feature = "http")]
            Self::Http(_) => Backend::Http,
            Self::Static => Backend::Static,
            Self::None => Backend::None,
        }
    }

    /// Opens the model, or returns `None` for keyword search only.
    pub fn open(&self) -> Result<Option<Box<dyn Embedder>>, ModelChoiceError> {
        Ok(match self {
            #[cfg(feature = "transformer")]
            Self::Transformer { folder, known } => {
                let opened = TransformerEmbedder::open_with_digest(folder, known.as_ref());
                let transformer = opened.map_err(|source| ModelChoiceError::Transformer {
                    folder: folder.clone(),
                    source,
                })?;
                Some(Box::new(transformer))
            }
            #[cfg(feature = "http")]
            Self::Http(endpoint) => Some(Box::new(
                HttpEmbedder::open(endpoint).map_err(ModelChoiceError::Http)?,
            )),
            Self::Static => Some(Box::new(StaticTable::new())),
            Self::None => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_opens_its_rung() {
        assert_eq!(ModelChoice::default().rung(), Backend::Static);
        assert!(ModelChoice::Static.open().unwrap().is_some());
        assert!(ModelChoice::None.open().unwrap().is_none());
        assert_eq!(ModelChoice::None.rung(), Backend::None);
    }

    #[cfg(feature = "transformer")]
    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let choice = ModelChoice::Transformer {
            folder: "no-such-folder".into(),
            known: None,
        };
        assert_eq!(choice.rung(), Backend::Transformer);
        let error = choice.open().unwrap_err().to_string();
        assert!(error.contains("no-such-folder"), "{error}");
    }
}
