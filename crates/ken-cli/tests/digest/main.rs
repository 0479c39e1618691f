//! The first minute and digestion through the real program: what a repository keeps already is audited, taken in,
//! held against the ledger and decided about.

mod audit;
mod capture;
mod digestion;
mod planted;
mod stats;

use ken_testkit::test_env::TestEnv;

/// A repository with code, a `CLAUDE.md` that has aged, and no ledger.
fn aged() -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_ken")).in_git();
    env.write("src/pay.rs", "pub fn charge() -> bool {\n    true\n}\n");
    env.write("package.json", "{\"scripts\":{\"build\":\"tsc\"}}\n");
    env.write("pnpm-lock.yaml", "lockfileVersion: 9\n");
    env.write("CLAUDE.md", CLAUDE);
    env.write(
        ".github/CONTRIBUTING.md",
        "# Contributing\n\nThank you!\n\n- Use tabs for indentation.\n- Commit messages must follow Conventional Commits.\n",
    );
    let _ = env.git(["add", "-A"]);
    let _ = env.git(["commit", "-q", "-m", "as it is"]);
    env
}

const CLAUDE: &str = "\
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
