//! Other people's labeled secrets and attacks.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use ken_guard::{ScanLevel, TextMode};
use serde::Deserialize;

use super::{Bar, Row, Said};

/// Names of labeled positives that are no secret: identifiers, addresses and digests their rules
/// report as context.
const NO_SECRET: &[&str] = &[
    "Account ID",
    "Account Identifier",
    "Account Name",
    "API ID",
    "App ID",
    "Application ID",
    "Bot ID",
    "Bucket",
    "Client ID",
    "Device Key",
    "Domain",
    "Email",
    "Host",
    "Instance URL",
    "JFrog URL",
    "Org Name",
    "Organization ID",
    "Password Hash",
    "Product ID",
    "Public API Token",
    "Public Access Token",
    "PUBLIC Key",
    "Publish Key",
    "Recipient",
    "Reporter ID",
    "Resource Name",
    "Search URL",
    "Spotify API ID",
    "Subscription Key",
    "Username",
];

/// A name that contains one of [`NO_SECRET`] and is a secret nevertheless.
const SECRET_AFTER_ALL: &[&str] = &[
    "Generic Username and Password",
    "URI with Username and Secret",
];

/// A value shorter than this is not looked for among the positives.
const SHARED_CHARS_MIN: usize = 8;

#[derive(Deserialize)]
struct Labeled {
    label: u8,
    #[serde(default)]
    name: String,
    text: String,
    #[serde(default)]
    src: String,
}

/// Scores the two sets of rule authors' examples.
pub(super) fn secrets(dir: &Path, verbose: bool) -> Result<Vec<Row>, String> {
    let one = read(&dir.join("secrets_noseyparker_examples.jsonl.gz"))?;
    let other = read(&dir.join("secrets_kingfisher_examples.jsonl.gz"))?;
    let mut rows = Vec::new();
    for (name, set) in [("Nosey Parker", &one), ("Kingfisher", &other)] {
        let positives: Vec<&Labeled> = set.iter().filter(|it| it.label == 1).collect();
        let secrets: Vec<&Labeled> = positives
            .iter()
            .copied()
            .filter(|it| is_secret(&it.name))
            .collect();
        rows.push(recall(
            &format!("{name}, positives that are secrets: found"),
            &secrets,
            Bar::AtLeast(0.85, ">= 85 %"),
            verbose,
        ));
        rows.push(recall(
            &format!("{name}, all positives: found"),
            &positives,
            Bar::None,
            false,
        ));
        let grave = |it: &&&Labeled| ScanLevel::Medium <= Said::of(&it.text, TextMode::Code).scan;
        let refused = secrets.iter().filter(grave).count();
        rows.push(Row::share(
            format!("{name}, secrets: found and not called an example"),
            refused,
            secrets.len(),
            Bar::None,
        ));
        let prose = secrets
            .iter()
            .filter(|it| Said::of(&it.text, TextMode::Prose).names_a_secret())
            .count();
        rows.push(Row::share(
            format!("{name}, secrets, read as prose: found"),
            prose,
            secrets.len(),
            Bar::None,
        ));
    }
    rows.extend(negatives(&one, &other, verbose));
    Ok(rows)
}

fn is_secret(name: &str) -> bool {
    SECRET_AFTER_ALL.contains(&name) || !NO_SECRET.iter().any(|part| name.contains(part))
}

fn recall(what: &str, set: &[&Labeled], bar: Bar, verbose: bool) -> Row {
    let mut missed: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = 0;
    for it in set {
        if Said::of(&it.text, TextMode::Code).names_a_secret() {
            found += 1;
        } else {
            *missed.entry(&it.name).or_default() += 1;
        }
    }
    if verbose {
        let list: Vec<String> = missed
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        println!("{what}; missed: {}", list.join(", "));
    }
    Row::share(what, found, set.len(), bar)
}

/// The negatives are negative for one rule each. Where the very value that was flagged is a labeled
/// positive in the same data, both labels cannot be met: those rows are counted apart.
fn negatives(one: &[Labeled], other: &[Labeled], verbose: bool) -> Vec<Row> {
    let positives: Vec<&str> = one
        .iter()
        .chain(other)
        .filter(|it| it.label == 1)
        .map(|it| it.text.as_str())
        .collect();
    let negatives: Vec<&Labeled> = one.iter().filter(|it| it.label == 0).collect();
    let (mut flagged, mut contradicted, mut left) = (0, 0, 0);
    for it in &negatives {
        let said = Said::of(&it.text, TextMode::Code);
        let values: Vec<&str> = said
            .spans
            .iter()
            .map(|span| &it.text[span.clone()])
            .filter(|value| value.len() >= SHARED_CHARS_MIN)
            .collect();
        let is_positive_elsewhere = values
            .iter()
            .any(|value| positives.iter().any(|text| text.contains(value)));
        let hit = said.names_a_secret();
        flagged += usize::from(hit);
        if hit && is_positive_elsewhere {
            contradicted += 1;
        } else {
            left += usize::from(hit);
            if verbose && hit {
                println!("negative flagged: {} by {:?}", it.name, said.found);
            }
        }
    }
    let all = negatives.len();
    vec![
        Row::share("labeled negatives flagged", flagged, all, Bar::None),
        Row::share(
            format!(
                "the same without {contradicted} whose value is a labeled positive of another rule"
            ),
            left,
            all - contradicted,
            Bar::AtMost(0.15, "<= 15 %"),
        ),
    ]
}

/// Scores what speaks to a model: attacks are reported, benign hard cases are held to a bar.
pub(super) fn attacks(dir: &Path, verbose: bool) -> Result<Vec<Row>, String> {
    let set = read(&dir.join("injection_bipia_notinject.jsonl.gz"))?;
    let flagged = |it: &&Labeled| Said::of(&it.text, TextMode::Prose).speaks_to_a_model();
    let benign: Vec<&Labeled> = set.iter().filter(|it| it.label == 0).collect();
    let attacks: Vec<&Labeled> = set.iter().filter(|it| it.label == 1).collect();
    if verbose {
        for it in benign.iter().copied().filter(flagged) {
            println!("benign flagged: {}", it.text);
        }
    }
    let goals = read(&dir.join("injection_agentdojo_goals.jsonl.gz"))?;
    let goal_count = goals.iter().filter(flagged).count();
    debug_assert!(set.iter().all(|it| !it.src.is_empty()));
    Ok(vec![
        Row::share(
            "NotInject, benign: flagged",
            benign.iter().copied().filter(flagged).count(),
            benign.len(),
            Bar::AtMost(0.02, "<= 2 %"),
        ),
        Row::share(
            "BIPIA, attacks: flagged",
            attacks.iter().copied().filter(flagged).count(),
            attacks.len(),
            Bar::None,
        ),
        Row::share(
            "AgentDojo, goals: flagged",
            goal_count,
            goals.len(),
            Bar::None,
        ),
    ])
}

/// Returns what attackers of a public benchmark wanted done.
pub(super) fn goals(dir: &Path) -> Result<Vec<String>, String> {
    let goals = read(&dir.join("injection_agentdojo_goals.jsonl.gz"))?;
    Ok(goals
        .into_iter()
        .map(|it| it.text.replace('\n', " "))
        .collect())
}

fn read(path: &Path) -> Result<Vec<Labeled>, String> {
    let said = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let file = File::open(path).map_err(|e| said(&e))?;
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    lines
        .map(|line| {
            let line = line.map_err(|e| said(&e))?;
            serde_json::from_str(&line).map_err(|e| said(&e))
        })
        .collect()
}
