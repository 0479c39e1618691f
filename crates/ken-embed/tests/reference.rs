//! Tokenizer and static table against the reference data written by `tools/distill/reference.py`.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::Read;

use flate2::read::GzDecoder;
use ken_embed::{Backend, WordPiece};

const LINES: &[u8] = include_bytes!("data/lines.txt.gz");
const LINE_SUMS: &[u8] = include_bytes!("data/lines.sums.u32");
const CHARACTER_SUMS: &[u8] = include_bytes!("data/characters.sums.u32");
const VECTORS: &[u8] = include_bytes!("data/vectors.f32");
const VOCABULARY: &[u8] = include_bytes!("../data/vocabulary.fst");

/// Number of characters per sum in `CHARACTER_SUMS`.
const CHARACTERS_PER_SUM: u32 = 4096;
/// Every n-th line has its vector in `VECTORS`.
const VECTOR_EVERY: usize = 100;
const FNV_OFFSET_BASIS: u32 = 0x811c_9dc5;

fn reference_lines() -> Vec<String> {
    let mut text = String::new();
    GzDecoder::new(LINES).read_to_string(&mut text).unwrap();
    text.split('\n').map(str::to_owned).collect()
}

fn read_u32s(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let number = |chunk: &[u8]| u32::from_le_bytes(chunk.try_into().unwrap());
    bytes.chunks_exact(4).map(number)
}

fn add_to_sum(sum: u32, ids: &[u32]) -> u32 {
    ids.iter()
        .fold(sum, |sum, id| (sum ^ id).wrapping_mul(0x0100_0193))
}

#[test]
fn ten_thousand_lines_have_the_reference_tokens() {
    let (tokens, lines) = (WordPiece::new(VOCABULARY).unwrap(), reference_lines());
    assert_eq!(lines.len(), 10_000);
    assert_eq!(LINE_SUMS.len(), 4 * lines.len());
    for (index, (line, sum)) in lines.iter().zip(read_u32s(LINE_SUMS)).enumerate() {
        let ids = tokens.ids(line);
        assert_eq!(
            add_to_sum(FNV_OFFSET_BASIS, &ids),
            sum,
            "line {index}: {line:?} {ids:?}"
        );
    }
}

#[test]
fn every_character_has_the_reference_tokens() {
    let tokens = WordPiece::new(VOCABULARY).unwrap();
    let mut differing = Vec::new();
    for (first, sum) in (0..)
        .step_by(CHARACTERS_PER_SUM as usize)
        .zip(read_u32s(CHARACTER_SUMS))
    {
        let found = (first..first + CHARACTERS_PER_SUM)
            .filter_map(char::from_u32)
            .map(|character| tokens.ids(&format!("a{character}b")))
            .fold(FNV_OFFSET_BASIS, |sum, ids| add_to_sum(sum, &ids));
        if found != sum {
            differing.push(format!("{first:#x}"));
        }
    }
    assert!(differing.is_empty(), "blocks at {differing:?}");
}

#[test]
fn vectors_are_those_of_the_reference() {
    let lines = reference_lines();
    let texts: Vec<&str> = lines
        .iter()
        .step_by(VECTOR_EVERY)
        .map(String::as_str)
        .collect();
    let table = Backend::Static.built_in().unwrap();
    let vectors = table.embed(&texts).unwrap();
    let wanted: Vec<f64> = read_u32s(VECTORS)
        .map(|bits| f32::from_bits(bits).into())
        .collect();
    let wanted = wanted.chunks_exact(table.model().dimension);
    assert_eq!(wanted.len(), vectors.len());
    for ((text, vector), wanted) in texts.iter().zip(vectors).zip(wanted) {
        if wanted.iter().all(|component| *component == 0.0) {
            assert!(vector.is_zero(), "{text:?}");
            continue;
        }
        let pairs = vector.components().iter().zip(wanted);
        let cosine = pairs.map(|(a, b)| f64::from(*a) * b).sum::<f64>() / vector.norm();
        assert!(cosine > 1.0 - 1e-3, "{cosine} for {text:?}");
    }
}
