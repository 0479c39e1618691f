//! Hand-written transcripts in the formats that the agents' programs write.

use ken_core::values::kind::EntryKind;
use ken_digest::transcript::{
    ExtractionKind, Transcript, TranscriptAgent, TurnContent, detect_agent,
    extract_transcript_claims, parse_transcript,
};

const CLAUDE: &str = include_str!("../fixtures/claude.jsonl");
const CODEX: &str = include_str!("../fixtures/codex.jsonl");
const CODEX_2025: &str = include_str!("../fixtures/codex-2025.jsonl");
const CODEX_EXEC: &str = include_str!("../fixtures/codex-exec.jsonl");

fn read_transcript(text: &str) -> Transcript {
    let agent = detect_agent(text.as_bytes()).expect("a transcript");
    parse_transcript(agent, text.as_bytes())
}

fn extract_moments(text: &str) -> Vec<(ExtractionKind, EntryKind, String)> {
    let moments = extract_transcript_claims(&read_transcript(text), None);
    moments
        .into_iter()
        .map(|it| (it.found, it.kind, it.text))
        .collect()
}

#[test]
fn what_claude_code_wrote_shows_fixes_corrections_and_habits_with_their_kind() {
    use ExtractionKind::{Correction, Fix, Habit};
    let expected = [
        (Correction, EntryKind::Convention, "Use pnpm, not npm."),
        (
            Fix,
            EntryKind::Technique,
            "`pnpm test` failed with `Error: connect ECONNREFUSED 127.0.0.1:5432` until `docker compose up -d db` was run.",
        ),
        (
            Correction,
            EntryKind::Convention,
            "Never edit files under `src/generated` by hand.",
        ),
        (
            Fix,
            EntryKind::Bug,
            "`pnpm build` failed with `src/pay.ts(3,21): error TS2307: Cannot find module '@/lib/money' or its corresponding type declarations.` until `tsconfig.json` got the line `\"paths\": { \"@/*\": [\"src/*\"] },`.",
        ),
        (
            Habit,
            EntryKind::Convention,
            "Run the tests with `pnpm test`.",
        ),
    ];
    let expected = expected.map(|(found, kind, text)| (found, kind, text.to_owned()));
    assert_eq!(extract_moments(CLAUDE), expected);
}

#[test]
fn what_codex_wrote_shows_the_same() {
    use ExtractionKind::{Correction, Fix, Habit};
    let expected = [
        (
            Fix,
            EntryKind::Technique,
            "`cargo build` failed with `Could not find 'protoc'. If 'protoc' is installed, try setting the 'PROTOC' environment variable` until `mise install protoc` was run.",
        ),
        (
            Correction,
            EntryKind::Convention,
            "Don't use `unwrap` in library code.",
        ),
        (
            Fix,
            EntryKind::Bug,
            "`cargo nextest run` failed with `error[E0432]: unresolved import 'tokio_stream'` until `Cargo.toml` got the line `tokio-stream = \"0.1\"`.",
        ),
        (
            Habit,
            EntryKind::Convention,
            "Run the tests with `cargo nextest run`.",
        ),
    ];
    let expected = expected.map(|(found, kind, text)| (found, kind, text.to_owned()));
    assert_eq!(extract_moments(CODEX), expected);
}

#[test]
fn older_and_streamed_forms_of_codex_are_read() {
    let texts = |text| {
        extract_moments(text)
            .into_iter()
            .map(|it| it.2)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        texts(CODEX_2025),
        [
            "`make build` failed with `fatal: generated/version.h: No such file or directory` until `make generate` was run."
        ]
    );
    assert_eq!(
        texts(CODEX_EXEC),
        [
            "`uv run pytest` failed with `E ModuleNotFoundError: No module named \"psycopg\"` until `pyproject.toml` was edited."
        ]
    );
    assert_eq!(
        read_transcript(CODEX_2025).session.as_deref(),
        Some("old-session-1")
    );
}

#[test]
fn a_transcript_says_who_wrote_it_where_and_what_could_not_be_read() {
    let claude = read_transcript(CLAUDE);
    assert_eq!(
        (claude.agent, claude.skipped),
        (TranscriptAgent::ClaudeCode, 2)
    );
    assert_eq!(
        claude.session.as_deref(),
        Some("5f3a1c20-7d11-4e0e-9a55-0c2d8be4f7aa")
    );
    assert_eq!(claude.folder.as_deref(), Some("/home/ada/pay"));
    let codex = read_transcript(CODEX);
    assert_eq!((codex.agent, codex.skipped), (TranscriptAgent::Codex, 0));
    assert_eq!(codex.folder.as_deref(), Some("/srv/ledger"));
    let asked = codex
        .turns
        .iter()
        .filter(|it| matches!(it.what, TurnContent::Asked(_)));
    assert_eq!(asked.count(), 2, "what is written twice was said once");
}

#[test]
fn paths_are_seen_from_the_top_of_the_repository() {
    let text = CLAUDE.replace(
        "\"cwd\": \"/home/ada/pay\"",
        "\"cwd\": \"/home/ada/pay/src\"",
    );
    let found = extract_transcript_claims(&read_transcript(&text), Some("/home/ada"));
    let paths: Vec<String> = found.into_iter().flat_map(|it| it.paths).collect();
    assert_eq!(paths, ["pay/tsconfig.json"]);
}

#[test]
fn a_conversation_that_was_taken_up_again_says_nothing_twice() {
    let twice = format!("{CLAUDE}{CLAUDE}");
    assert_eq!(extract_moments(&twice), extract_moments(CLAUDE));
}

#[test]
fn notes_and_foreign_json_are_no_transcripts() {
    for text in [
        "# Notes\n\n- Use tabs.\n",
        "{\"a\": 1}\n{\"type\": \"x\"}\n",
        "",
        "\0\u{1}",
    ] {
        assert_eq!(detect_agent(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn a_judge_is_told_a_summary_whole_and_the_start_of_other_messages() {
    let told = |opening: &str| {
        let text = format!("{opening}{} END", "every row is kept; ".repeat(60));
        let line = serde_json::json!({"type": "assistant", "sessionId": "s", "message": {"content": [{"type": "text", "text": text}]}});
        read_transcript(&line.to_string()).told()
    };
    assert!(told("Settled: ").ends_with("END\n"));
    assert!(!told("Looking: ").contains("END"));
}

#[test]
fn a_judge_is_told_what_was_said_and_done_and_nothing_that_came_back_but_why_it_failed() {
    let told = read_transcript(CLAUDE).told();
    assert!(
        told.contains("command: pnpm build\nfailed: src/pay.ts(3,21): error TS2307"),
        "{told}"
    );
    assert!(told.contains("user: Great, thanks. Never edit"), "{told}");
    for kept_out in ["always use yarn", "CONTAINER ID", "81 passed"] {
        assert!(!told.contains(kept_out), "{kept_out}");
    }
}
