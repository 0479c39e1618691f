//! Audit, import and digestion as child processes: existing documents are audited, imported,
//! compared with the ledger and decided on.

mod amendments;
mod audit;
mod capture;
mod digestion;
mod negation;
mod planted;
mod stats;

use ken_testkit::test_env::TestEnvironment;

/// Returns a repository with code, an outdated `CLAUDE_MD.md` and no ledger.
pub(crate) fn repository_with_documents() -> TestEnvironment {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
    env.write("src/pay.rs", "pub fn charge() -> bool {\n    true\n}\n");
    env.write("package.json", "{\"scripts\":{\"build\":\"tsc\"}}\n");
    env.write("pnpm-lock.yaml", "lockfileVersion: 9\n");
    env.write("CLAUDE.md", CLAUDE_MD);
    env.write(
        ".github/CONTRIBUTING.md",
        "# Contributing\n\nThank you!\n\n- Use tabs for indentation.\n- Commit messages must follow Conventional Commits.\n",
    );
    let _ = env.git(["add", "-A"]);
    let _ = env.git(["commit", "-q", "-m", "as it is"]);
    env
}

const CLAUDE_MD: &str = "\
# CLAUDE.md

This file provides guidance to agents.

## Commands

```bash
npm run build    # everything
npm run check    # what CI runs
```

## Rules

- The charge lives in `src/pay.rs`.
- Refunds are handled by `src/refund.rs`.
- Never log the card number.
- Use npm install to add packages.
- Use spaces for indentation.
- The charge lives in `src/pay.rs`
";
