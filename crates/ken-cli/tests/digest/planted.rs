//! Recall of `ken audit` on two hundred documents with planted faults.

use std::collections::BTreeMap;

use ken_testkit::test_env::TestEnvironment;

const DOCUMENTS: usize = 200;

/// Pseudo-random generator with a fixed seed.
struct DocumentRng(u64);

impl DocumentRng {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % below
    }

    fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.next(all.len())]
    }
}

const THINGS: [&str; 16] = [
    "ledger",
    "parser",
    "router",
    "scheduler",
    "importer",
    "renderer",
    "gateway",
    "planner",
    "mailer",
    "indexer",
    "watcher",
    "resolver",
    "packer",
    "tracer",
    "broker",
    "archiver",
];
const JOBS: [&str; 12] = [
    "rounds amounts to cents",
    "retries three times",
    "drops empty rows",
    "keeps one connection open",
    "holds the lock while it flushes",
    "reads its limits from the environment",
    "sorts keys before hashing",
    "writes through a temporary file",
    "answers within a second",
    "counts bytes and not characters",
    "takes time as a value",
    "logs the request's number",
];
const CONTRADICTIONS: [(&str, &str); 8] = [
    ("Use tabs for indentation.", "Use spaces for indentation."),
    (
        "Use pnpm to install packages.",
        "Use yarn to install packages.",
    ),
    (
        "Always squash commits before merging.",
        "Never squash commits before merging.",
    ),
    (
        "Use single quotes for strings.",
        "Use double quotes for strings.",
    ),
    (
        "Keep lines below 80 characters.",
        "Keep lines below 120 characters.",
    ),
    (
        "Prefer composition over inheritance.",
        "Prefer inheritance over composition.",
    ),
    (
        "Always run the migrations before the tests.",
        "Never run the migrations before the tests.",
    ),
    ("Use vitest for unit tests.", "Use jest for unit tests."),
];

/// A document with the faults planted in it.
struct PlantedDocument {
    text: String,
    faults: Vec<(&'static str, usize)>,
}

fn plant_faults(dice: &mut DocumentRng, number: usize) -> PlantedDocument {
    let thing = format!("{}{number}", dice.pick(&THINGS));
    let mut lines = vec![format!("# Notes on the {thing}"), String::new()];
    for (place, job) in JOBS.iter().enumerate().take(4 + dice.next(4)) {
        lines.push(format!("- The {thing} module number {place} {job}."));
    }
    lines.push(format!("- The {thing} is defined in `src/main.rs`."));
    let mut faults = Vec::new();
    let mut put = |lines: &mut Vec<String>, kind, text: String| {
        lines.push(text);
        faults.push((kind, lines.len()));
    };
    let gone = match dice.next(3) {
        0 => format!("- The {thing} reads its rules from `src/{thing}/rules.rs`."),
        1 => format!("- Limits of the {thing} stand in `src/{thing}_limits.toml`."),
        _ => format!("- Look at [the notes](docs/{thing}.md) when the {thing} hangs."),
    };
    put(&mut lines, "dead_citation", gone);
    let first = format!("- The {thing} must be restarted after each change of its settings.");
    lines.push(first.clone());
    let again = match dice.next(3) {
        0 => first,
        1 => format!("- the {thing} must be restarted after each change of its settings"),
        _ => format!("- After each change of its settings the {thing} must be restarted."),
    };
    put(&mut lines, "duplicate", again);
    let (one, other) = CONTRADICTIONS[dice.next(CONTRADICTIONS.len())];
    lines.extend([
        String::new(),
        "## Style".to_owned(),
        String::new(),
        format!("- {one}"),
    ]);
    lines.extend([String::new(), "## Habits".to_owned(), String::new()]);
    put(&mut lines, "contradiction", format!("- {other}"));
    let letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789".as_bytes();
    let mut token = |count: usize| -> String {
        (0..count)
            .map(|_| char::from(letters[dice.next(letters.len())]))
            .collect()
    };
    let secret = match number % 3 {
        0 => format!("- Push with the token ghp_{} for now.", token(36)),
        1 => format!(
            "- The database is postgres://app:{}@db.corp.io/main today.",
            token(14)
        ),
        _ => format!(
            "- Set SLACK_TOKEN=xoxb-{}-{} first.",
            "123456789012",
            token(24)
        ),
    };
    put(&mut lines, "secret", secret);
    PlantedDocument {
        text: lines.join("\n") + "\n",
        faults,
    }
}

#[test]
fn faults_put_into_two_hundred_documents_are_found() {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
    env.write("src/main.rs", "fn main() {}\n");
    env.write("docs/index.md", "# Docs\n");
    let mut dice = DocumentRng(7);
    let mut planted: Vec<(String, &'static str, usize)> = Vec::new();
    for number in 0..DOCUMENTS {
        let made = plant_faults(&mut dice, number);
        let path = format!("part{number:03}/AGENTS.md");
        env.write(&path, &made.text);
        planted.extend(
            made.faults
                .iter()
                .map(|(kind, line)| (path.clone(), *kind, *line)),
        );
    }
    let told = env.run(["audit", "--format", "json"]).json();
    let found: Vec<(String, String, usize)> = told["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let text = |key: &str| it[key].as_str().unwrap().to_owned();
            (
                text("document"),
                text("kind"),
                it["line"].as_u64().unwrap() as usize,
            )
        })
        .collect();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut missed = Vec::new();
    for (path, kind, line) in &planted {
        let (hit, all) = counts.entry(kind).or_default();
        *all += 1;
        let is_found = found
            .iter()
            .any(|it| (&it.0, it.1.as_str(), it.2) == (path, kind, *line));
        if !is_found {
            missed.push(format!("{kind} {path}:{line}"));
        }
        *hit += usize::from(is_found);
    }
    let beside: Vec<_> = found
        .iter()
        .filter(|it| {
            !planted
                .iter()
                .any(|(path, kind, line)| (path, *kind, *line) == (&it.0, it.1.as_str(), it.2))
        })
        .collect();
    for (kind, least) in [
        ("dead_citation", 200),
        ("duplicate", 190),
        ("contradiction", 180),
        ("secret", 198),
    ] {
        let (hit, all) = counts[kind];
        assert_eq!(all, DOCUMENTS);
        assert!(hit >= least, "{kind}: {hit} of {all}: {missed:?}");
    }
    assert!(
        beside.len() <= 4,
        "{:?}",
        beside.iter().take(10).collect::<Vec<_>>()
    );
}
