//! Glob patterns over paths: `*`, `**`, `?`, `[a-z]`, `[!a-z]`, `{a,b}`, and `\` to escape a
//! character.
//!
//! A pattern compiles to a small program for a nondeterministic automaton that follows all states
//! at once. Matching takes at most path × pattern steps, so a hostile pattern cannot cause
//! exponential backtracking. Patterns start at the repository root.

use std::fmt;
use std::str::FromStr;

use crate::values::text_form::text_form;

/// A compiled pattern over paths relative to the repository root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Glob {
    text: String,
    program: Vec<GlobStep>,
}

/// One instruction. A path matches if some route through the program ends after the last step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum GlobStep {
    /// Consumes one character.
    Take(CharSet),
    /// Continues at both steps.
    Fork(usize, usize),
    /// Continues at that step.
    Jump(usize),
}

/// The characters one step accepts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum CharSet {
    One(char),
    Any,
    NotSlash,
    Class {
        ranges: Vec<(char, char)>,
        side: ClassSide,
    },
}

/// States whether a class lists the accepted or the rejected characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum ClassSide {
    Inside,
    Outside,
}

/// The reason a text is not a valid glob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    #[error("the pattern is empty")]
    Empty,
    #[error(
        "write a path relative to the repository, with `/`, without `.`, `..` or a `/` at an end"
    )]
    Path,
    #[error("write `**` alone between slashes, as in src/**/*.rs")]
    Stars,
    #[error("`[` has no `]`, or nothing between them; write \\[ for the character")]
    Class,
    #[error("`{{` and `}}` come in pairs, not nested, as in {{a,b}}; write \\{{ for the character")]
    Braces,
    #[error("nothing follows the last `\\`")]
    Escape,
}

text_form!(Glob, "Glob", r"^[^/](.*[^/])?$");

impl Glob {
    /// Returns the pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether `path` is a matching file, or a folder that contains the literal part of
    /// the pattern.
    pub fn overlaps(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        // The folders before the first special character: `src/pay` in `src/pay/**/*.rs`.
        let special = self.text.find(['*', '?', '[', '{', '\\']);
        let literal = match special {
            Some(at) => self.text[..at].rsplit_once('/').map_or("", |(it, _)| it),
            None => &self.text,
        };
        let below = literal.strip_prefix(path);
        let is_folder = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        is_folder || self.matches(path)
    }

    /// Returns whether the whole `path` matches.
    pub fn matches(&self, path: &str) -> bool {
        let mut now = StateSet::new(self.program.len());
        let mut next = StateSet::new(self.program.len());
        now.add(&self.program, 0);
        for c in path.chars() {
            for index in 0..now.list.len() {
                let at = now.list[index];
                // `get`, because the accepting state is one past the last step.
                if let Some(GlobStep::Take(set)) = self.program.get(at)
                    && set.contains(c)
                {
                    next.add(&self.program, at + 1);
                }
            }
            // No state is left, so the rest of the path cannot match.
            if next.list.is_empty() {
                return false;
            }
            std::mem::swap(&mut now, &mut next);
            next.clear();
        }
        // The state after the last step means that the program accepted.
        now.seen[self.program.len()]
    }
}

impl CharSet {
    fn contains(&self, c: char) -> bool {
        match self {
            Self::One(one) => *one == c,
            Self::Any => true,
            Self::NotSlash => c != '/',
            Self::Class { ranges, side } => {
                let inside = ranges.iter().any(|(low, high)| (*low..=*high).contains(&c));
                // Like `*`, a class never matches a separator, not even a negated one.
                c != '/' && inside == (*side == ClassSide::Inside)
            }
        }
    }
}

/// The set of current states.
struct StateSet {
    seen: Vec<bool>,
    // The same states in insertion order; iterating is cheaper than scanning `seen`.
    list: Vec<usize>,
    /// Work stack of `add`, kept to avoid an allocation per character.
    open: Vec<usize>,
}

impl StateSet {
    fn new(steps: usize) -> Self {
        Self {
            seen: vec![false; steps + 1],
            list: Vec::new(),
            open: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.seen.fill(false);
        self.list.clear();
    }

    /// Adds a step and all steps reachable from it without consuming a character.
    fn add(&mut self, program: &[GlobStep], at: usize) {
        self.open.push(at);
        while let Some(at) = self.open.pop() {
            // Visiting a step once also stops at cycles of jumps.
            if std::mem::replace(&mut self.seen[at], true) {
                continue;
            }
            match program.get(at) {
                Some(GlobStep::Fork(one, other)) => self.open.extend([*one, *other]),
                Some(GlobStep::Jump(to)) => self.open.push(*to),
                Some(GlobStep::Take(_)) | None => self.list.push(at),
            }
        }
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Glob {
    type Err = GlobError;

    fn from_str(text: &str) -> Result<Self, GlobError> {
        if text.is_empty() {
            return Err(GlobError::Empty);
        }
        // Paths from git have no such parts, so such a pattern could never match.
        let part = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !text.split('/').all(part) || text.chars().any(char::is_control) {
            return Err(GlobError::Path);
        }
        let mut compiler = GlobCompiler {
            text: text.chars().collect(),
            at: 0,
            program: Vec::new(),
        };
        compiler.compile_sequence()?;
        Ok(Self {
            text: text.to_owned(),
            program: compiler.program,
        })
    }
}

struct GlobCompiler {
    text: Vec<char>,
    at: usize,
    program: Vec<GlobStep>,
}

impl GlobCompiler {
    fn compile_sequence(&mut self) -> Result<(), GlobError> {
        while let Some(c) = self.next() {
            match c {
                '{' => self.compile_braces()?,
                '}' => return Err(GlobError::Braces),
                c => self.compile_item(c)?,
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let c = self.text.get(self.at).copied();
        self.at += usize::from(c.is_some());
        c
    }

    /// Compiles the item that starts with `c`, which is not a brace.
    fn compile_item(&mut self, c: char) -> Result<(), GlobError> {
        match c {
            '*' if self.text.get(self.at) == Some(&'*') => self.compile_double_star()?,
            '*' => self.emit_repeat(CharSet::NotSlash),
            '?' => self.program.push(GlobStep::Take(CharSet::NotSlash)),
            '[' => self.compile_class()?,
            '\\' => {
                let c = self.next().ok_or(GlobError::Escape)?;
                self.program.push(GlobStep::Take(CharSet::One(c)));
            }
            c => self.program.push(GlobStep::Take(CharSet::One(c))),
        }
        Ok(())
    }

    fn emit_repeat(&mut self, set: CharSet) {
        let start = self.program.len();
        // Zero or more: either consume and loop, or skip all three steps.
        self.program.push(GlobStep::Fork(start + 1, start + 3));
        self.program.push(GlobStep::Take(set));
        self.program.push(GlobStep::Jump(start));
    }

    /// Compiles `**`: any number of folders, or everything below if at the end.
    fn compile_double_star(&mut self) -> Result<(), GlobError> {
        // `at` is after the first star, so the character before `**` is at `at - 2`.
        let starts = self.at < 2 || self.text[self.at - 2] == '/';
        self.at += 1;
        match self.text.get(self.at) {
            None if starts => self.emit_repeat(CharSet::Any),
            Some('/') if starts => {
                self.at += 1;
                let start = self.program.len();
                // The second branch skips the loop and the slash: `**/a` also matches `a`.
                self.program.push(GlobStep::Fork(start + 1, start + 5));
                self.emit_repeat(CharSet::Any);
                self.program.push(GlobStep::Take(CharSet::One('/')));
            }
            Some(_) | None => return Err(GlobError::Stars),
        }
        Ok(())
    }

    fn compile_class(&mut self) -> Result<(), GlobError> {
        let side = match self.text.get(self.at) {
            Some('!' | '^') => ClassSide::Outside,
            Some(_) | None => ClassSide::Inside,
        };
        self.at += usize::from(side == ClassSide::Outside);
        let mut ranges = Vec::new();
        loop {
            let low = self.next_class_char()?;
            let Some(low) = low else { break };
            // A `-` before `]` is a literal character.
            let range = self.text.get(self.at) == Some(&'-')
                && self.text.get(self.at + 1).is_some_and(|c| *c != ']');
            if range {
                self.at += 1;
                let high = self.next_class_char()?.ok_or(GlobError::Class)?;
                ranges.push((low, high));
            } else {
                ranges.push((low, low));
            }
        }
        if ranges.is_empty() || ranges.iter().any(|(low, high)| high < low) {
            return Err(GlobError::Class);
        }
        self.program
            .push(GlobStep::Take(CharSet::Class { ranges, side }));
        Ok(())
    }

    /// Returns the next character of a class, or `None` at the closing `]`.
    fn next_class_char(&mut self) -> Result<Option<char>, GlobError> {
        match self.next().ok_or(GlobError::Class)? {
            ']' => Ok(None),
            // A class never matches a separator, so one inside is a mistake.
            '/' => Err(GlobError::Class),
            '\\' => self.next().ok_or(GlobError::Escape).map(Some),
            c => Ok(Some(c)),
        }
    }

    /// Compiles `{a,b}`: a chain of forks over the alternatives, which all continue after the
    /// brace.
    fn compile_braces(&mut self) -> Result<(), GlobError> {
        let mut ends = Vec::new();
        let mut fork = self.program.len();
        self.program.push(GlobStep::Jump(fork + 1));
        loop {
            match self.next().ok_or(GlobError::Braces)? {
                '{' => return Err(GlobError::Braces),
                c @ (',' | '}') => {
                    ends.push(self.program.len());
                    // A placeholder: the end of the brace is not known yet.
                    self.program.push(GlobStep::Jump(0));
                    let next = self.program.len();
                    if c == '}' {
                        break;
                    }
                    // Another alternative follows, so the jump at `fork` becomes a choice.
                    self.program[fork] = GlobStep::Fork(fork + 1, next);
                    fork = next;
                    self.program.push(GlobStep::Jump(next + 1));
                }
                c => self.compile_item(c)?,
            }
        }
        let after = self.program.len();
        for end in ends {
            self.program[end] = GlobStep::Jump(after);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_paths() {
        let table: &[(&str, &[&str], &[&str])] = &[
            (
                "src/pay.rs",
                &["src/pay.rs"],
                &["src/pay_rs", "src/pay.rs.bak", "x/src/pay.rs"],
            ),
            ("*.rs", &["a.rs", ".rs"], &["src/a.rs", "a.rsx"]),
            ("src/*", &["src/a"], &["src/a/b", "src"]),
            ("**", &["a", "a/b/c"], &[]),
            ("**/*.rs", &["a.rs", "src/a.rs", "src/x/a.rs"], &["a.py"]),
            ("src/**", &["src/a", "src/a/b"], &["src", "srcs/a"]),
            (
                "src/**/mod.rs",
                &["src/mod.rs", "src/a/b/mod.rs"],
                &["src/amod.rs", "mod.rs"],
            ),
            ("**/a/**/b", &["a/b", "x/a/y/z/b"], &["xa/b", "a/xb"]),
            ("a?c", &["abc", "aéc"], &["ac", "a/c"]),
            ("[a-cx].rs", &["a.rs", "x.rs"], &["d.rs", "ab.rs"]),
            ("[!a-c].rs", &["d.rs"], &["a.rs"]),
            ("a[!x]b", &["ayb"], &["a/b"]),
            ("[a-]x", &["-x", "ax"], &["bx"]),
            ("*.{ts,tsx}", &["a.ts", "a.tsx"], &["a.t", "a.ts,tsx"]),
            (
                "{src,lib/**/x}/a",
                &["src/a", "lib/x/a", "lib/y/x/a"],
                &["lib/a"],
            ),
            ("{a,b*,c/d}e", &["ae", "bxe", "c/de"], &["ce", "de"]),
            ("a{,.bak}", &["a", "a.bak"], &["a,"]),
            (
                "app/\\[id\\]/*.tsx",
                &["app/[id]/page.tsx"],
                &["app/i/page.tsx"],
            ),
        ];
        for (pattern, yes, no) in table {
            let glob: Glob = pattern.parse().unwrap();
            assert_eq!(glob.to_string(), *pattern);
            for path in *yes {
                assert!(glob.matches(path), "{pattern} should match {path}");
            }
            for path in *no {
                assert!(!glob.matches(path), "{pattern} should not match {path}");
            }
        }
    }

    #[test]
    fn a_folder_overlaps_the_patterns_below_it() {
        let overlaps = |pattern: &str, path: &str| pattern.parse::<Glob>().unwrap().overlaps(path);
        for path in ["src/pay", "src/pay/", "src", "src/pay/a.rs", "src/pay/x/b"] {
            assert!(overlaps("src/pay/**", path), "{path}");
        }
        for path in ["src/payroll", "lib", "pay", "src/payroll/a.rs"] {
            assert!(!overlaps("src/pay/**", path), "{path}");
        }
        assert!(overlaps("Cargo.toml", "Cargo.toml"));
        assert!(overlaps("**/*.rs", "src/a.rs"));
        assert!(!overlaps("**/*.rs", "src"));
    }

    #[test]
    fn refusals_say_what_to_write() {
        let table = [
            ("", GlobError::Empty),
            ("/etc/passwd", GlobError::Path),
            ("a/../b", GlobError::Path),
            ("./a", GlobError::Path),
            ("src/", GlobError::Path),
            ("a**", GlobError::Stars),
            ("***", GlobError::Stars),
            ("a/**b", GlobError::Stars),
            ("{a,b/**}/c", GlobError::Stars),
            ("[abc", GlobError::Class),
            ("[]", GlobError::Class),
            ("[z-a]", GlobError::Class),
            ("{a,b", GlobError::Braces),
            ("a}", GlobError::Braces),
            ("{a,{b,c}}", GlobError::Braces),
            ("a\\", GlobError::Escape),
        ];
        for (pattern, why) in table {
            assert_eq!(pattern.parse::<Glob>(), Err(why), "{pattern}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer_than_path_times_pattern() {
        let glob: Glob = format!("{}b", "*a".repeat(300)).parse().unwrap();
        assert!(!glob.matches(&"a".repeat(1_000)));
    }
}
