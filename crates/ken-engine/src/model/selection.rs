//! Selection of the embedding model: adding, selecting and removing models.

use std::path::{Path, PathBuf};

use ken_index::Backend;

use super::error::ModelError;
use super::file::{EndpointSection, ModelFile, TransformerSection};
use crate::engine::Engine;
use crate::error::EngineError;

/// An embedding endpoint to add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelEndpoint {
    /// `openai` or `ollama`.
    pub dialect: String,
    pub url: String,
    pub model: String,
    /// The environment variable that contains the API key.
    pub key_variable: Option<String>,
    /// Allows unencrypted connections to other machines.
    pub allow_plaintext: bool,
}

/// A model to download from a model hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelDownload {
    /// Such as `sentence-transformers/all-MiniLM-L6-v2`.
    pub name: String,
    /// The address of the model hub; `None` for the default one.
    pub hub: Option<String>,
    /// The folder for downloaded models on this machine.
    pub cache: PathBuf,
}

/// Selects a backend whose model is built in or was added.
pub(crate) fn select_model(engine: &mut Engine, rung: Backend) -> Result<(), EngineError> {
    ensure_in_build(rung)?;
    // This command is the documented repair of an unreadable file, so the file is replaced. The
    // models it named must be added again.
    let mut file = ModelFile::load(engine).ok().flatten().unwrap_or_default();
    rung.name().clone_into(&mut file.rung);
    store_model_choice(engine, file)
}

/// Selects the sentence transformer in `folder`, which is not copied.
pub(crate) fn add_model_folder(engine: &mut Engine, folder: &Path) -> Result<(), EngineError> {
    ensure_configurable(engine, Backend::Transformer)?;
    if !folder.is_dir() {
        let folder = folder.display().to_string();
        return Err(ModelError::NoFolder { folder }.into());
    }
    let mut file = ModelFile::load(engine)?.unwrap_or_default();
    Backend::Transformer.name().clone_into(&mut file.rung);
    file.transformer = Some(TransformerSection {
        // Later commands run in other directories.
        folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
        stamp: None,
        digest: None,
    });
    store_model_choice(engine, file)
}

/// Selects a model behind an endpoint, after requesting its dimension.
pub(crate) fn add_model_endpoint(
    engine: &mut Engine,
    endpoint: &ModelEndpoint,
) -> Result<(), EngineError> {
    ensure_configurable(engine, Backend::Http)?;
    let mut file = ModelFile::load(engine)?.unwrap_or_default();
    Backend::Http.name().clone_into(&mut file.rung);
    let mut part = EndpointSection {
        dialect: endpoint.dialect.clone(),
        url: endpoint.url.clone(),
        model: endpoint.model.clone(),
        // A placeholder until the probe below returns the real one.
        dimension: 1,
        key_variable: endpoint.key_variable.clone(),
        plain: endpoint.allow_plaintext,
    };
    part.dimension = probe_dimension(&part)?;
    file.http = Some(part);
    store_model_choice(engine, file)
}

/// Downloads a model unless it is cached; returns its folder.
pub(crate) fn fetch_model(
    engine: &Engine,
    wanted: &ModelDownload,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<PathBuf, EngineError> {
    ensure_configurable(engine, Backend::Transformer)?;
    Ok(download_model(wanted, progress)?)
}

/// Removes every added model; the built-in model becomes active.
pub(crate) fn remove_models(engine: &mut Engine) -> Result<(), EngineError> {
    store_model_choice(engine, ModelFile::default())
}

/// Stores the choice if its model can be opened.
fn store_model_choice(engine: &mut Engine, mut file: ModelFile) -> Result<(), EngineError> {
    file.node = Some(engine.ledger.node(&mut *engine.runtime)?.to_string());
    // The model is opened before the file is written: a wrong choice fails here and not in the
    // next search.
    let choice = file.choice(engine)?;
    let embedder = super::open_embedder(&choice)?;
    file.update_known(embedder.as_ref().and_then(|it| it.known()));
    file.store(engine)?;
    engine.active_model = None;
    Ok(())
}

/// Fails early, before a folder is read or a request is sent.
fn ensure_configurable(engine: &Engine, rung: Backend) -> Result<(), ModelError> {
    ensure_in_build(rung)?;
    match &engine.place.git {
        Some(_) => Ok(()),
        None => Err(ModelError::OutsideGit),
    }
}

fn ensure_in_build(rung: Backend) -> Result<(), ModelError> {
    let is_in_build = match rung {
        Backend::Transformer => cfg!(feature = "transformer"),
        Backend::Http => cfg!(feature = "http"),
        Backend::Static | Backend::None => true,
    };
    if is_in_build {
        Ok(())
    } else {
        Err(ModelError::NotInBuild { rung })
    }
}

#[cfg(feature = "http")]
fn probe_dimension(part: &EndpointSection) -> Result<usize, ModelError> {
    Ok(ken_index::HttpEmbedder::probe(&part.to_endpoint()?)?)
}

#[cfg(not(feature = "http"))]
fn probe_dimension(_: &EndpointSection) -> Result<usize, ModelError> {
    Err(ModelError::NotInBuild {
        rung: Backend::Http,
    })
}

#[cfg(all(feature = "http", feature = "transformer"))]
fn download_model(
    wanted: &ModelDownload,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<PathBuf, ModelError> {
    use ken_index::{DEFAULT_HUB, FetchOutcome};
    let hub = wanted.hub.as_deref().unwrap_or(DEFAULT_HUB);
    match ken_index::fetch_model(hub, &wanted.name, &wanted.cache, progress)? {
        FetchOutcome::New(folder) | FetchOutcome::Cached(folder) => Ok(folder),
    }
}

#[cfg(not(all(feature = "http", feature = "transformer")))]
fn download_model(_: &ModelDownload, _: &mut dyn FnMut(u64, u64)) -> Result<PathBuf, ModelError> {
    Err(ModelError::CannotFetch)
}
