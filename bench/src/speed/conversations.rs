//! Indexing of transcripts, and `ken search` with many conversations, from process start to exit.

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::fixture::{self, Cut, Fixture, said};
use super::measure::{in_children, median, run_quietly};
use super::programs::Programs;
use super::report::{Report, Verdict, shown};
use super::story::Dice;
use super::words::{self, Vocabulary};
use super::{Bench, Size};

/// Least transcripts indexed, in MB per second of CPU time.
const RATE_MIN: f64 = 20.0;

/// How much longer `ken search` may take than a program that prints a line.
const SEARCH_MAX: Duration = Duration::from_millis(40);

/// Entries of the ledger, and exchanges in transcripts.
const ENTRIES: u64 = 10_000;
const EXCHANGES: usize = 100_000;

/// Exchanges per transcript.
const PER_TRANSCRIPT: usize = 40;

/// Sentences of a request and of an answer.
const REQUEST_SENTENCES: usize = 2;
const ANSWER_SENTENCES: usize = 4;

/// Bytes of tool output per exchange. In transcripts of real work it is many times what is said.
const TOOL_BYTES: usize = 4_000;

const SEED: u64 = 41;

/// Measures both.
pub(crate) fn run(bench: &Bench) -> Result<Report, String> {
    let programs = Programs::build(bench)?;
    let (entries, exchanges, laps) = match bench.size {
        Size::Full => (ENTRIES, EXCHANGES, 50),
        Size::Quick => (ENTRIES / 100, EXCHANGES / 100, 5),
    };
    let fixture = fixture::ledger(&bench.cache, entries, Cut::Lessons)?;
    let home = bench.cache.join(format!("conversations-{exchanges}"));
    let talk = Talk::write(home, &fixture, exchanges)?;
    let mut report = Report::default();
    talk.index(&programs, &mut report)?;
    talk.search(&programs, laps, &mut report)?;
    report.note(format!(
        "conversations: transcripts of Claude Code with {PER_TRANSCRIPT} exchanges each; {REQUEST_SENTENCES} sentences ask, \
         {ANSWER_SENTENCES} answer, and a tool call with {TOOL_BYTES} bytes of output stands between them. Queries of seven words \
         of a request, another one each lap. CPU of the indexing is that of `ken config conversations allow`, process start \
         included."
    ));
    Ok(report)
}

/// A home with transcripts.
struct Talk<'a> {
    home: PathBuf,
    fixture: &'a Fixture,
    bytes: u64,
    exchanges: usize,
    queries: Vec<String>,
}

impl<'a> Talk<'a> {
    fn write(home: PathBuf, fixture: &'a Fixture, exchanges: usize) -> Result<Self, String> {
        let mut dice = Dice::new(SEED);
        let vocabulary = Vocabulary::new(&mut dice);
        let root = fs::canonicalize(&fixture.root).map_err(said("cannot find the ledger"))?;
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = root.to_string_lossy().chars().map(plain).collect();
        let folder = home.join(".claude/projects").join(name);
        fs::create_dir_all(&folder).map_err(said("cannot create a folder"))?;
        let mut talk = Self {
            home,
            fixture,
            bytes: 0,
            exchanges,
            queries: Vec::new(),
        };
        for number in 0..exchanges.div_ceil(PER_TRANSCRIPT) {
            let path = folder.join(format!("session-{number}.jsonl"));
            let count = PER_TRANSCRIPT.min(exchanges - number * PER_TRANSCRIPT);
            talk.bytes += talk.write_transcript(&path, &root, &vocabulary, &mut dice, count)?;
        }
        Ok(talk)
    }

    /// Writes one transcript; returns its bytes.
    fn write_transcript(
        &mut self,
        path: &Path,
        root: &Path,
        vocabulary: &Vocabulary,
        dice: &mut Dice,
        exchanges: usize,
    ) -> Result<u64, String> {
        let file = fs::File::create(path).map_err(said("cannot write a transcript"))?;
        let mut file = BufWriter::new(file);
        let mut bytes = 0;
        for number in 0..exchanges {
            let first = vocabulary.lesson(dice);
            let mut ask = first.as_str().to_owned();
            for _ in 1..REQUEST_SENTENCES {
                ask = format!("{ask} {}", vocabulary.lesson(dice).as_str());
            }
            let answer: Vec<String> = (0..ANSWER_SENTENCES)
                .map(|_| vocabulary.lesson(dice).as_str().to_owned())
                .collect();
            let output = tool_output(vocabulary, dice);
            let at = "2026-11-01T10:00:00.000Z";
            let lines = [
                json!({"type": "user", "cwd": root, "timestamp": at, "sessionId": path, "message": {"role": "user", "content": ask}}),
                json!({"type": "assistant", "cwd": root, "timestamp": at, "message": {"content": [{"type": "tool_use", "id": format!("t{number}"), "name": "Bash", "input": {"command": "cat src/lib.rs"}}]}}),
                json!({"type": "user", "cwd": root, "timestamp": at, "message": {"content": [{"type": "tool_result", "tool_use_id": format!("t{number}"), "content": output}]}}),
                json!({"type": "assistant", "cwd": root, "timestamp": at, "message": {"content": [{"type": "text", "text": answer.join("\n")}]}}),
            ];
            for line in lines {
                let line = format!("{line}\n");
                bytes += line.len() as u64;
                file.write_all(line.as_bytes())
                    .map_err(said("cannot write a transcript"))?;
            }
            if number == 0 {
                self.queries.push(words::query(dice, &first));
            }
        }
        file.flush().map_err(said("cannot write a transcript"))?;
        Ok(bytes)
    }

    fn named(&self, what: &str) -> String {
        let exchanges = self.exchanges;
        format!("conversations, {exchanges} exchanges: {what}")
    }

    /// Runs `ken` with this home.
    fn run(&self, program: &Path, args: &[&str]) -> Result<(), String> {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(&self.fixture.root)
            .env("HOME", &self.home)
            .env_remove("XDG_DATA_HOME")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        for name in ["CLAUDECODE", "AI_AGENT", "CODEX_THREAD_ID", "KEN_ACTOR"] {
            command.env_remove(name);
        }
        let status = command.status().map_err(said("cannot start ken"))?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("`ken {}`: {status}", args.join(" ")))
        }
    }

    fn index(&self, programs: &Programs, report: &mut Report) -> Result<(), String> {
        self.run(&programs.ken, &["config", "conversations", "delete"])?;
        let allow = ["config", "conversations", "allow"];
        let (ran, took) = in_children(|| self.run(&programs.ken, &allow));
        ran?;
        let rate = self.bytes as f64 / 1e6 / took.cpu.as_secs_f64();
        report.push(
            self.named("indexing, MB per second"),
            format!(
                "{}, {:.1}",
                shown(took.wall),
                self.bytes as f64 / 1e6 / took.wall.as_secs_f64()
            ),
            format!("{}, {rate:.1}", shown(took.cpu)),
            Verdict::at_least(rate, RATE_MIN),
        );
        Ok(())
    }

    fn search(&self, programs: &Programs, laps: usize, report: &mut Report) -> Result<(), String> {
        let (mut with, mut bare) = (Vec::new(), Vec::new());
        self.run(&programs.ken, &["search", &self.queries[0]])?;
        for lap in 0..laps {
            let query = &self.queries[(lap * 7) % self.queries.len()];
            let (ran, took) = in_children(|| self.run(&programs.ken, &["search", query]));
            ran?;
            with.push(took.wall.as_secs_f64());
            let root = &self.fixture.root;
            let (ran, took) = in_children(|| run_quietly(&programs.print_line, &[], root));
            ran?;
            bare.push(took.wall.as_secs_f64());
        }
        let above = Duration::from_secs_f64((median(&with) - median(&bare)).max(0.0));
        let bar = format!("<= {}", shown(SEARCH_MAX));
        report.push(
            self.named(&format!(
                "a search beside {} entries, above a bare program",
                self.fixture.entries
            )),
            shown(above),
            "–",
            Verdict::of(above <= SEARCH_MAX, bar),
        );
        Ok(())
    }
}

/// Makes output of a tool: numbered lines of words.
fn tool_output(vocabulary: &Vocabulary, dice: &mut Dice) -> String {
    let mut output = String::new();
    for line in 1.. {
        if output.len() >= TOOL_BYTES {
            break;
        }
        let text = vocabulary.lesson(dice);
        output = format!("{output}{line:>6}\t{}\n", text.as_str());
    }
    output
}
