//! Search in conversations and commits: `cargo ken-bench eval unrecorded`.
//!
//! Derivation: the conversations in `bench/data/conversations`. Two queries per conversation that
//! made a decision: its opening message, which is then left out of the index, and the rule as the
//! labels state it. `--histories DIR` has clones of other repositories: subjects of commits look
//! for their own commit. `--grid` varies the weights.
//!
//! Report: `--data DIR` has tasks with a bug report and the conversations that decided, and other
//! conversations (`gen/decoy_conversations.json`); `--repositories DIR` has one repository per task
//! that was decided in a commit. That data is not part of this repository, and no weight was chosen
//! on it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ken_core::retrieval::unrecorded::{UnrecordedKind, UnrecordedWeights};
use ken_core::values::time::{DAY_MS, Timestamp};
use ken_digest::transcript::{TranscriptAgent, parse_speech, split_exchanges};
use ken_index::Backend;
use ken_index::conversations::{
    CleanCommit, CleanExchange, ConversationIndex, ConversationWriter, TranscriptState,
    UnrecordedQuery,
};
use serde::Deserialize;
use serde_json::json;
use xtask::repository::{Finding, Repository};

const CONVERSATIONS: &str = "bench/data/conversations/conversations.jsonl";
const QUESTIONS: &str = "bench/data/questions/questions.jsonl";

/// Ranks within which a deciding conversation, and a deciding commit, must be.
const CONVERSATION_RANK: usize = 3;
const COMMIT_RANK: usize = 10;

/// Deciding commits that may be missed.
const COMMITS_MISSED_MAX: usize = 2;

/// Its commit and its test disagree.
const FLAWED_TASK: &str = "parseflag-history";

/// Commits of a repository that are looked for: each so many with a body of so many words.
const SAMPLED_EACH: usize = 3;
const SAMPLED_MAX: usize = 60;
const BODY_WORDS_MIN: usize = 20;

/// Hits looked at.
const DEPTH: usize = 50;

/// Day of the first conversation; each further one is a day later.
const FIRST_DAY: u64 = 20_000;

#[derive(Clone, Deserialize)]
struct SpokenTurn {
    role: String,
    text: String,
}

#[derive(Deserialize)]
struct LabeledConversation {
    id: String,
    turns: Vec<SpokenTurn>,
    decisions: Vec<StatedRule>,
}

#[derive(Deserialize)]
struct StatedRule {
    rule: String,
}

/// A task of the report.
#[derive(Deserialize)]
struct ReportTask {
    source: String,
    bug_report: String,
    #[serde(default)]
    conversations: Option<TaskConversations>,
    #[serde(default)]
    decision_subject: String,
}

/// One conversation, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum TaskConversations {
    One(Vec<SpokenTurn>),
    Several(Vec<Vec<SpokenTurn>>),
}

impl ReportTask {
    fn conversations(&self) -> Vec<&[SpokenTurn]> {
        match &self.conversations {
            None => Vec::new(),
            Some(TaskConversations::One(turns)) => vec![turns],
            Some(TaskConversations::Several(all)) => all.iter().map(Vec::as_slice).collect(),
        }
    }
}

#[derive(Deserialize)]
struct UnrelatedConversation {
    turns: Vec<SpokenTurn>,
}

#[derive(Deserialize)]
struct AskedQuestion {
    question: String,
}

/// An index of conversations in a folder that is deleted at the end.
struct TalkIndex {
    _folder: tempfile::TempDir,
    index: ConversationIndex,
}

/// Ranks of what was looked for.
#[derive(Clone, Debug, Default)]
struct Ranks {
    all: usize,
    first: usize,
    three: usize,
    ten: usize,
    reciprocal: f64,
    missed: Vec<String>,
}

impl Ranks {
    fn add(&mut self, name: &str, rank: Option<usize>, wanted: usize) {
        self.all += 1;
        self.first += usize::from(rank == Some(1));
        self.three += usize::from(rank.is_some_and(|it| it <= 3));
        self.ten += usize::from(rank.is_some_and(|it| it <= 10));
        self.reciprocal += rank.map_or(0.0, |it| 1.0 / it as f64);
        if rank.is_none_or(|it| it > wanted) {
            let rank = rank.map_or_else(|| "none".to_owned(), |it| it.to_string());
            self.missed.push(format!("{name} ({rank})"));
        }
    }

    fn print(&self, title: &str) {
        let Self {
            all,
            first,
            three,
            ten,
            ..
        } = self;
        let mean = self.reciprocal / (*all).max(1) as f64;
        println!(
            "{title}: {all} queries, first {first}, in three {three}, in ten {ten}, MRR {mean:.3}"
        );
        if !self.missed.is_empty() {
            println!("  missed: {}", self.missed.join(", "));
        }
    }
}

/// Where the data is.
#[derive(Default)]
struct UnrecordedOptions {
    data: Option<PathBuf>,
    repositories: Option<PathBuf>,
    histories: Option<PathBuf>,
    grid: bool,
}

/// Measures the search.
pub(super) fn run(repository: &Repository, options: &[&str]) -> Result<Vec<Finding>, String> {
    let mut wanted = UnrecordedOptions::default();
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        match *option {
            "--data" => wanted.data = rest.next().map(PathBuf::from),
            "--repositories" => wanted.repositories = rest.next().map(PathBuf::from),
            "--histories" => wanted.histories = rest.next().map(PathBuf::from),
            "--grid" => wanted.grid = true,
            other => return Err(format!("`{other}` is not an option of eval unrecorded")),
        }
    }
    let root = repository.root();
    let histories = wanted.histories.filter(|it| it.is_dir());
    if wanted.grid {
        print_grid(root)?;
        if let Some(histories) = &histories {
            for meaning in [0.0, 0.2, 0.4, 0.6] {
                print_commits(
                    &format!("commits, meaning {meaning}"),
                    &derive_commits(histories, meaning)?,
                );
            }
        }
    }
    let weights = UnrecordedWeights::default();
    let (opening, rules) = derive(root, weights)?;
    opening.print("derivation, opening messages");
    rules.print("derivation, rules");
    unrelated(root, weights)?;
    match histories {
        None => println!("derivation, commits: no repositories (--histories DIR)"),
        Some(it) => print_commits(
            "derivation, commits",
            &derive_commits(&it, weights.meaning)?,
        ),
    }
    let mut findings = Vec::new();
    let Some(data) = wanted.data.filter(|it| it.is_dir()) else {
        println!("report: no data (--data DIR)");
        return Ok(findings);
    };
    findings.extend(report_conversations(&data)?);
    match wanted.repositories.filter(|it| it.is_dir()) {
        None => println!("report: no repositories (--repositories DIR)"),
        Some(folder) => findings.extend(report_commits(&folder, &data)?),
    }
    Ok(findings)
}

/// Returns the ranks of commits for their own subjects, which are left out of the index, so that
/// body and changed files must be found; and for their bodies, which are left out in turn.
fn derive_commits(folder: &Path, meaning: f64) -> Result<[Ranks; 2], String> {
    let (mut ranks, mut by_body) = (Ranks::default(), Ranks::default());
    let mut folders: Vec<_> = fs::read_dir(folder).map_err(text)?.flatten().collect();
    folders.sort_by_key(fs::DirEntry::file_name);
    for entry in folders {
        let mut commits = read_commits(&entry.path())?;
        let (mut subjects, mut bodies) = (BTreeMap::new(), BTreeMap::new());
        let mut candidates = 0;
        for commit in &mut commits {
            let (subject, body) = commit.message.split_once('\n').unwrap_or_default();
            if body.split_whitespace().count() < BODY_WORDS_MIN {
                continue;
            }
            candidates += 1;
            if candidates % SAMPLED_EACH == 0 && subjects.len() < SAMPLED_MAX {
                subjects.insert(commit.id.clone(), subject.to_owned());
                bodies.insert(commit.id.clone(), body.trim().to_owned());
                commit.message = body.trim().to_owned();
            }
        }
        let index = TalkIndex::of_commits(&commits)?;
        for (id, subject) in &subjects {
            let rank = index.commit_rank(subject, meaning, id)?;
            ranks.add(&id[..7], rank, usize::MAX);
        }
        for commit in &mut commits {
            if let Some(subject) = subjects.get(&commit.id) {
                commit.message.clone_from(subject);
            }
        }
        let index = TalkIndex::of_commits(&commits)?;
        for (id, body) in &bodies {
            let rank = index.commit_rank(body, meaning, id)?;
            by_body.add(&id[..7], rank, usize::MAX);
        }
    }
    ranks.missed.clear();
    by_body.missed.clear();
    Ok([ranks, by_body])
}

fn print_grid(root: &Path) -> Result<(), String> {
    for support in [0.0, 0.15, 0.3, 0.5, 1.0] {
        for meaning in [0.0, 0.2, 0.4, 0.6] {
            let weights = UnrecordedWeights {
                support,
                meaning,
                coverage_min: 0.0,
                cosine_min: -1.0,
                alike: 1.0,
            };
            let (opening, rules) = derive(root, weights)?;
            let mrr = |it: &Ranks| it.reciprocal / it.all.max(1) as f64;
            println!(
                "support {support:.2} meaning {meaning:.1}: openings {} / {} {:.3}, rules {} / {} {:.3}",
                opening.first,
                opening.three,
                mrr(&opening),
                rules.first,
                rules.three,
                mrr(&rules)
            );
        }
    }
    for alike in [0.80, 0.85, 0.90, 0.95, 1.0] {
        let weights = UnrecordedWeights {
            alike,
            coverage_min: 0.0,
            ..UnrecordedWeights::default()
        };
        let (opening, rules) = derive(root, weights)?;
        println!(
            "alike {alike:.2}: openings {} / {}, rules {} / {}",
            opening.first, opening.three, rules.first, rules.three
        );
    }
    for cosine_min in [-1.0, 0.40, 0.45, 0.50, 0.55, 0.60] {
        for coverage_min in [0.0, 0.05, 0.08, 0.10, 0.12, 0.15] {
            let weights = UnrecordedWeights {
                coverage_min,
                cosine_min,
                ..UnrecordedWeights::default()
            };
            let (opening, rules) = derive(root, weights)?;
            print!(
                "cosine {cosine_min:.2} coverage {coverage_min:.2}: openings in three {}, rules in three {}; ",
                opening.three, rules.three
            );
            unrelated(root, weights)?;
        }
    }
    Ok(())
}

/// Returns the ranks of each conversation for its opening message and for its rules.
fn derive(root: &Path, weights: UnrecordedWeights) -> Result<(Ranks, Ranks), String> {
    let all: Vec<LabeledConversation> = read_lines(&root.join(CONVERSATIONS))?;
    let (mut opening, mut rules) = (Ranks::default(), Ranks::default());
    let whole = TalkIndex::of(all.iter().map(|it| (it.id.clone(), it.turns.as_slice())))?;
    // The opening exchange is left out: the query would find itself.
    let later = all
        .iter()
        .map(|it| (it.id.clone(), &it.turns[2.min(it.turns.len())..]));
    let later = TalkIndex::of(later)?;
    for it in &all {
        let Some(first) = it.turns.first().filter(|_| it.turns.len() > 3) else {
            continue;
        };
        opening.add(
            &it.id,
            later.rank(&first.text, weights, &[&it.id])?,
            CONVERSATION_RANK,
        );
        for decision in &it.decisions {
            let rank = whole.rank(&decision.rule, weights, &[&it.id])?;
            rules.add(&it.id, rank, CONVERSATION_RANK);
        }
    }
    Ok((opening, rules))
}

/// Prints how many unrelated questions get a conversation.
fn unrelated(root: &Path, weights: UnrecordedWeights) -> Result<(), String> {
    let all: Vec<LabeledConversation> = read_lines(&root.join(CONVERSATIONS))?;
    let questions: Vec<AskedQuestion> = read_lines(&root.join(QUESTIONS))?;
    let index = TalkIndex::of(all.iter().map(|it| (it.id.clone(), it.turns.as_slice())))?;
    let (mut some, mut hits) = (0, 0);
    for question in &questions {
        let found = index.find(&question.question, weights)?;
        some += usize::from(!found.is_empty());
        hits += found.len().min(CONVERSATION_RANK);
    }
    let count = questions.len();
    println!("unrelated questions with a hit: {some} of {count}, {hits} hits shown");
    Ok(())
}

fn report_conversations(data: &Path) -> Result<Vec<Finding>, String> {
    let tasks = read_tasks(data)?;
    let decoys = fs::read(data.join("gen/decoy_conversations.json")).map_err(text)?;
    let decoys: Vec<UnrelatedConversation> = serde_json::from_slice(&decoys).map_err(text)?;
    let mut named: Vec<(String, &[SpokenTurn])> = Vec::new();
    for (place, decoy) in decoys.iter().enumerate() {
        named.push((format!("decoy-{place}"), decoy.turns.as_slice()));
    }
    // In their order: an amendment is later than what it amends.
    for (name, task) in &tasks {
        for (place, turns) in task.conversations().into_iter().enumerate() {
            named.push((format!("{name}.{place}"), turns));
        }
    }
    let index = TalkIndex::of(named.iter().map(|(name, turns)| (name.clone(), *turns)))?;
    let (mut any, mut current) = (Ranks::default(), Ranks::default());
    let weights = UnrecordedWeights::default();
    for (name, task) in tasks
        .iter()
        .filter(|(_, it)| !it.conversations().is_empty())
    {
        let own = (0..task.conversations().len()).map(|it| format!("{name}.{it}"));
        let own: Vec<String> = own.collect();
        let names: Vec<&str> = own.iter().map(String::as_str).collect();
        let rank = index.rank(&task.bug_report, weights, &names)?;
        any.add(name, rank, CONVERSATION_RANK);
        if task.source == "conversation-amended" {
            let last = names.last().copied().into_iter().collect::<Vec<_>>();
            let rank = index.rank(&task.bug_report, weights, &last)?;
            current.add(name, rank, CONVERSATION_RANK);
        }
    }
    any.print("report, a deciding conversation");
    current.print("report, the amendment");
    let missing = any.all - any.three;
    Ok(finding(
        missing > 0,
        format!("{missing} deciding conversations are not in three"),
    ))
}

fn print_commits(title: &str, [subjects, bodies]: &[Ranks; 2]) {
    subjects.print(&format!("{title}, asked with the subject"));
    bodies.print(&format!("{title}, asked with the body"));
}

fn report_commits(folder: &Path, data: &Path) -> Result<Vec<Finding>, String> {
    let mut ranks = Ranks::default();
    for (name, task) in read_tasks(data)? {
        let repository = folder.join(&name);
        if task.source != "history" || name == FLAWED_TASK || !repository.is_dir() {
            continue;
        }
        let commits = read_commits(&repository)?;
        // Without a subject in the data it is the third newest: behind it come a chore and the
        // commit that broke the rule.
        let subject = Some(task.decision_subject.trim());
        let by_subject = |it: &&CleanCommit| it.message.lines().next() == subject;
        let decided = commits.iter().find(by_subject).or_else(|| commits.get(2));
        let decided = decided.map(|it| it.id.clone()).unwrap_or_default();
        let index = TalkIndex::of_commits(&commits)?;
        let meaning = UnrecordedWeights::default().meaning;
        let rank = index.commit_rank(&task.bug_report, meaning, &decided)?;
        ranks.add(&name, rank, COMMIT_RANK);
    }
    ranks.print("report, the deciding commit");
    let missing = ranks.all - ranks.ten;
    Ok(finding(
        missing > COMMITS_MISSED_MAX,
        format!("{missing} deciding commits are not in ten"),
    ))
}

fn finding(is_wrong: bool, what: String) -> Vec<Finding> {
    if is_wrong {
        vec![Finding::new("bench/src/eval/unrecorded.rs", 1, what)]
    } else {
        Vec::new()
    }
}

fn read_tasks(data: &Path) -> Result<BTreeMap<String, ReportTask>, String> {
    let mut tasks = BTreeMap::new();
    for entry in fs::read_dir(data).map_err(text)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = name.strip_prefix("boltons-") else {
            continue;
        };
        if let Ok(bytes) = fs::read(entry.path().join("tasks/main/task.json")) {
            tasks.insert(
                name.to_owned(),
                serde_json::from_slice(&bytes).map_err(text)?,
            );
        }
    }
    Ok(tasks)
}

/// Reads the commits of a repository, newest first.
fn read_commits(repository: &Path) -> Result<Vec<CleanCommit>, String> {
    let format = "--format=%x01%H%x02%ct%x02%B%x02";
    let mut git = Command::new("git");
    git.current_dir(repository)
        .args(["log", format, "--name-only", "--no-renames"]);
    let out = git.output().map_err(text)?;
    let log = String::from_utf8_lossy(&out.stdout).into_owned();
    let commits = log.split('\u{1}').skip(1).filter_map(|it| {
        let mut fields = it.splitn(4, '\u{2}');
        Some(CleanCommit {
            id: fields.next()?.to_owned(),
            at: Timestamp::from_seconds(fields.next()?.parse().ok()?),
            kind: UnrecordedKind::Commit,
            message: fields.next()?.trim().to_owned(),
            paths: fields.next().unwrap_or_default().trim().to_owned(),
        })
    });
    Ok(commits.collect())
}

impl TalkIndex {
    /// Indexes named conversations, each a day later than the one before.
    fn of<'a>(
        conversations: impl Iterator<Item = (String, &'a [SpokenTurn])>,
    ) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(text)?;
        let mut index = ConversationIndex::open(&folder.path().join("it.db")).map_err(text)?;
        let state = TranscriptState {
            modified_ns: 1,
            agent: Some("claude-code".to_owned()),
            ..TranscriptState::default()
        };
        let stored = index.change(|writer| {
            for (place, (name, turns)) in conversations.enumerate() {
                let at = Timestamp::from_millis((FIRST_DAY + place as u64) * DAY_MS);
                writer.store_transcript(&name, &state, 0, &exchanges(turns, at))?;
            }
            Ok(())
        });
        stored.map_err(text)?;
        Ok(Self {
            _folder: folder,
            index,
        })
    }

    /// Indexes commits.
    fn of_commits(commits: &[CleanCommit]) -> Result<Self, String> {
        let mut made = Self::of(std::iter::empty())?;
        let add = |writer: &mut ConversationWriter<'_>| {
            commits.iter().try_for_each(|it| writer.add_commit(it))
        };
        made.index.change(add).map_err(text)?;
        Ok(made)
    }

    /// Returns the rank of a commit, counted from 1.
    fn commit_rank(&self, query: &str, meaning: f64, id: &str) -> Result<Option<usize>, String> {
        let embedder = Backend::Static.built_in();
        let query = UnrecordedQuery {
            text: query,
            embedder: embedder.as_deref(),
            limit: DEPTH,
            weights: UnrecordedWeights {
                meaning,
                ..UnrecordedWeights::default()
            },
        };
        let found = self.index.find_commits(&query).map_err(text)?;
        let place = found.iter().position(|it| it.id == id);
        Ok(place.map(|it| it + 1))
    }

    fn find(&self, query: &str, weights: UnrecordedWeights) -> Result<Vec<String>, String> {
        let embedder = Backend::Static.built_in();
        let query = UnrecordedQuery {
            text: query,
            embedder: embedder.as_deref(),
            limit: DEPTH,
            weights,
        };
        let found = self.index.find_conversations(&query).map_err(text)?;
        Ok(found.into_iter().map(|it| it.transcript).collect())
    }

    /// Returns the rank of the best of `names`, counted from 1.
    fn rank(
        &self,
        query: &str,
        weights: UnrecordedWeights,
        names: &[&str],
    ) -> Result<Option<usize>, String> {
        let found = self.find(query, weights)?;
        let place = found.iter().position(|it| names.contains(&it.as_str()));
        Ok(place.map(|it| it + 1))
    }
}

fn exchanges(turns: &[SpokenTurn], at: Timestamp) -> Vec<CleanExchange> {
    let lines = turns.iter().map(|it| {
        let kind = if it.role == "user" {
            "user"
        } else {
            "assistant"
        };
        let line = json!({"type": kind, "message": {"role": kind, "content": it.text}});
        format!("{line}\n")
    });
    let lines: String = lines.collect();
    let speech = parse_speech(TranscriptAgent::ClaudeCode, lines.as_bytes(), 0);
    let all = split_exchanges(speech).into_iter().map(|it| {
        let (asked, answered) = it.condense(str::to_owned);
        CleanExchange {
            line: it.line as u64,
            at,
            asked,
            answered,
        }
    });
    all.collect()
}

fn read_lines<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Vec<T>, String> {
    let all = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = all.lines().filter(|it| !it.trim().is_empty());
    lines
        .map(|it| serde_json::from_str(it).map_err(text))
        .collect()
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "`map_err` passes the error itself"
)]
fn text(error: impl ToString) -> String {
    error.to_string()
}
