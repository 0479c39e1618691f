//! Which model a configuration asks for, with what that model needs.

#[cfg(feature = "transformer")]
use std::path::PathBuf;

#[cfg(feature = "http")]
use crate::http::{Endpoint, EndpointError, Http};
use crate::model::Embedder;
#[cfg(feature = "transformer")]
use crate::model::Known;
use crate::rung::Rung;
use crate::static_table::StaticTable;
#[cfg(feature = "transformer")]
use crate::transformer::{FolderError, Transformer};

/// A rung and its configuration. The rungs a build leaves out cannot be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    #[cfg(feature = "transformer")]
    Transformer {
        folder: PathBuf,
        /// What an [`Embedder`] of this folder said to remember.
        known: Option<Known>,
    },
    #[cfg(feature = "http")]
    Http(Endpoint),
    #[default]
    Static,
    None,
}

/// Why a chosen model is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    #[cfg(feature = "transformer")]
    #[error("cannot open the model in `{}`", folder.display())]
    Transformer {
        folder: PathBuf,
        source: FolderError,
    },
    #[cfg(feature = "http")]
    #[error("cannot use the configured endpoint")]
    Http(#[source] EndpointError),
}

impl Choice {
    #[must_use]
    pub fn rung(&self) -> Rung {
        match self {
            #[cfg(feature = "transformer")]
            Self::Transformer { .. } => Rung::Transformer,
            #[cfg(feature = "http")]
            Self::Http(_) => Rung::Http,
            Self::Static => Rung::Static,
            Self::None => Rung::None,
        }
    }

    /// Returns the model to embed with, or `None` where only keywords serve.
    pub fn open(&self) -> Result<Option<Box<dyn Embedder>>, ChoiceError> {
        Ok(match self {
            #[cfg(feature = "transformer")]
            Self::Transformer { folder, known } => {
                let opened = Transformer::open_known(folder, known.as_ref());
                let opened = opened.map_err(|source| ChoiceError::Transformer {
                    folder: folder.clone(),
                    source,
                })?;
                Some(Box::new(opened))
            }
            #[cfg(feature = "http")]
            Self::Http(endpoint) => {
                Some(Box::new(Http::open(endpoint).map_err(ChoiceError::Http)?))
            }
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
        assert_eq!(Choice::default().rung(), Rung::Static);
        assert!(Choice::Static.open().unwrap().is_some());
        assert!(Choice::None.open().unwrap().is_none());
        assert_eq!(Choice::None.rung(), Rung::None);
    }

    #[cfg(feature = "transformer")]
    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let choice = Choice::Transformer {
            folder: "no-such-folder".into(),
            known: None,
        };
        assert_eq!(choice.rung(), Rung::Transformer);
        let error = choice.open().unwrap_err().to_string();
        assert!(error.contains("no-such-folder"), "{error}");
    }
}
