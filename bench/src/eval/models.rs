//! Models to measure beside the one that is built in.

use ken_index::{EmbedError, Embedder, EmbeddingModel};

/// A model whose share in the blend is ours to set; its vectors stay its own.
#[derive(Debug)]
pub(super) struct Blended {
    inner: Box<dyn Embedder>,
    model: EmbeddingModel,
}

impl Blended {
    pub(super) fn new(inner: Box<dyn Embedder>) -> Self {
        let model = inner.model().clone();
        Self { inner, model }
    }

    pub(super) fn set(&mut self, blend: f64) {
        self.model.blend = blend;
    }
}

impl Embedder for Blended {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<ken_index::Vector>, EmbedError> {
        self.inner.embed(texts)
    }
}

/// Opens the sentence transformer `KEN_MINILM_DIR` names.
#[cfg(feature = "transformer")]
pub(super) fn transformer() -> Result<Box<dyn Embedder>, String> {
    let folder = std::env::var_os("KEN_MINILM_DIR").ok_or("KEN_MINILM_DIR names no folder")?;
    let choice = ken_index::ModelChoice::Transformer {
        folder: folder.into(),
        known: None,
    };
    let opened = choice.open().map_err(|error| format!("{error:?}"))?;
    opened.ok_or_else(|| "no model".to_owned())
}

#[cfg(not(feature = "transformer"))]
pub(super) fn transformer() -> Result<Box<dyn Embedder>, String> {
    Err(
        "build it in: cargo run -p ken-bench --features transformer -- eval --model transformer"
            .to_owned(),
    )
}
