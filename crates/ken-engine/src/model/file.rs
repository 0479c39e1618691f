//! The configuration file of the embedding model: `ken/model.toml` in the git directory.

use std::path::{Path, PathBuf};

use ken_index::{Backend, ModelChoice, WeightsDigest};
use serde::{Deserialize, Serialize};

use super::error::ModelError;
use crate::engine::Engine;

const MODEL_FILE: &str = "model.toml";

/// Content of `model.toml`. Added models stay in it while another backend is selected.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelFile {
    pub(super) rung: String,
    /// The clone in which the model was chosen, as the node id of its ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transformer: Option<TransformerSection>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) http: Option<EndpointSection>,
}

/// A sentence transformer in a local folder.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TransformerSection {
    pub(super) folder: PathBuf,
    /// Stamp and digest from the last opening, which make the next one faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
}

/// An embedding endpoint. The API key is never stored here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndpointSection {
    pub(super) dialect: String,
    pub(super) url: String,
    pub(super) model: String,
    pub(super) dimension: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key_variable: Option<String>,
    /// Allows unencrypted connections to other machines.
    #[serde(default)]
    pub(super) plain: bool,
}

impl Default for ModelFile {
    fn default() -> Self {
        Self {
            rung: Backend::Static.name().to_owned(),
            node: None,
            transformer: None,
            http: None,
        }
    }
}

impl ModelFile {
    /// Loads the file; `None` if no choice was made.
    pub(super) fn load(engine: &Engine) -> Result<Option<Self>, ModelError> {
        let unreadable = |why: String| ModelError::File {
            file: MODEL_FILE.to_owned(),
            why,
        };
        let read = engine.ledger.local_file(MODEL_FILE);
        let Some(bytes) = read.map_err(|error| unreadable(error.source.to_string()))? else {
            return Ok(None);
        };
        let parsed = toml::from_slice(&bytes);
        // Only the message: the rendered error spans several lines and quotes the file.
        let why = |error: toml::de::Error| error.message().to_owned();
        Ok(Some(parsed.map_err(|error| unreadable(why(error)))?))
    }

    pub(super) fn store(&self, engine: &Engine) -> Result<(), ModelError> {
        let failed = |why: String| ModelError::File {
            file: MODEL_FILE.to_owned(),
            why,
        };
        let text = toml::to_string(self).map_err(|error| failed(error.to_string()))?;
        let written = engine.ledger.write_local_file(MODEL_FILE, text.as_bytes());
        written.map_err(|error| failed(error.source.to_string()))
    }

    /// Returns the choice, if this build and this clone allow it.
    pub(super) fn choice(&self, engine: &Engine) -> Result<ModelChoice, ModelError> {
        let rung = Backend::parse(&self.rung).ok_or_else(|| ModelError::UnknownRung {
            name: self.rung.clone(),
        })?;
        match rung {
            Backend::Static => Ok(ModelChoice::Static),
            Backend::None => Ok(ModelChoice::None),
            // Without git, the file may have come with the folder from another person.
            Backend::Transformer | Backend::Http if engine.place.git.is_none() => {
                Err(ModelError::OutsideGit)
            }
            Backend::Transformer => match &self.transformer {
                Some(_) if !self.is_from_this_clone(engine) => Err(ModelError::ChosenElsewhere),
                Some(part) => part.choice(),
                None => Err(ModelError::NotAdded { rung }),
            },
            Backend::Http => match &self.http {
                Some(_) if !self.is_from_this_clone(engine) => Err(ModelError::ChosenElsewhere),
                Some(part) => part.choice(),
                None => Err(ModelError::NotAdded { rung }),
            },
        }
    }

    /// Returns true if the choice was made in this clone and not in a copied git directory.
    fn is_from_this_clone(&self, engine: &Engine) -> bool {
        let here = engine.ledger.load_node_id().ok().flatten();
        here.is_some() && here.map(|node| node.to_string()) == self.node
    }

    /// Stores stamp and digest of an opened model; returns true if they changed.
    pub(super) fn update_known(&mut self, known: Option<&WeightsDigest>) -> bool {
        let (Some(part), Some(known)) = (&mut self.transformer, known) else {
            return false;
        };
        let WeightsDigest { stamp, digest } = known.clone();
        let (stamp, digest) = (Some(stamp), Some(digest));
        let is_news = part.stamp != stamp || part.digest != digest;
        (part.stamp, part.digest) = (stamp, digest);
        is_news
    }

    /// Returns true if both files name the same models, ignoring stamps and digests.
    pub(super) fn names_same_models(&self, other: &Self) -> bool {
        let named = |file: &Self| {
            (
                file.rung.clone(),
                file.folder().map(Path::to_owned),
                file.http.clone(),
            )
        };
        named(self) == named(other)
    }

    pub(super) fn folder(&self) -> Option<&Path> {
        self.transformer.as_ref().map(|part| &*part.folder)
    }

    /// Returns URL and model name of the endpoint.
    pub(super) fn endpoint(&self) -> Option<(String, String)> {
        let part = self.http.as_ref()?;
        Some((part.url.clone(), part.model.clone()))
    }
}

#[cfg(feature = "transformer")]
impl TransformerSection {
    fn choice(&self) -> Result<ModelChoice, ModelError> {
        let known = self.stamp.clone().zip(self.digest.clone());
        Ok(ModelChoice::Transformer {
            folder: self.folder.clone(),
            known: known.map(|(stamp, digest)| WeightsDigest { stamp, digest }),
        })
    }
}

#[cfg(not(feature = "transformer"))]
impl TransformerSection {
    #[expect(clippy::unused_self, reason = "another build needs it")]
    fn choice(&self) -> Result<ModelChoice, ModelError> {
        Err(ModelError::NotInBuild {
            rung: Backend::Transformer,
        })
    }
}

#[cfg(feature = "http")]
impl EndpointSection {
    fn choice(&self) -> Result<ModelChoice, ModelError> {
        Ok(ModelChoice::Http(self.to_endpoint()?))
    }

    pub(super) fn to_endpoint(&self) -> Result<ken_index::EmbeddingEndpoint, ModelError> {
        use ken_http::PlaintextScope;
        use ken_index::{EmbeddingEndpoint, EndpointDialect};
        let dialect = EndpointDialect::parse(&self.dialect);
        Ok(EmbeddingEndpoint {
            dialect: dialect.ok_or_else(|| ModelError::UnknownDialect {
                name: self.dialect.clone(),
            })?,
            url: self.url.clone(),
            model: self.model.clone(),
            dimension: self.dimension,
            key_variable: self.key_variable.clone(),
            plain: if self.plain {
                PlaintextScope::Anywhere
            } else {
                PlaintextScope::Loopback
            },
        })
    }
}

#[cfg(not(feature = "http"))]
impl EndpointSection {
    #[expect(clippy::unused_self, reason = "another build needs it")]
    fn choice(&self) -> Result<ModelChoice, ModelError> {
        Err(ModelError::NotInBuild {
            rung: Backend::Http,
        })
    }
}
