//! `ken hook` from process start to exit beside 10,000 entries, each moment held against a program
//! that prints a line.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::{self, Cut, Fixture, said};
use super::measure::{Took, in_children, median, run_quietly};
use super::programs::Programs;
use super::report::{Report, Verdict, shown};
use super::{Bench, Size};

/// How much longer than a bare program a moment may take, and how long at all.
const ABOVE_MAX: Duration = Duration::from_millis(30);
const WHOLE_MAX: Duration = Duration::from_millis(50);

/// One thing an agent tells of: the moment, and what its input says beside the session.
struct Part {
    name: &'static str,
    moment: &'static str,
    input: fn(&Fixture, usize) -> Value,
}

const PARTS: [Part; 8] = [
    Part {
        name: "start",
        moment: "start",
        input: |_, _| json!({"source": "startup"}),
    },
    Part {
        name: "prompt",
        moment: "prompt",
        input: |fixture, lap| json!({"prompt": query(fixture, lap)}),
    },
    Part {
        name: "tool that concerns nothing",
        moment: "tool",
        input: |_, _| json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": "src"}),
    },
    Part {
        name: "tool that reads an entry",
        moment: "tool",
        input: |fixture, lap| {
            let id = &fixture.ids[lap % fixture.ids.len()];
            let path = format!(".ken/entries/{id}-x.md");
            json!({"tool_name": "Read", "tool_input": {"file_path": path}, "tool_response": "x"})
        },
    },
    Part {
        name: "failure, with a record",
        moment: "failure",
        input: |fixture, lap| {
            let error = format!("error: {}", query(fixture, lap));
            json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "error": error})
        },
    },
    Part {
        name: "subagent that reviews",
        moment: "subagent",
        input: |fixture, lap| json!({"agent_id": "a1", "agent_type": "code-reviewer", "task": query(fixture, lap)}),
    },
    Part {
        name: "stop",
        moment: "stop",
        input: |_, _| json!({"stop_hook_active": false}),
    },
    Part {
        name: "end",
        moment: "end",
        input: |_, _| json!({"reason": "exit"}),
    },
];

/// Measures every moment of conversations of their own, in turn with the bare program.
pub(crate) fn run(bench: &Bench) -> Result<Report, String> {
    let (entries, laps) = match bench.size {
        Size::Full => (10_000, 50),
        Size::Quick => (500, 5),
    };
    let fixture = fixture::ledger(&bench.cache, entries, Cut::Lessons)?;
    forget_conversations(&fixture.root)?;
    let programs = Programs::build(bench)?;
    // The first look at a ledger reads all of it; that is another measure's.
    run_quietly(
        &programs.ken,
        &["search", query(&fixture, 0)],
        &fixture.root,
    )?;
    let mut report = Report::default();
    for part in PARTS {
        part.measure(&programs, &fixture, laps, &mut report)?;
    }
    report.note(format!(
        "hook: {entries} entries, {laps} conversations, each moment of each in turn with a program that prints a line; medians."
    ));
    Ok(report)
}

impl Part {
    fn measure(
        &self,
        programs: &Programs,
        fixture: &Fixture,
        laps: usize,
        report: &mut Report,
    ) -> Result<(), String> {
        let (mut lines, mut hooks, mut cpu) = (Vec::new(), Vec::new(), Duration::ZERO);
        for lap in 0..laps {
            let mut input = (self.input)(fixture, lap);
            input["session_id"] = json!(format!("bench-{lap}"));
            let input = input.to_string();
            let line = || run_quietly(&programs.print_line, &[], &fixture.root);
            let (ran, line) = in_children(line);
            ran?;
            let (ran, hook) =
                in_children(|| hook(&programs.ken, self.moment, &fixture.root, &input));
            ran?;
            lines.push(line.wall.as_secs_f64());
            hooks.push(hook.wall.as_secs_f64());
            cpu += hook.cpu;
        }
        let line = Duration::from_secs_f64(median(&lines));
        let took = Took {
            wall: Duration::from_secs_f64(median(&hooks)),
            cpu: cpu / u32::try_from(laps).unwrap_or(u32::MAX),
        };
        let (name, above) = (self.name, took.wall.saturating_sub(line));
        report.push(
            format!("hook: {name}"),
            shown(took.wall),
            shown(took.cpu),
            Verdict::of(took.wall < WHOLE_MAX, format!("< {}", shown(WHOLE_MAX))),
        );
        report.push(
            format!("hook: {name}, above a bare program"),
            shown(above),
            "",
            Verdict::of(above <= ABOVE_MAX, format!("<= {}", shown(ABOVE_MAX))),
        );
        Ok(())
    }
}

fn query(fixture: &Fixture, lap: usize) -> &str {
    &fixture.queries[lap % fixture.queries.len()]
}

/// Runs a hook of Claude Code with its input; what it says is thrown away.
pub(crate) fn hook(ken: &Path, moment: &str, folder: &Path, input: &str) -> Result<(), String> {
    let mut child = Command::new(ken)
        .args(["hook", "claude-code", moment])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(said("cannot start `ken`"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin
            .write_all(input.as_bytes())
            .map_err(said("cannot write"))?;
    }
    let status = child.wait().map_err(said("cannot wait for `ken`"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`ken hook claude-code {moment}`: {status}"))
    }
}

/// Takes away what conversations of an earlier run left.
pub(crate) fn forget_conversations(root: &Path) -> Result<(), String> {
    for folder in ["runs", "sessions", "hooks"] {
        let folder = root.join(".ken/.local").join(folder);
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(said("cannot remove old conversations"))?;
        }
    }
    Ok(())
}
