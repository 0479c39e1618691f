//! Choice of the embedding model: a setting of this clone, never of the repository.
//!
//! The setting is stored in the git directory, so pulled or checked-out files cannot make Ken read
//! a folder or send text to an endpoint. A copied git directory is another clone, and its setting
//! is ignored. Without git, the setting would be in the folder and travel with it, so only built-in
//! models can be chosen there.
//!
//! An unavailable model never breaks a search: a fallback is used and reported. The fallback keeps
//! existing vectors, because they cost time or money.

mod error;
mod file;
pub(crate) mod selection;

use std::sync::Arc;

use ken_index::{Embedder, IndexError, ModelChoice, Vector, VectorStatus, VectorTable};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::notice::EngineNotice;
use file::ModelFile;

pub use error::ModelError;
pub use ken_index::Backend;
pub use selection::{ModelDownload, ModelEndpoint};

/// The embedding model in use by this process.
#[derive(Debug)]
pub struct ActiveModel {
    backend: Backend,
    embedder: Option<Box<dyn Embedder>>,
    vector_policy: VectorPolicy,
    /// The reason why this is a fallback; `None` for the configured model.
    fallback_reason: Option<String>,
}

/// Treatment of the vectors in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VectorPolicy {
    /// They belong to the active model and are updated.
    Update,
    /// They belong to a model that is unavailable, and must be preserved.
    Preserve,
}

/// Configuration and state of the embedding model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelReport {
    /// The configured backend, as spelled in its file.
    pub configured: String,
    pub served_by: Backend,
    /// The reason why `served_by` differs from `chosen`.
    pub fallback_reason: Option<String>,
    /// The id of the active model.
    pub id: Option<String>,
    pub dimension: Option<usize>,
    /// The folder of the configured transformer, if any.
    pub folder: Option<String>,
    /// URL and model name of the configured endpoint, if any.
    pub endpoint: Option<(String, String)>,
    /// Number of live entries.
    pub entries: u64,
    /// Number of entries the next search has to embed.
    pub outdated: u64,
}

impl ActiveModel {
    fn new(backend: Backend, embedder: Option<Box<dyn Embedder>>) -> Self {
        Self {
            backend,
            embedder,
            vector_policy: VectorPolicy::Update,
            fallback_reason: None,
        }
    }

    pub(crate) fn backend(&self) -> Backend {
        self.backend
    }

    pub(crate) fn embedder(&self) -> Option<&dyn Embedder> {
        self.embedder.as_deref()
    }

    /// Returns true if the vectors of another model must be preserved.
    pub(crate) fn preserves_vectors(&self) -> bool {
        self.vector_policy == VectorPolicy::Preserve
    }

    /// Returns true if the model depends on a configured folder or endpoint, which may be gone.
    pub(crate) fn is_configured(&self) -> bool {
        match self.backend {
            Backend::Transformer | Backend::Http => true,
            Backend::Static | Backend::None => false,
        }
    }
}

/// Returns the active model; opens it once per process.
pub(crate) fn active_model(engine: &mut Engine) -> Result<Arc<ActiveModel>, EngineError> {
    if let Some(serving) = &engine.active_model {
        return Ok(Arc::clone(serving));
    }
    match open_configured_model(engine) {
        Ok(serving) => Ok(set_active_model(engine, serving)),
        Err(why) => use_fallback_model(engine, describe_error(&why)),
    }
}

/// Returns the active model, reopened if the index has vectors of another model.
///
/// The user may have changed the configuration since a long-running process started.
pub(crate) fn refreshed_model(engine: &mut Engine) -> Result<Arc<ActiveModel>, EngineError> {
    let serving = active_model(engine)?;
    let id = serving.embedder().map_or("", |it| &it.model().id);
    if serving.preserves_vectors() || engine.index.holds_vectors_of(id)? {
        return Ok(serving);
    }
    engine.active_model = None;
    active_model(engine)
}

/// Embeds `texts` with the built-in model if it is active; returns its id and the vectors.
///
/// The similarity thresholds for claims are calibrated for the built-in model only.
pub(crate) fn built_in_vectors(
    engine: &mut Engine,
    texts: &[&str],
) -> Result<Option<(String, Vec<Vector>)>, EngineError> {
    let serving = active_model(engine)?;
    let is_built_in = serving.backend() == Backend::Static;
    let Some(embedder) = serving.embedder().filter(|_| is_built_in) else {
        return Ok(None);
    };
    let vectors = embedder.embed(texts).map_err(IndexError::from)?;
    Ok(Some((embedder.model().id.to_string(), vectors)))
}

/// The built-in model's vectors of many texts.
#[derive(Debug)]
pub(crate) struct BuiltInTable {
    model: String,
    vectors: VectorTable,
}

impl BuiltInTable {
    /// Returns the cosine of two texts by position.
    pub(crate) fn cosine(&self, one: usize, other: usize) -> f64 {
        self.vectors.cosine(one, other)
    }

    /// Returns the id of the model.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }
}

/// Like [`built_in_vectors`], for comparing many pairs of `texts`.
pub(crate) fn built_in_table(
    engine: &mut Engine,
    texts: &[&str],
) -> Result<Option<BuiltInTable>, EngineError> {
    let vectors = built_in_vectors(engine, texts)?;
    Ok(vectors.map(|(model, vectors)| BuiltInTable {
        model,
        vectors: VectorTable::new(&vectors),
    }))
}

/// Switches this process to a fallback and adds a notice with the reason.
///
/// The fallback is the built-in model, which needs its own vectors. If they would replace those
/// of another model, the fallback is keyword search only.
pub(crate) fn use_fallback_model(
    engine: &mut Engine,
    why: String,
) -> Result<Arc<ActiveModel>, EngineError> {
    let indexed = engine.index.held()?.model.unwrap_or_default();
    let built_in = Backend::Static.built_in();
    let own = built_in.as_ref().map_or("", |it| &it.model().id);
    let mut serving = if indexed.is_empty() || indexed == own {
        ActiveModel::new(Backend::Static, built_in)
    } else {
        ActiveModel {
            vector_policy: VectorPolicy::Preserve,
            ..ActiveModel::new(Backend::None, None)
        }
    };
    engine.notices.push(EngineNotice::ModelMissing {
        why: why.clone(),
        served_by: serving.backend,
    });
    serving.fallback_reason = Some(why);
    Ok(set_active_model(engine, serving))
}

/// Limits this process to built-in models, for hooks that must answer fast.
///
/// No model is loaded from a folder and no request is sent. If such a model is configured, its
/// vectors are preserved and only keywords are searched.
pub(crate) fn use_only_built_in_model(engine: &mut Engine) {
    if engine.active_model.is_some() {
        return;
    }
    let chosen = ModelFile::load(engine);
    let is_built_in = match &chosen {
        // Without a file, the built-in model is the default.
        Ok(None) => true,
        Ok(Some(file)) => [Backend::Static, Backend::None]
            .iter()
            .any(|rung| file.rung == rung.name()),
        Err(_) => false,
    };
    if !is_built_in {
        set_active_model(
            engine,
            ActiveModel {
                vector_policy: VectorPolicy::Preserve,
                ..ActiveModel::new(Backend::None, None)
            },
        );
    }
}

fn set_active_model(engine: &mut Engine, serving: ActiveModel) -> Arc<ActiveModel> {
    Arc::clone(engine.active_model.insert(Arc::new(serving)))
}

fn open_configured_model(engine: &Engine) -> Result<ActiveModel, ModelError> {
    let Some(mut file) = ModelFile::load(engine)? else {
        return Ok(ActiveModel::new(
            Backend::Static,
            Backend::Static.built_in(),
        ));
    };
    let choice = file.choice(engine)?;
    let embedder = open_embedder(&choice)?;
    // The file is read again, because another process may have chosen another model while this
    // one was loading.
    if let Some(embedder) = &embedder
        && file.update_known(embedder.known())
        && ModelFile::load(engine)?.is_some_and(|it| it.names_same_models(&file))
    {
        // A failed write only makes the next opening slower.
        let _ = file.store(engine);
    }
    Ok(ActiveModel::new(choice.rung(), embedder))
}

/// Returns the configuration of the model and the state of its vectors.
pub(crate) fn model_report(engine: &mut Engine) -> Result<ModelReport, EngineError> {
    let serving = active_model(engine)?;
    // The report contains the reason for a fallback, so the notice would repeat it.
    let is_repeated = |it: &EngineNotice| matches!(it, EngineNotice::ModelMissing { .. });
    engine.notices.retain(|it| !is_repeated(it));
    let file = ModelFile::load(engine).ok().flatten().unwrap_or_default();
    let held = engine.index.held()?;
    let id = serving.embedder().map(|it| it.model().id.to_string());
    Ok(ModelReport {
        outdated: match &id {
            None => 0,
            Some(id) => outdated_entries(&held, id),
        },
        entries: held.entries,
        configured: file.rung.clone(),
        served_by: serving.backend,
        fallback_reason: serving.fallback_reason.clone(),
        id,
        dimension: serving.embedder().map(|it| it.model().dimension),
        folder: file.folder().map(|it| it.display().to_string()),
        endpoint: file.endpoint(),
    })
}

/// Returns the number of entries without a current vector; all of them after a change of model.
fn outdated_entries(status: &VectorStatus, id: &str) -> u64 {
    if status.model.as_deref() == Some(id) {
        status.waiting
    } else {
        status.entries
    }
}

fn open_embedder(choice: &ModelChoice) -> Result<Option<Box<dyn Embedder>>, ModelError> {
    Ok(choice.open()?)
}

/// Formats an error, its causes and its hint on one line.
fn describe_error(error: &ModelError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    match error.hint() {
        Some(hint) => format!("{text} ({hint})"),
        None => text,
    }
}
