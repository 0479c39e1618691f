//! Conservative shell parser: the programs of a line, their folder, and whether its exit code is
//! theirs.
//!
//! Deliberately strict: a line with a here-document, a loop, a substitution or several outcomes is
//! not parsed.

use crate::words::is_listed;

/// Programs that build, test, check or fetch, whose failure is meaningful.
const CHECKERS: &str = "\
    npm, pnpm, yarn, bun, npx, pnpx, bunx, node, deno, tsc, eslint, vitest, jest, biome, prettier, vite, next, nx, turbo, lerna, rush, \
    cargo, rustc, make, just, task, go, golangci-lint, python, python3, pip, pip3, uv, uvx, poetry, pytest, tox, nox, hatch, pdm, ruff, mypy, \
    pyright, alembic, docker, docker-compose, gradle, gradlew, mvn, mvnw, sbt, dotnet, bundle, rake, rails, rspec, composer, phpunit, php, \
    cmake, ctest, ninja, bazel, meson, mise, pre-commit, swift, xcodebuild, mix, zig, stack, cabal, terraform, helm, prisma, buf, protoc, nix";

/// Subcommands that change the environment of other commands.
const CHANGING: &str = "\
    install, i, add, ci, sync, update, upgrade, generate, gen, codegen, migrate, up, start, build, restore, fetch, download, pull, setup, \
    bootstrap, link, lock, db:migrate, db:setup, enable, use, compile, create, createdb, prepare";

/// Programs that only show something or act on history; they do not fix a failure.
const IDLE: &str = "\
    ls, cat, head, tail, grep, rg, find, fd, wc, echo, pwd, which, git, gh, sed, awk, jq, tree, file, stat, diff, less, sleep, true, test, \
    curl, wget, ps, env, printenv, date, kill, rm, ken";

/// Programs at the end of a pipe that only filter output.
const FILTERS: &str =
    "tail, head, grep, rg, egrep, tee, cat, less, more, sed, awk, wc, sort, uniq, jq, cut, tr";

/// Commands that may follow another without a meaning of their own.
const TRAILERS: &str = "true, echo, exit, :";

/// Words before a command that are not part of it.
const WRAPPERS: &str = "time, env, nice, command, exec, nohup";

/// Options that narrow the work; a command that passes with one may fail without.
const NARROWING: &str = "\
    --lib, --bin, --bins, --test, --tests, --example, --examples, --bench, --package, --exclude, --filter, --testpathpattern, --testnamepattern, \
    --grep, --run, --skip, --ignore, --only, --help, --version, --dry-run, --no-run, --no-verify, --force, --no-verify-ssl, --collect-only, \
    --list, --listtests, --last-failed, --lf, --maxfail, --bail, --fix, --allow-dirty, --no-check, --quiet, --silent, --watch, --update, \
    -p, -k, -t, -f, -m, -x, -u, -q, -n, -h, -w";

/// Families of interchangeable programs.
const FAMILIES: [&str; 6] = [
    "npm, pnpm, yarn, bun",
    "npx, pnpx, bunx",
    "pip, pip3, uv, poetry, pdm",
    "python, python3",
    "docker-compose, docker",
    "jest, vitest, mocha",
];

/// Subcommands that are followed by the task.
const STARTING: &str = "run, exec, x, dlx";

/// Maximum length in bytes of a command that is quoted.
const COMMAND_BYTES_MAX: usize = 160;

/// One program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// Variables set for it, as typed.
    pub(super) variables: Vec<String>,
    /// The program and its arguments, as typed.
    pub(super) words: Vec<String>,
    /// The folder it runs in, relative to the agent's working directory.
    pub(super) folder: Option<String>,
}

/// A parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandLine {
    pub(super) simples: Vec<SimpleCommand>,
    /// True if a later command decides the exit code of the line.
    pub(super) is_masked: bool,
}

/// Purpose of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CommandPurpose {
    Test,
    Build,
    Lint,
    Format,
    Types,
    Generate,
    Migrate,
}

/// Parses a line, or returns `None` if it is not understood. `folder` is the agent's working
/// directory.
pub(super) fn parse_command_line(line: &str, folder: Option<&str>) -> Option<CommandLine> {
    let tokens = tokenize(line)?;
    let mut parsed = CommandLine {
        simples: Vec::new(),
        is_masked: false,
    };
    let (mut here, mut before) = (None, "&&");
    for (operator, words) in split_segments(&tokens) {
        let words = strip_wrappers(&words);
        let program = words
            .iter()
            .find(|it| !is_variable(it))
            .map_or("", String::as_str);
        match (before, program) {
            (_, "") => {}
            ("|", program) => {
                // A pipe into another program does work that the exit code also covers.
                is_listed(program, FILTERS).then_some(())?;
                parsed.is_masked = true;
            }
            (";" | "||", program) if is_listed(program, TRAILERS) => parsed.is_masked = true,
            ("&&", "cd") => here = Some(resolve_cd(words.get(1)?, folder)?),
            // These only change the shell and run no program.
            ("&&", "export" | "source" | "set" | "." | "ulimit") => {}
            ("&&", _) => {
                let at = words.iter().take_while(|it| is_variable(it)).count();
                let (variables, words) = words.split_at(at);
                parsed.simples.push(SimpleCommand {
                    variables: variables.to_vec(),
                    words: words.to_vec(),
                    folder: here.clone().flatten(),
                });
            }
            (_, _) => return None,
        }
        before = operator;
    }
    // A background command has not ended, so its outcome is unknown.
    (before != "&" && !parsed.simples.is_empty()).then_some(parsed)
}

impl SimpleCommand {
    /// Returns the program's name, without its folder.
    pub(super) fn program(&self) -> &str {
        let first = self.words.first().map_or("", String::as_str);
        first.rsplit('/').next().unwrap_or(first)
    }

    /// Returns the command as typed, if it is short enough to quote.
    pub(super) fn text(&self) -> Option<String> {
        let words = self.variables.iter().chain(&self.words);
        let text = words.map(String::as_str).collect::<Vec<_>>().join(" ");
        let fits = text.len() <= COMMAND_BYTES_MAX && !text.contains(['`', '\n']);
        fits.then_some(text)
    }

    /// Returns whether its failure is meaningful.
    pub(super) fn is_checker(&self) -> bool {
        is_listed(self.program(), CHECKERS)
            || self.words.first().is_some_and(|it| it.starts_with("./"))
    }

    /// Returns whether it may have made another command pass.
    pub(super) fn is_changing(&self) -> bool {
        let says = |word: &String| is_listed(word.trim_start_matches('-'), CHANGING);
        // The subcommand is among the first words; later ones are arguments.
        !is_listed(self.program(), IDLE) && self.words.iter().skip(1).take(3).any(says)
    }

    /// Returns whether both do the same task with the same or an interchangeable program.
    fn does_same_task(&self, other: &Self) -> bool {
        let same = self.program() == other.program() || is_family(self.program(), other.program());
        same && self.task() == other.task() && self.folder == other.folder
    }

    /// Returns the task of the program: `test`, `run build`.
    fn task(&self) -> Vec<&str> {
        let all = self.words.iter().skip(1).map(String::as_str);
        let mut plain = all.filter(|it| !it.starts_with('-'));
        let Some(first) = plain.next() else {
            return Vec::new();
        };
        let more = is_listed(first, "run, exec, compose, x");
        // `npm run test` and `npm test` are one task.
        let second = more.then(|| plain.next()).flatten();
        match (first, second) {
            ("run", Some(second @ ("test" | "start"))) => vec![second],
            (first, Some(second)) => vec![first, second],
            (first, None) => vec![first],
        }
    }

    /// Returns how this command relates to `failed`, if its success shows that `failed` would pass.
    pub(super) fn match_failure(&self, failed: &Self) -> Option<CommandMatch> {
        if !self.does_same_task(failed) {
            return None;
        }
        let rest = |it: &Self| -> Vec<String> {
            let task: Vec<String> = it.task().iter().map(ToString::to_string).collect();
            let rest = it
                .words
                .iter()
                .skip(1)
                .filter(|word| !task.contains(word) && *word != "run");
            rest.cloned().collect()
        };
        let (ours, theirs) = (rest(self), rest(failed));
        // Omitted arguments are fine: without a filter the command covers more.
        let added: Vec<&String> = ours.iter().filter(|it| !theirs.contains(it)).collect();
        let same_program = self.program() == failed.program();
        let new_variables = self
            .variables
            .iter()
            .any(|it| !failed.variables.contains(it));
        if added.is_empty() && same_program && !new_variables {
            return Some(CommandMatch::Alike);
        }
        let widens = |word: &&String| {
            let name = word.split('=').next().unwrap_or_default().to_lowercase();
            name.starts_with("--") && !is_listed(&name, NARROWING)
        };
        // The value of an option follows it.
        let fits = added.iter().enumerate().all(|(at, word)| {
            widens(word)
                || !word.starts_with('-')
                    && at
                        .checked_sub(1)
                        .is_some_and(|before| widens(&added[before]))
        });
        fits.then_some(CommandMatch::Variant)
    }

    /// Returns the purpose of the command, if it does the whole work and not a part of it.
    pub(super) fn purpose(&self) -> Option<CommandPurpose> {
        if !self.is_checker() || !self.variables.is_empty() || self.words.len() > COMMAND_WORDS_MAX
        {
            return None;
        }
        let narrow = |word: &String| {
            is_listed(
                &word.split('=').next().unwrap_or_default().to_lowercase(),
                NARROWING,
            )
        };
        let (mut plain, mut found) = (0, None);
        for (at, word) in self.words.iter().enumerate() {
            if word.starts_with('-') {
                // `python -m pytest` names a module; elsewhere `-m` selects tests.
                if narrow(word) && !(word == "-m" && self.program().starts_with("python")) {
                    return None;
                }
                continue;
            }
            let name = if at == 0 {
                self.program()
            } else {
                word.as_str()
            };
            match word_purpose(name) {
                Some(purpose) => found = found.or(Some(purpose)),
                None if at == 0 || is_listed(name, STARTING) => {}
                // A file, filter or target selects a part of the work.
                None => plain += 1,
            }
        }
        found.filter(|_| plain == 0)
    }
}

/// Maximum number of words of a habitual command.
const COMMAND_WORDS_MAX: usize = 8;

/// Relation between a passing command and an earlier failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandMatch {
    /// The same command, or one that covers more.
    Alike,
    /// A variant: another program of the family or other options.
    Variant,
}

/// Returns whether two different programs are interchangeable.
pub(super) fn is_family(a: &str, b: &str) -> bool {
    a != b
        && FAMILIES
            .iter()
            .any(|family| is_listed(a, family) && is_listed(b, family))
}

fn word_purpose(word: &str) -> Option<CommandPurpose> {
    let word = word.trim_start_matches("./");
    let lists = [
        (
            CommandPurpose::Test,
            "test, tests, t, pytest, vitest, jest, nextest, rspec, ctest, spec, phpunit, unittest, test:unit, test:all",
        ),
        (
            CommandPurpose::Lint,
            "lint, clippy, eslint, ruff, golangci-lint, vet, lint:all, pre-commit, credo",
        ),
        (
            CommandPurpose::Types,
            "typecheck, type-check, tsc, mypy, pyright, check-types",
        ),
        (
            CommandPurpose::Format,
            "fmt, format, prettier, rustfmt, gofmt",
        ),
        (
            CommandPurpose::Build,
            "build, compile, check, assemble, package",
        ),
        (CommandPurpose::Generate, "generate, codegen, gen"),
        (CommandPurpose::Migrate, "migrate, db:migrate"),
    ];
    let found = lists.iter().find(|(_, words)| is_listed(word, words));
    found.map(|(purpose, _)| *purpose)
}

/// Returns the folder of a `cd`, relative to `folder`: `Some(None)` for `folder` itself, `None` for
/// one outside.
fn resolve_cd(path: &str, folder: Option<&str>) -> Option<Option<String>> {
    let path = path.trim_matches(['"', '\'']).trim_end_matches('/');
    if path.contains("..") || path.starts_with('~') || path.contains('$') {
        return None;
    }
    if !path.starts_with('/') {
        let path = path.trim_start_matches("./");
        return Some((!path.is_empty() && path != ".").then(|| path.to_owned()));
    }
    let rest = path.strip_prefix(folder?.trim_end_matches('/'))?;
    match rest.strip_prefix('/') {
        _ if rest.is_empty() => Some(None),
        Some(below) => Some(Some(below.to_owned())),
        None => None,
    }
}

fn is_variable(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    })
}

fn strip_wrappers(words: &[String]) -> Vec<String> {
    let mut rest = words;
    loop {
        match rest {
            [first, after @ ..] if is_listed(first, WRAPPERS) => rest = after,
            [first, seconds, after @ ..]
                if first == "timeout" && seconds.starts_with(|c: char| c.is_ascii_digit()) =>
            {
                rest = after;
            }
            [..] => return rest.to_vec(),
        }
    }
}

/// A word or an operator between commands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ShellToken {
    Word(String),
    Operator(&'static str),
}

/// Splits tokens into commands, each with the operator after it.
fn split_segments(tokens: &[ShellToken]) -> Vec<(&'static str, Vec<String>)> {
    let mut found: Vec<(&'static str, Vec<String>)> = Vec::new();
    let mut words = Vec::new();
    for token in tokens {
        match token {
            ShellToken::Word(word) => words.push(word.clone()),
            ShellToken::Operator(operator) => found.push((operator, std::mem::take(&mut words))),
        }
    }
    found.push(("", words));
    found
}

/// Splits a line into words and operators, or returns `None` if only a shell can interpret it.
fn tokenize(line: &str) -> Option<Vec<ShellToken>> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut chars = line.trim().chars().peekable();
    while let Some(c) = chars.next() {
        if let Some(open) = quote {
            if c == open {
                quote = None;
            }
            word.push(c);
            continue;
        }
        match c {
            '\'' | '"' => {
                quote = Some(c);
                word.push(c);
            }
            '`' | '(' | ')' | '{' | '}' | '<' => return None,
            '$' if chars.peek() == Some(&'(') => return None,
            '\\' => {
                // A line continuation; other escapes are not interpreted.
                if chars.next() != Some('\n') {
                    return None;
                }
            }
            // A comment may contain operators and quotes.
            '#' if word.is_empty() => return None,
            '>' => {
                // `2>&1`, `> file`: a redirection does not change the task of the command.
                word.clear();
                while chars.next_if(|c| matches!(c, '>' | '&' | ' ')).is_some() {}
                while chars
                    .next_if(|c| !c.is_whitespace() && !"|&;".contains(*c))
                    .is_some()
                {}
            }
            '|' | '&' | ';' | '\n' => {
                finish_word(&mut word, &mut found);
                let twice = matches!(c, '|' | '&') && chars.next_if_eq(&c).is_some();
                found.push(ShellToken::Operator(match (c, twice) {
                    ('|', true) => "||",
                    ('|', false) => "|",
                    ('&', true) => "&&",
                    ('&', false) => "&",
                    (_, _) => ";",
                }));
            }
            c if c.is_whitespace() => finish_word(&mut word, &mut found),
            c => word.push(c),
        }
    }
    finish_word(&mut word, &mut found);
    quote.is_none().then_some(found)
}

fn finish_word(word: &mut String, found: &mut Vec<ShellToken>) {
    if !word.is_empty() {
        found.push(ShellToken::Word(std::mem::take(word)));
    }
}
