//! Choosing: adding a model, taking one that was added, forgetting them.

use std::path::{Path, PathBuf};

use ken_index::Rung;

use super::error::ModelError;
use super::file::{EndpointPart, FolderPart, ModelFile};
use crate::engine::Engine;
use crate::error::Error;

/// An endpoint to add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `openai` or `ollama`.
    pub dialect: String,
    pub url: String,
    pub model: String,
    /// The environment variable that holds the key.
    pub key_variable: Option<String>,
    /// Whether text may travel unencrypted to another machine.
    pub plain: bool,
}

/// A model to get from a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Such as `sentence-transformers/all-MiniLM-L6-v2`.
    pub name: String,
    /// The hub's address, where it is not the usual one.
    pub hub: Option<String>,
    /// Where models are kept on this machine.
    pub cache: PathBuf,
}

impl Engine {
    /// Takes a rung whose model is built in or was added.
    pub fn use_model(&mut self, rung: Rung) -> Result<(), Error> {
        check_build(rung)?;
        // A file that cannot be read is what this mends; what it named must be added again.
        let mut file = ModelFile::load(self).ok().flatten().unwrap_or_default();
        rung.name().clone_into(&mut file.rung);
        self.choose(file)
    }

    /// Takes the sentence transformer in `folder`, which stays where it is.
    pub fn add_folder(&mut self, folder: &Path) -> Result<(), Error> {
        self.check_place(Rung::Transformer)?;
        if !folder.is_dir() {
            let folder = folder.display().to_string();
            return Err(ModelError::NoFolder { folder }.into());
        }
        let mut file = ModelFile::load(self)?.unwrap_or_default();
        Rung::Transformer.name().clone_into(&mut file.rung);
        file.transformer = Some(FolderPart {
            folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
            stamp: None,
            digest: None,
        });
        self.choose(file)
    }

    /// Takes a model behind an endpoint, after asking it for its dimension.
    pub fn add_endpoint(&mut self, endpoint: &Endpoint) -> Result<(), Error> {
        self.check_place(Rung::Http)?;
        let mut file = ModelFile::load(self)?.unwrap_or_default();
        Rung::Http.name().clone_into(&mut file.rung);
        let mut part = EndpointPart {
            dialect: endpoint.dialect.clone(),
            url: endpoint.url.clone(),
            model: endpoint.model.clone(),
            dimension: 1,
            key_variable: endpoint.key_variable.clone(),
            plain: endpoint.plain,
        };
        part.dimension = probe(&part)?;
        file.http = Some(part);
        self.choose(file)
    }

    /// Gets a model's folder from a hub, unless it is here; returns where it is.
    pub fn fetch_model(
        &self,
        wanted: &Fetch,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<PathBuf, Error> {
        self.check_place(Rung::Transformer)?;
        Ok(fetch(wanted, progress)?)
    }

    /// Forgets every model that was added; what is built in serves.
    pub fn remove_models(&mut self) -> Result<(), Error> {
        self.choose(ModelFile::default())
    }

    /// Writes the choice down, if it can serve.
    fn choose(&mut self, mut file: ModelFile) -> Result<(), Error> {
        file.node = Some(self.ledger.node(&mut *self.world)?.to_string());
        let choice = file.choice(self)?;
        let embedder = super::open(&choice)?;
        file.remember(embedder.as_ref().and_then(|it| it.known()));
        file.store(self)?;
        self.serving = None;
        Ok(())
    }

    /// Says no before a folder is read or anybody is asked.
    fn check_place(&self, rung: Rung) -> Result<(), ModelError> {
        check_build(rung)?;
        match &self.place.git {
            Some(_) => Ok(()),
            None => Err(ModelError::OutsideGit),
        }
    }
}

fn check_build(rung: Rung) -> Result<(), ModelError> {
    let is_there = match rung {
        Rung::Transformer => cfg!(feature = "transformer"),
        Rung::Http => cfg!(feature = "http"),
        Rung::Static | Rung::None => true,
    };
    match is_there {
        true => Ok(()),
        false => Err(ModelError::NotInBuild { rung }),
    }
}

#[cfg(feature = "http")]
fn probe(part: &EndpointPart) -> Result<usize, ModelError> {
    Ok(ken_index::Http::probe(&part.checked()?)?)
}

#[cfg(not(feature = "http"))]
fn probe(_: &EndpointPart) -> Result<usize, ModelError> {
    Err(ModelError::NotInBuild { rung: Rung::Http })
}

#[cfg(all(feature = "http", feature = "transformer"))]
fn fetch(wanted: &Fetch, progress: &mut dyn FnMut(u64, u64)) -> Result<PathBuf, ModelError> {
    use ken_index::{Fetched, HUB};
    let hub = wanted.hub.as_deref().unwrap_or(HUB);
    match ken_index::fetch(hub, &wanted.name, &wanted.cache, progress)? {
        Fetched::New(folder) | Fetched::There(folder) => Ok(folder),
    }
}

#[cfg(not(all(feature = "http", feature = "transformer")))]
fn fetch(_: &Fetch, _: &mut dyn FnMut(u64, u64)) -> Result<PathBuf, ModelError> {
    Err(ModelError::CannotFetch)
}
