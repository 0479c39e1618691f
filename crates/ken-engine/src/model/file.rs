//! The file that holds the choice: `ken/model.toml` in git's own folder.

use std::path::{Path, PathBuf};

use ken_index::{Choice, Known, Rung};
use serde::{Deserialize, Serialize};

use super::error::ModelError;
use crate::engine::Engine;

const MODEL_FILE: &str = "model.toml";

/// What the file says. Models that were added stay in it while another rung serves.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelFile {
    pub(super) rung: String,
    /// The clone it was chosen in, by the name the ledger's writer has there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transformer: Option<FolderPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) http: Option<EndpointPart>,
}

/// A sentence transformer.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FolderPart {
    pub(super) folder: PathBuf,
    /// What makes opening it quick; see [`Known`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
}

/// An endpoint. The key itself is never here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndpointPart {
    pub(super) dialect: String,
    pub(super) url: String,
    pub(super) model: String,
    pub(super) dimension: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key_variable: Option<String>,
    /// Whether text may travel unencrypted to another machine.
    #[serde(default)]
    pub(super) plain: bool,
}

impl Default for ModelFile {
    fn default() -> Self {
        Self {
            rung: Rung::Static.name().to_owned(),
            node: None,
            transformer: None,
            http: None,
        }
    }
}

impl ModelFile {
    /// Reads the choice, if one was made.
    pub(super) fn load(engine: &Engine) -> Result<Option<Self>, ModelError> {
        let unreadable = |why: String| ModelError::File {
            file: MODEL_FILE.to_owned(),
            why,
        };
        let read = engine.ledger.local_file(MODEL_FILE);
        let read = read.map_err(|error| unreadable(error.source.to_string()))?;
        let Some(bytes) = read else {
            return Ok(None);
        };
        let parsed = toml::from_slice(&bytes);
        // The first line of what the parser says; the others point into the text.
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

    /// Returns what is chosen, if this build and this place allow it.
    pub(super) fn choice(&self, engine: &Engine) -> Result<Choice, ModelError> {
        let rung = Rung::parse(&self.rung).ok_or_else(|| ModelError::UnknownRung {
            name: self.rung.clone(),
        })?;
        match rung {
            Rung::Static => Ok(Choice::Static),
            Rung::None => Ok(Choice::None),
            Rung::Transformer | Rung::Http if engine.place.git.is_none() => {
                Err(ModelError::OutsideGit)
            }
            Rung::Transformer => match &self.transformer {
                Some(_) if !self.is_of(engine) => Err(ModelError::ChosenElsewhere),
                Some(part) => part.choice(),
                None => Err(ModelError::NotAdded { rung }),
            },
            Rung::Http => match &self.http {
                Some(_) if !self.is_of(engine) => Err(ModelError::ChosenElsewhere),
                Some(part) => part.choice(),
                None => Err(ModelError::NotAdded { rung }),
            },
        }
    }

    /// Returns whether the choice was made in this clone: a copy of git's folder is another one.
    fn is_of(&self, engine: &Engine) -> bool {
        let here = engine.ledger.known_node().ok().flatten();
        here.is_some() && here.map(|node| node.to_string()) == self.node
    }

    /// Keeps what makes opening quick; returns whether that is news.
    pub(super) fn remember(&mut self, known: Option<&Known>) -> bool {
        let (Some(part), Some(known)) = (&mut self.transformer, known) else {
            return false;
        };
        let Known { stamp, digest } = known.clone();
        let (stamp, digest) = (Some(stamp), Some(digest));
        let is_news = part.stamp != stamp || part.digest != digest;
        (part.stamp, part.digest) = (stamp, digest);
        is_news
    }

    /// Returns whether both name the same models, whatever they remember about them.
    pub(super) fn names_the_same(&self, other: &Self) -> bool {
        let named = |it: &Self| {
            (
                it.rung.clone(),
                it.folder().map(Path::to_owned),
                it.http.clone(),
            )
        };
        named(self) == named(other)
    }

    pub(super) fn folder(&self) -> Option<&Path> {
        self.transformer.as_ref().map(|part| &*part.folder)
    }

    /// Returns the address and the name of the model there.
    pub(super) fn endpoint(&self) -> Option<(String, String)> {
        let part = self.http.as_ref()?;
        Some((part.url.clone(), part.model.clone()))
    }
}

#[cfg(feature = "transformer")]
impl FolderPart {
    fn choice(&self) -> Result<Choice, ModelError> {
        let known = self.stamp.clone().zip(self.digest.clone());
        Ok(Choice::Transformer {
            folder: self.folder.clone(),
            known: known.map(|(stamp, digest)| Known { stamp, digest }),
        })
    }
}

#[cfg(not(feature = "transformer"))]
impl FolderPart {
    #[expect(clippy::unused_self, reason = "another build needs it")]
    fn choice(&self) -> Result<Choice, ModelError> {
        Err(ModelError::NotInBuild {
            rung: Rung::Transformer,
        })
    }
}

#[cfg(feature = "http")]
impl EndpointPart {
    fn choice(&self) -> Result<Choice, ModelError> {
        Ok(Choice::Http(self.checked()?))
    }

    pub(super) fn checked(&self) -> Result<ken_index::Endpoint, ModelError> {
        use ken_index::{Dialect, Endpoint, Plain};
        let dialect = Dialect::parse(&self.dialect);
        Ok(Endpoint {
            dialect: dialect.ok_or_else(|| ModelError::UnknownDialect {
                name: self.dialect.clone(),
            })?,
            url: self.url.clone(),
            model: self.model.clone(),
            dimension: self.dimension,
            key_variable: self.key_variable.clone(),
            plain: match self.plain {
                true => Plain::Anywhere,
                false => Plain::Loopback,
            },
        })
    }
}

#[cfg(not(feature = "http"))]
impl EndpointPart {
    #[expect(clippy::unused_self, reason = "another build needs it")]
    fn choice(&self) -> Result<Choice, ModelError> {
        Err(ModelError::NotInBuild { rung: Rung::Http })
    }
}
