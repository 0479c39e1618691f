//! Measures a folder's model on the development split: `calibrate FOLDER EVAL-DIR [SCORES]`.
//!
//! Prints nDCG@10 by meaning alone, how many queries reach which cosine, and, where `SCORES` holds
//! the keyword scores of the same queries (little-endian 32-bit floats, prose before code, one row
//! of lessons a query), nDCG@10 of the blend by its weight. The test split and every second
//! unrelated question are never looked at.

#![expect(clippy::print_stdout, reason = "a table is its answer")]

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::time::Instant;
use std::{env, fs};

use ken_embed::{Embedder, TransformerEmbedder, Vector};
use serde::Deserialize;

/// Results that count.
const DEPTH: usize = 10;

/// Texts embedded at once.
const BATCH: usize = 64;

type Failure = Box<dyn Error>;

#[derive(Deserialize)]
struct Lesson {
    id: String,
    statement: String,
}

#[derive(Deserialize)]
struct Asked {
    text: String,
    relevant: BTreeSet<String>,
    split: String,
}

#[derive(Deserialize)]
struct Pair {
    a: String,
    b: String,
    label: u8,
    split: String,
}

#[derive(Deserialize)]
struct Conversation {
    qa: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    question: String,
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder, dir, scores @ ..] = arguments.as_slice() else {
        return Err("usage: calibrate FOLDER EVAL-DIR [SCORES]".into());
    };
    let (dir, started) = (Path::new(dir), Instant::now());
    let model = TransformerEmbedder::open(Path::new(folder))?;
    println!("{:?}, opened in {:?}", model.model(), started.elapsed());
    let lessons: Vec<Lesson> = lines(&dir.join("entries.jsonl"))?;
    let started = Instant::now();
    let documents = embed(&model, lessons.iter().map(|it| &*it.statement))?;
    println!("{} lessons in {:?}", lessons.len(), started.elapsed());
    let mut keywords = match scores.first() {
        Some(path) => floats(Path::new(path))?,
        None => Vec::new(),
    };
    for name in ["queries", "queries_code"] {
        let asked = queries(dir, name)?;
        let cosines = cosines(&model, asked.iter().map(|it| &*it.text), &documents)?;
        println!("{name}: {} queries", asked.len());
        reach(&cosines);
        let count = (asked.len() * lessons.len()).min(keywords.len());
        let words: Vec<f64> = keywords.drain(..count).collect();
        for twentieth in 0..=20 {
            let share = f64::from(twentieth) / 20.0;
            if !words.is_empty() || twentieth == 20 {
                let rows = cosines.iter().enumerate();
                let ndcgs = rows.map(|(index, row)| {
                    let words = words.chunks(lessons.len()).nth(index);
                    ndcg(&blend(row, words, share), &lessons, &asked[index].relevant)
                });
                println!(
                    "  share {share:.2}: nDCG@{DEPTH} {:.2}",
                    100.0 * mean(ndcgs)
                );
            }
        }
    }
    println!("unrelated questions, every second:");
    let strangers = strangers(dir)?;
    reach(&cosines(
        &model,
        strangers.iter().map(String::as_str),
        &documents,
    )?);
    duplicates(&model, dir)
}

/// Prints the share of queries whose best lesson is at least so near.
fn reach(cosines: &[Vec<f64>]) {
    let best: Vec<f64> = cosines
        .iter()
        .map(|row| row.iter().copied().fold(-1.0, f64::max))
        .collect();
    print_shares(&best);
}

fn print_shares(values: &[f64]) {
    let mut line = String::from(" ");
    for step in 5..=45 {
        let least = f64::from(step) * 0.02;
        let share = mean(values.iter().map(|it| f64::from(u8::from(least <= *it))));
        line += &format!(" {least:.2}:{:.1}%", 100.0 * share);
    }
    println!("{line}");
}

fn duplicates(model: &dyn Embedder, dir: &Path) -> Result<(), Failure> {
    let mut pairs: Vec<Pair> = both(dir, "duplicate_pairs")?;
    pairs.retain(|it| it.split == "dev");
    let a = embed(model, pairs.iter().map(|it| &*it.a))?;
    let b = embed(model, pairs.iter().map(|it| &*it.b))?;
    let near: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a.cosine(b)).collect();
    for (label, name) in [(1, "pairs that say the same"), (0, "pairs that do not")] {
        let of = pairs.iter().zip(&near).filter(|(it, _)| it.label == label);
        println!("{name}:");
        print_shares(&of.map(|(_, cosine)| *cosine).collect::<Vec<_>>());
    }
    Ok(())
}

fn cosines<'a>(
    model: &dyn Embedder,
    texts: impl Iterator<Item = &'a str>,
    documents: &[Vector],
) -> Result<Vec<Vec<f64>>, Failure> {
    let row = |query: &Vector| documents.iter().map(|it| it.cosine(query)).collect();
    Ok(embed(model, texts)?.iter().map(row).collect())
}

fn embed<'a>(
    model: &dyn Embedder,
    texts: impl Iterator<Item = &'a str>,
) -> Result<Vec<Vector>, Failure> {
    let texts: Vec<&str> = texts.collect();
    let mut vectors = Vec::with_capacity(texts.len());
    for batch in texts.chunks(BATCH) {
        vectors.extend(model.embed(batch)?);
    }
    Ok(vectors)
}

/// Adds both scores, each stretched to [0, 1].
fn blend(near: &[f64], words: Option<&[f64]>, share: f64) -> Vec<f64> {
    let near = stretch(near);
    let words = stretch(words.unwrap_or(&[]));
    let of = |index: usize| words.get(index).copied().unwrap_or(0.0);
    let pairs = near.iter().enumerate();
    pairs
        .map(|(index, near)| share * near + (1.0 - share) * of(index))
        .collect()
}

fn stretch(scores: &[f64]) -> Vec<f64> {
    let low = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let high = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = (high - low).max(1e-9);
    scores.iter().map(|it| (it - low) / width).collect()
}

fn ndcg(scores: &[f64], lessons: &[Lesson], relevant: &BTreeSet<String>) -> f64 {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let best: f64 = (0..relevant.len().min(DEPTH)).map(gain).sum();
    let top = order.iter().take(DEPTH).enumerate();
    let hits = top.filter(|(_, index)| relevant.contains(&lessons[**index].id));
    hits.map(|(rank, _)| gain(rank)).sum::<f64>() / best
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), it| (sum + it, count + 1.0));
    sum / count
}

fn queries(dir: &Path, name: &str) -> Result<Vec<Asked>, Failure> {
    let mut asked: Vec<Asked> = both(dir, name)?;
    asked.retain(|it| it.split == "dev");
    Ok(asked)
}

fn strangers(dir: &Path) -> Result<Vec<String>, Failure> {
    let text = fs::read_to_string(dir.join("locomo10.json"))?;
    let conversations: Vec<Conversation> = serde_json::from_str(&text)?;
    let questions = conversations.into_iter().flat_map(|it| it.qa);
    Ok(questions.map(|it| it.question).step_by(2).collect())
}

fn both<T: serde::de::DeserializeOwned>(dir: &Path, name: &str) -> Result<Vec<T>, Failure> {
    let mut all = lines(&dir.join(format!("{name}.jsonl")))?;
    all.extend(lines(&dir.join(format!("{name}.copyleft.jsonl")))?);
    Ok(all)
}

fn lines<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Vec<T>, Failure> {
    let text = fs::read_to_string(path)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Ok(lines.map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn floats(path: &Path) -> Result<Vec<f64>, Failure> {
    let bytes = fs::read(path)?;
    let float = |chunk: &[u8; 4]| f64::from(f32::from_le_bytes(*chunk));
    Ok(bytes.as_chunks().0.iter().map(float).collect())
}
