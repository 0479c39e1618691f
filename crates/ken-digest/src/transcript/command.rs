//! A line for a shell, as far as it can be told without one: which programs run, in which folder, whether the line's exit
//! code is theirs.
//!
//! Strict on purpose: a line with a here-document, a loop, a substitution or several endings is no line that is understood.

use crate::words::is_one;

/// Programs that build, test, check or fetch; their failure means something.
const CHECKERS: &str = "\
    npm, pnpm, yarn, bun, npx, pnpx, bunx, node, deno, tsc, eslint, vitest, jest, biome, prettier, vite, next, nx, turbo, lerna, rush, \
    cargo, rustc, make, just, task, go, golangci-lint, python, python3, pip, pip3, uv, uvx, poetry, pytest, tox, nox, hatch, pdm, ruff, mypy, \
    pyright, alembic, docker, docker-compose, gradle, gradlew, mvn, mvnw, sbt, dotnet, bundle, rake, rails, rspec, composer, phpunit, php, \
    cmake, ctest, ninja, bazel, meson, mise, pre-commit, swift, xcodebuild, mix, zig, stack, cabal, terraform, helm, prisma, buf, protoc, nix";

/// Words of commands that change what others need.
const CHANGING: &str = "\
    install, i, add, ci, sync, update, upgrade, generate, gen, codegen, migrate, up, start, build, restore, fetch, download, pull, setup, \
    bootstrap, link, lock, db:migrate, db:setup, enable, use, compile, create, createdb, prepare";

/// Programs that only show something, or act on history; they make nothing pass.
const IDLE: &str = "\
    ls, cat, head, tail, grep, rg, find, fd, wc, echo, pwd, which, git, gh, sed, awk, jq, tree, file, stat, diff, less, sleep, true, test, \
    curl, wget, ps, env, printenv, date, kill, rm, ken";

/// Programs a pipe may end in: they show less of what the first one said.
const FILTERS: &str =
    "tail, head, grep, rg, egrep, tee, cat, less, more, sed, awk, wc, sort, uniq, jq, cut, tr";

/// Commands that may follow another without meaning anything.
const TRAILERS: &str = "true, echo, exit, :";

/// Words before a command that belong to no program.
const WRAPPERS: &str = "time, env, nice, command, exec, nohup";

/// Options that let less of the work be done; what passes with one may fail without.
const NARROWING: &str = "\
    --lib, --bin, --bins, --test, --tests, --example, --examples, --bench, --package, --exclude, --filter, --testpathpattern, --testnamepattern, \
    --grep, --run, --skip, --ignore, --only, --help, --version, --dry-run, --no-run, --no-verify, --force, --no-verify-ssl, --collect-only, \
    --list, --listtests, --last-failed, --lf, --maxfail, --bail, --fix, --allow-dirty, --no-check, --quiet, --silent, --watch, --update, \
    -p, -k, -t, -f, -m, -x, -u, -q, -n, -h, -w";

/// Families of programs that do the same work.
const FAMILIES: [&str; 6] = [
    "npm, pnpm, yarn, bun",
    "npx, pnpx, bunx",
    "pip, pip3, uv, poetry, pdm",
    "python, python3",
    "docker-compose, docker",
    "jest, vitest, mocha",
];

/// Words that say that what is done follows.
const STARTING: &str = "run, exec, x, dlx";

/// Bytes a command may have to be told.
const COMMAND_BYTES_MAX: usize = 160;

/// One program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Simple {
    /// Variables set for it, as typed.
    pub(super) variables: Vec<String>,
    /// The program and its arguments, as typed.
    pub(super) words: Vec<String>,
    /// The folder it was typed in, seen from where the agent worked.
    pub(super) folder: Option<String>,
}

/// A line that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) simples: Vec<Simple>,
    /// Whether something behind the programs decides the line's exit code.
    pub(super) is_masked: bool,
}

/// What a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Purpose {
    Test,
    Build,
    Lint,
    Format,
    Types,
    Generate,
    Migrate,
}

/// Takes a line apart; nothing where it is not understood. `folder` is where the agent works.
pub(super) fn parse(line: &str, folder: Option<&str>) -> Option<Line> {
    let tokens = tokens(line)?;
    let mut parsed = Line {
        simples: Vec::new(),
        is_masked: false,
    };
    let (mut here, mut before) = (None, "&&");
    for (operator, words) in segments(&tokens) {
        let words = without_wrappers(&words);
        let program = words
            .iter()
            .find(|it| !is_variable(it))
            .map_or("", String::as_str);
        match (before, program) {
            (_, "") => {}
            ("|", program) => {
                is_one(program, FILTERS).then_some(())?;
                parsed.is_masked = true;
            }
            (";" | "||", program) if is_one(program, TRAILERS) => parsed.is_masked = true,
            ("&&", "cd") => here = Some(inside(words.get(1)?, folder)?),
            ("&&", "export" | "source" | "set" | "." | "ulimit") => {}
            ("&&", _) => {
                let at = words.iter().take_while(|it| is_variable(it)).count();
                let (variables, words) = words.split_at(at);
                parsed.simples.push(Simple {
                    variables: variables.to_vec(),
                    words: words.to_vec(),
                    folder: here.clone().flatten(),
                });
            }
            (_, _) => return None,
        }
        before = operator;
    }
    // What goes on in the background has not ended.
    (before != "&" && !parsed.simples.is_empty()).then_some(parsed)
}

impl Simple {
    /// Returns the program's name, without the folder it lies in.
    pub(super) fn program(&self) -> &str {
        let first = self.words.first().map_or("", String::as_str);
        first.rsplit('/').next().unwrap_or(first)
    }

    /// Returns the command as it is typed, if it is short enough to be told.
    pub(super) fn text(&self) -> Option<String> {
        let words = self.variables.iter().chain(&self.words);
        let text = words.map(String::as_str).collect::<Vec<_>>().join(" ");
        let fits = text.len() <= COMMAND_BYTES_MAX && !text.contains(['`', '\n']);
        fits.then_some(text)
    }

    /// Returns whether its failure means something.
    pub(super) fn is_checker(&self) -> bool {
        is_one(self.program(), CHECKERS)
            || self.words.first().is_some_and(|it| it.starts_with("./"))
    }

    /// Returns whether it may have made something else pass.
    pub(super) fn is_changing(&self) -> bool {
        let says = |word: &String| is_one(word.trim_start_matches('-'), CHANGING);
        !is_one(self.program(), IDLE) && self.words.iter().skip(1).take(3).any(says)
    }

    /// Returns whether both run the same work: one program and what it is told to do.
    fn is_kin(&self, other: &Self) -> bool {
        let same = self.program() == other.program() || is_family(self.program(), other.program());
        same && self.task() == other.task() && self.folder == other.folder
    }

    /// Returns what the program is told to do: `test`, `run build`.
    fn task(&self) -> Vec<&str> {
        let all = self.words.iter().skip(1).map(String::as_str);
        let mut plain = all.filter(|it| !it.starts_with('-'));
        let Some(first) = plain.next() else {
            return Vec::new();
        };
        let more = is_one(first, "run, exec, compose, x");
        // `npm run test` and `npm test` are one task.
        let second = more.then(|| plain.next()).flatten();
        match (first, second) {
            ("run", Some(second @ ("test" | "start"))) => vec![second],
            (first, Some(second)) => vec![first, second],
            (first, None) => vec![first],
        }
    }

    /// Returns whether this passing shows that `failed` would pass.
    pub(super) fn settles(&self, failed: &Self) -> Option<Settled> {
        if !self.is_kin(failed) {
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
        let added: Vec<&String> = ours.iter().filter(|it| !theirs.contains(it)).collect();
        let same_program = self.program() == failed.program();
        let new_variables = self
            .variables
            .iter()
            .any(|it| !failed.variables.contains(it));
        if added.is_empty() && same_program && !new_variables {
            return Some(Settled::Alike);
        }
        let widens = |word: &&String| {
            let name = word.split('=').next().unwrap_or_default().to_lowercase();
            name.starts_with("--") && !is_one(&name, NARROWING)
        };
        // An option's value stands behind it.
        let fits = added.iter().enumerate().all(|(at, word)| {
            widens(word)
                || !word.starts_with('-')
                    && at
                        .checked_sub(1)
                        .is_some_and(|before| widens(&added[before]))
        });
        fits.then_some(Settled::Otherwise)
    }

    /// Returns what the command is for, if it does all of that work and not a part of it.
    pub(super) fn purpose(&self) -> Option<Purpose> {
        if !self.is_checker() || !self.variables.is_empty() || COMMAND_WORDS_MAX < self.words.len()
        {
            return None;
        }
        let narrow = |word: &String| {
            is_one(
                &word.split('=').next().unwrap_or_default().to_lowercase(),
                NARROWING,
            )
        };
        let (mut plain, mut found) = (0, None);
        for (at, word) in self.words.iter().enumerate() {
            if word.starts_with('-') {
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
            match purpose_of(name) {
                Some(purpose) => found = found.or(Some(purpose)),
                None if at == 0 || is_one(name, STARTING) => {}
                // A file, a filter, a target: a part of the work.
                None => plain += 1,
            }
        }
        found.filter(|_| plain == 0)
    }
}

/// Words of a command that may be a project's way.
const COMMAND_WORDS_MAX: usize = 8;

/// How one command's success bears on another's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// It is the same command, or asks for more.
    Alike,
    /// It was called another way.
    Otherwise,
}

/// Returns whether two programs do the same work.
pub(super) fn is_family(a: &str, b: &str) -> bool {
    a != b
        && FAMILIES
            .iter()
            .any(|family| is_one(a, family) && is_one(b, family))
}

fn purpose_of(word: &str) -> Option<Purpose> {
    let word = word.trim_start_matches("./");
    let lists = [
        (
            Purpose::Test,
            "test, tests, t, pytest, vitest, jest, nextest, rspec, ctest, spec, phpunit, unittest, test:unit, test:all",
        ),
        (
            Purpose::Lint,
            "lint, clippy, eslint, ruff, golangci-lint, vet, lint:all, pre-commit, credo",
        ),
        (
            Purpose::Types,
            "typecheck, type-check, tsc, mypy, pyright, check-types",
        ),
        (Purpose::Format, "fmt, format, prettier, rustfmt, gofmt"),
        (Purpose::Build, "build, compile, check, assemble, package"),
        (Purpose::Generate, "generate, codegen, gen"),
        (Purpose::Migrate, "migrate, db:migrate"),
    ];
    let found = lists.iter().find(|(_, words)| is_one(word, words));
    found.map(|(purpose, _)| *purpose)
}

/// Returns the folder a `cd` leads to, seen from `folder`; nothing inside for `folder` itself, none for one outside.
fn inside(path: &str, folder: Option<&str>) -> Option<Option<String>> {
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

fn without_wrappers(words: &[String]) -> Vec<String> {
    let mut rest = words;
    loop {
        match rest {
            [first, after @ ..] if is_one(first, WRAPPERS) => rest = after,
            [first, seconds, after @ ..]
                if first == "timeout" && seconds.starts_with(|c: char| c.is_ascii_digit()) =>
            {
                rest = after;
            }
            [..] => return rest.to_vec(),
        }
    }
}

/// A word, or what stands between commands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Operator(&'static str),
}

/// Cuts tokens into commands, each with the operator behind it.
fn segments(tokens: &[Token]) -> Vec<(&'static str, Vec<String>)> {
    let mut found: Vec<(&'static str, Vec<String>)> = Vec::new();
    let mut words = Vec::new();
    for token in tokens {
        match token {
            Token::Word(word) => words.push(word.clone()),
            Token::Operator(operator) => found.push((operator, std::mem::take(&mut words))),
        }
    }
    found.push(("", words));
    found
}

/// Returns the words and operators of a line; nothing where it needs a shell to be understood.
fn tokens(line: &str) -> Option<Vec<Token>> {
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
                // A line that goes on.
                if chars.next() != Some('\n') {
                    return None;
                }
            }
            '#' if word.is_empty() => return None,
            '>' => {
                // `2>&1`, `> file`: where the output goes says nothing about the command.
                word.clear();
                while chars.next_if(|c| matches!(c, '>' | '&' | ' ')).is_some() {}
                while chars
                    .next_if(|c| !c.is_whitespace() && !"|&;".contains(*c))
                    .is_some()
                {}
            }
            '|' | '&' | ';' | '\n' => {
                end(&mut word, &mut found);
                let twice = matches!(c, '|' | '&') && chars.next_if_eq(&c).is_some();
                found.push(Token::Operator(match (c, twice) {
                    ('|', true) => "||",
                    ('|', false) => "|",
                    ('&', true) => "&&",
                    ('&', false) => "&",
                    (_, _) => ";",
                }));
            }
            c if c.is_whitespace() => end(&mut word, &mut found),
            c => word.push(c),
        }
    }
    end(&mut word, &mut found);
    quote.is_none().then_some(found)
}

fn end(word: &mut String, found: &mut Vec<Token>) {
    if !word.is_empty() {
        found.push(Token::Word(std::mem::take(word)));
    }
}
