//! How many corrections `ken capture` finds in messages that people typed in their own words:
//! `cargo ken-bench eval corrections`.
//!
//! `bench/data/corrections` has messages in three languages by writers who knew the task ("correct
//! a coding agent in your own words") and none of the rules. `--train` computes the weights of
//! [`LessonModel`] from the development half; the held-out half is only measured.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use ken_digest::transcript::lesson_score::{LessonModel, feature_scale, text_features};
use ken_digest::transcript::{
    ExtractionKind, TranscriptAgent, extract_transcript_claims, parse_transcript,
};
use serde::Deserialize;
use serde_json::json;
use xtask::repository::{Finding, Repository};

/// Minimum share of lessons of the held-out half that is found.
const RECALL_MIN: f64 = 0.6;
/// Maximum share of messages without a lesson that gives a claim.
const FALSE_MAX: f64 = 0.05;
/// Share of messages without a lesson that the threshold lets through in cross-validation: below
/// [`FALSE_MAX`], because other writers differ from the known ones.
const FALSE_IN_TRAINING: f64 = 0.03;
/// A feature needs this many messages.
const MESSAGES_MIN: usize = 3;
/// Steps, rate and weight decay of the gradient descent (`AdaGrad` on all messages at once).
const STEPS: usize = 60;
const RATE: f64 = 0.3;
const DECAY: f64 = 0.01;

const WEIGHTS: &str = "crates/ken-digest/src/transcript/lesson_score/weights.tsv";

#[derive(Deserialize)]
struct Message {
    id: String,
    lang: String,
    context: String,
    message: String,
    lesson: bool,
}

impl Message {
    /// Returns the writer, the part of the id before the dash.
    fn writer(&self) -> &str {
        self.id.split('-').next().unwrap_or_default()
    }

    /// Returns whether `ken capture` finds a correction in a conversation with this message.
    fn is_captured(&self) -> bool {
        let said = json!({"type": "assistant", "sessionId": "s", "message": {"content": [{"type": "text", "text": self.context}]}});
        let asked = json!({"type": "user", "sessionId": "s", "message": {"role": "user", "content": self.message}});
        let transcript = parse_transcript(
            TranscriptAgent::ClaudeCode,
            format!("{said}\n{asked}\n").as_bytes(),
        );
        let claims = extract_transcript_claims(&transcript, None);
        claims
            .iter()
            .any(|it| it.found == ExtractionKind::Correction)
    }
}

pub(super) fn report(repository: &Repository, options: &[&str]) -> Result<Vec<Finding>, String> {
    let dir = repository.root().join("bench/data/corrections");
    let development = load(&dir.join("development.jsonl"))?;
    match options {
        [] => {}
        ["--verbose"] => {
            for it in development
                .iter()
                .filter(|it| it.is_captured() != it.lesson)
            {
                println!("{} {}: {}", it.id, it.lesson, it.message);
            }
            return Ok(Vec::new());
        }
        ["--train"] => {
            let model = train_with_threshold(&development);
            let path = repository.root().join(WEIGHTS);
            std::fs::write(&path, model.to_text()).map_err(|error| error.to_string())?;
            println!(
                "{} weights, {WEIGHTS}; build again to use them",
                model.weights.len()
            );
            return Ok(Vec::new());
        }
        _ => return Err(super::USAGE.to_owned()),
    }
    // The model knows the development half, so its figure there is the one of cross-validation.
    let scored = cross_validate(&development);
    let threshold = LessonModel::built_in().threshold;
    let share = |lesson: bool| {
        let of: Vec<f64> = scored
            .iter()
            .filter(|(_, it)| *it == lesson)
            .map(|it| it.0)
            .collect();
        ratio(of.iter().filter(|it| **it >= threshold).count(), of.len())
    };
    println!("development, model alone, each writer scored by the others' model:");
    println!("  recall {:.2}, false {:.3}", share(true), share(false));
    figures("development, as captured (seen in training)", &development);
    let held_out = load(&dir.join("held-out.jsonl"))?;
    let (recall, wrong) = figures("held out, as captured", &held_out);
    let mut findings = Vec::new();
    if recall < RECALL_MIN || wrong > FALSE_MAX {
        findings.push(Finding {
            path: "bench/data/corrections/held-out.jsonl".to_owned(),
            line: 1,
            message: format!("recall {recall:.2}, false {wrong:.3}"),
        });
    }
    Ok(findings)
}

/// Prints recall and false claims, in all and per language; returns those of all.
fn figures(title: &str, messages: &[Message]) -> (f64, f64) {
    let mut by_language: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for it in messages {
        let captured = usize::from(it.is_captured());
        for name in ["all", &it.lang] {
            let counts = by_language.entry(name).or_default();
            let at = if it.lesson { 0 } else { 2 };
            counts[at] += captured;
            counts[at + 1] += 1;
        }
    }
    println!("{title}:");
    for (name, [found, lessons, wrong, others]) in &by_language {
        let claims = ratio(*wrong, found + wrong);
        println!(
            "  {name:<4} lessons found {found}/{lessons} = {:.2}, others {wrong}/{others} = {:.3}, of all claims {claims:.3}",
            ratio(*found, *lessons),
            ratio(*wrong, *others)
        );
    }
    let [found, lessons, wrong, others] = by_language["all"];
    (ratio(found, lessons), ratio(wrong, others))
}

fn train_with_threshold(messages: &[Message]) -> LessonModel {
    let scored = cross_validate(messages);
    let mut others: Vec<f64> = scored.iter().filter(|it| !it.1).map(|it| it.0).collect();
    others.sort_by(|a, b| b.total_cmp(a));
    let let_through = (0..others.len())
        .take_while(|count| ratio(*count, others.len()) <= FALSE_IN_TRAINING)
        .count();
    let all: Vec<&Message> = messages.iter().collect();
    let mut model = train(&all);
    model.threshold = others[let_through.min(others.len() - 1)];
    model
}

/// Scores the messages of each writer with a model of the other writers' messages.
fn cross_validate(messages: &[Message]) -> Vec<(f64, bool)> {
    let writers: BTreeSet<&str> = messages.iter().map(Message::writer).collect();
    let mut scored = Vec::new();
    for writer in writers {
        let (own, others): (Vec<&Message>, Vec<&Message>) =
            messages.iter().partition(|it| it.writer() == writer);
        let model = train(&others);
        scored.extend(
            own.iter()
                .map(|it| (model.score_message(&it.message), it.lesson)),
        );
    }
    scored
}

/// Trains a logistic regression.
fn train(messages: &[&Message]) -> LessonModel {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for feature in messages.iter().flat_map(|it| text_features(&it.message)) {
        *counts.entry(feature).or_default() += 1;
    }
    counts.retain(|_, count| *count >= MESSAGES_MIN);
    let mut model = LessonModel {
        weights: counts.into_keys().map(|it| (it, 0.0)).collect(),
        ..LessonModel::default()
    };
    let rows: Vec<(Vec<String>, f64)> = messages
        .iter()
        .map(|it| {
            (
                model.features(&it.message, true),
                if it.lesson { 1.0 } else { 0.0 },
            )
        })
        .collect();
    let mut squares: HashMap<&str, f64> = HashMap::new();
    let mut bias_squares = f64::MIN_POSITIVE;
    for _ in 0..STEPS {
        // Sorted, so that sums are taken in the same order in every run.
        let mut gradient: BTreeMap<&str, f64> = BTreeMap::new();
        let mut bias_gradient = 0.0;
        for (features, label) in &rows {
            let scale = feature_scale(features.len());
            let known = features.iter().filter_map(|it| model.weights.get(it));
            let score = model.bias + known.sum::<f64>() * scale;
            let error = 1.0 / (1.0 + (-score).exp()) - label;
            bias_gradient += error;
            for feature in features {
                *gradient.entry(feature).or_default() += error * scale;
            }
        }
        bias_squares += bias_gradient * bias_gradient;
        model.bias -= RATE * bias_gradient / bias_squares.sqrt();
        for (feature, slope) in gradient {
            let weight = model.weights.entry(feature.to_owned()).or_default();
            let slope = slope + DECAY * *weight;
            let sum = squares.entry(feature).or_insert(1e-8);
            *sum += slope * slope;
            *weight -= RATE * slope / sum.sqrt();
        }
    }
    model
}

fn load(path: &Path) -> Result<Vec<Message>, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|error| error.to_string()));
    lines.collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of messages")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
