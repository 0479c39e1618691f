//! Transformer backend on the real all-MiniLM-L6-v2, against vectors written by
//! `tools/distill/transformer.py`.
//!
//! The weights (90 MB) are not in the repository: `KEN_MINILM_DIR` names their folder. Without it
//! the tests print a notice and check nothing; CI sets it, and then a missing folder is a failure.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::print_stderr, reason = "a test that checks nothing says why")]

use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use ken_embed::{Embedder as _, TransformerEmbedder};

const TEXTS: &[u8] = include_bytes!("data/transformer.json.gz");
const VECTORS: &[u8] = include_bytes!("data/transformer.f32");

const FOLDER_VARIABLE: &str = "KEN_MINILM_DIR";
const DIMENSION: usize = 384;

/// Maximum distance from cosine 1 to the reference, for float and for byte weights.
const FLOAT_TOLERANCE: f64 = 1e-5;
const BYTE_TOLERANCE: f64 = 1e-3;

fn open_model() -> Option<TransformerEmbedder> {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else {
        let is_ci = std::env::var_os("CI").is_some_and(|it| it == "true");
        assert!(!is_ci, "CI must set {FOLDER_VARIABLE}");
        eprintln!("not run: {FOLDER_VARIABLE} does not name the folder of the model");
        return None;
    };
    Some(TransformerEmbedder::open(&PathBuf::from(folder)).unwrap())
}

fn reference_texts() -> Vec<String> {
    let mut json = String::new();
    GzDecoder::new(TEXTS).read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

fn reference_vectors() -> Vec<Vec<f64>> {
    let number = |chunk: &[u8]| f64::from(f32::from_le_bytes(chunk.try_into().unwrap()));
    let numbers: Vec<f64> = VECTORS.chunks_exact(4).map(number).collect();
    numbers
        .chunks_exact(DIMENSION)
        .map(<[f64]>::to_vec)
        .collect()
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn vectors_are_those_of_the_reference() {
    let Some(model) = open_model() else { return };
    let (texts, reference) = (reference_texts(), reference_vectors());
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(texts.len(), reference.len());
    let floats = model.floats(&texts).unwrap();
    let bytes = model.embed(&texts).unwrap();
    for (index, wanted) in reference.iter().enumerate() {
        let text = texts[index];
        let exact: Vec<f64> = floats[index].iter().map(|it| f64::from(*it)).collect();
        let missed = 1.0 - cosine(&exact, wanted);
        assert!(missed < FLOAT_TOLERANCE, "{missed:e} for {text:?}");
        let kept: Vec<f64> = bytes[index]
            .components()
            .iter()
            .map(|it| f64::from(*it))
            .collect();
        let missed = 1.0 - cosine(&kept, wanted);
        assert!(missed < BYTE_TOLERANCE, "{missed:e} for {text:?}");
    }
}

#[test]
fn neighbors_in_a_batch_change_nothing() {
    let Some(model) = open_model() else { return };
    let texts = reference_texts();
    let texts: Vec<&str> = texts.iter().take(12).map(String::as_str).collect();
    let together = model.embed(&texts).unwrap();
    for (text, vector) in texts.iter().zip(together) {
        let alone = model.embed(&[text]).unwrap().remove(0);
        assert!(alone.cosine(&vector) > 1.0 - 1e-4, "{text:?}");
    }
}

#[test]
fn the_measured_model_is_known_by_its_digest() {
    let Some(model) = open_model() else { return };
    let model = model.model();
    assert_eq!(model.dimension, DIMENSION);
    assert_eq!(model.id, "transformer-384/9f0f33aa5fe4d0f9");
    assert_eq!(model.thresholds.strict, 0.46);
}
