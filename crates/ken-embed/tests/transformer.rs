//! The transformer rung on the real all-MiniLM-L6-v2, against vectors that `tools/distill/transformer.py` wrote.
//!
//! The weights (90 MB) are not in the repository: `KEN_MINILM_DIR` names their folder. Where it is not set
//! the tests say so and check nothing; CI sets it, and then a folder that is not there is a failure.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::print_stderr, reason = "a test that checks nothing says why")]

use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use ken_embed::{Embedder as _, Transformer};

const TEXTS: &[u8] = include_bytes!("data/transformer.json.gz");
const VECTORS: &[u8] = include_bytes!("data/transformer.f32");

const FOLDER_VARIABLE: &str = "KEN_MINILM_DIR";
const DIMENSION: usize = 384;

/// Cosine to the reference that floats and bytes may miss 1 by.
const FLOATS_MISS: f64 = 1e-5;
const BYTES_MISS: f64 = 1e-3;

fn model() -> Option<Transformer> {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else {
        let is_ci = std::env::var_os("CI").is_some_and(|it| it == "true");
        assert!(!is_ci, "CI must set {FOLDER_VARIABLE}");
        eprintln!("not run: {FOLDER_VARIABLE} does not name the folder of the model");
        return None;
    };
    Some(Transformer::open(&PathBuf::from(folder)).unwrap())
}

fn texts() -> Vec<String> {
    let mut json = String::new();
    GzDecoder::new(TEXTS).read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

fn reference() -> Vec<Vec<f64>> {
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
    let Some(model) = model() else { return };
    let (texts, reference) = (texts(), reference());
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(texts.len(), reference.len());
    let floats = model.floats(&texts).unwrap();
    let bytes = model.embed(&texts).unwrap();
    for (index, wanted) in reference.iter().enumerate() {
        let text = texts[index];
        let exact: Vec<f64> = floats[index].iter().map(|it| f64::from(*it)).collect();
        let missed = 1.0 - cosine(&exact, wanted);
        assert!(missed < FLOATS_MISS, "{missed:e} for {text:?}");
        let kept: Vec<f64> = bytes[index]
            .components()
            .iter()
            .map(|it| f64::from(*it))
            .collect();
        let missed = 1.0 - cosine(&kept, wanted);
        assert!(missed < BYTES_MISS, "{missed:e} for {text:?}");
    }
}

#[test]
fn neighbours_in_a_batch_change_nothing() {
    let Some(model) = model() else { return };
    let texts = texts();
    let texts: Vec<&str> = texts.iter().take(12).map(String::as_str).collect();
    let together = model.embed(&texts).unwrap();
    for (text, vector) in texts.iter().zip(together) {
        let alone = model.embed(&[text]).unwrap().remove(0);
        assert!(1.0 - 1e-4 < alone.cosine(&vector), "{text:?}");
    }
}

#[test]
fn the_measured_model_is_known_by_its_digest() {
    let Some(model) = model() else { return };
    let model = model.model();
    assert_eq!(model.dimension, DIMENSION);
    assert_eq!(model.id, "transformer-384/9f0f33aa5fe4d0f9");
    assert_eq!(model.thresholds.strict, 0.46);
}
