//! Patterns over paths: `*`, `**`, `?`, `[a-z]`, `[!a-z]`, `{a,b}`, and `\` before a character that
//! shall stand for itself.
//!
//! A pattern is compiled to a small program whose states are all followed at once, so matching takes
//! at most path × pattern steps, whatever either says. Patterns begin at the repository's root.

use std::fmt;
use std::str::FromStr;

/// A pattern over paths below the repository's root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Glob {
    text: String,
    program: Vec<Step>,
}

/// One instruction; a path matches when some way through the steps ends behind the last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    /// Takes one character.
    Take(Set),
    /// Goes on at either step.
    Fork(usize, usize),
    /// Goes on at that step.
    Jump(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Set {
    One(char),
    Any,
    NotSlash,
    Among {
        ranges: Vec<(char, char)>,
        side: Side,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Side {
    Inside,
    Outside,
}

/// Why a text is no pattern over paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    #[error("the pattern is empty")]
    Empty,
    #[error("paths are relative to the repository, with `/`, without `.`, `..` or a `/` at an end")]
    Path,
    #[error("`**` stands alone between slashes, as in src/**/*.rs")]
    Stars,
    #[error("`[` has no `]`, or nothing between them; write \\[ for the character")]
    Class,
    #[error("`{{` and `}}` come in pairs, not nested, as in {{a,b}}; write \\{{ for the character")]
    Braces,
    #[error("nothing follows the last `\\`")]
    Escape,
}

impl Glob {
    /// Returns the pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether `path` matches from end to end.
    pub fn matches(&self, path: &str) -> bool {
        let mut now = States::new(self.program.len());
        let mut next = States::new(self.program.len());
        now.add(&self.program, 0);
        for c in path.chars() {
            for at in 0..now.list.len() {
                let at = now.list[at];
                if let Some(Step::Take(set)) = self.program.get(at)
                    && set.has(c)
                {
                    next.add(&self.program, at + 1);
                }
            }
            if next.list.is_empty() {
                return false;
            }
            std::mem::swap(&mut now, &mut next);
            next.clear();
        }
        now.seen[self.program.len()]
    }
}

impl Set {
    fn has(&self, c: char) -> bool {
        match self {
            Self::One(one) => *one == c,
            Self::Any => true,
            Self::NotSlash => c != '/',
            Self::Among { ranges, side } => {
                let inside = ranges.iter().any(|(low, high)| (*low..=*high).contains(&c));
                c != '/' && inside == (*side == Side::Inside)
            }
        }
    }
}

/// The steps a match may stand at.
struct States {
    seen: Vec<bool>,
    list: Vec<usize>,
    /// Steps still to follow; kept so that it is made once a path.
    open: Vec<usize>,
}

impl States {
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

    /// Adds a step and all that can be reached from it without taking a character.
    fn add(&mut self, program: &[Step], at: usize) {
        self.open.push(at);
        while let Some(at) = self.open.pop() {
            if std::mem::replace(&mut self.seen[at], true) {
                continue;
            }
            match program.get(at) {
                Some(Step::Fork(one, other)) => self.open.extend([*one, *other]),
                Some(Step::Jump(to)) => self.open.push(*to),
                Some(Step::Take(_)) | None => self.list.push(at),
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
        let part = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !text.split('/').all(part) || text.chars().any(char::is_control) {
            return Err(GlobError::Path);
        }
        let mut compiler = Compiler {
            text: text.chars().collect(),
            at: 0,
            program: Vec::new(),
        };
        compiler.sequence()?;
        Ok(Self {
            text: text.to_owned(),
            program: compiler.program,
        })
    }
}

struct Compiler {
    text: Vec<char>,
    at: usize,
    program: Vec<Step>,
}

impl Compiler {
    fn sequence(&mut self) -> Result<(), GlobError> {
        while let Some(c) = self.next() {
            match c {
                '{' => self.braces()?,
                '}' => return Err(GlobError::Braces),
                c => self.item(c)?,
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let c = self.text.get(self.at).copied();
        self.at += usize::from(c.is_some());
        c
    }

    /// Compiles what begins with `c`, anything but braces.
    fn item(&mut self, c: char) -> Result<(), GlobError> {
        match c {
            '*' if self.text.get(self.at) == Some(&'*') => self.stars()?,
            '*' => self.repeat(Set::NotSlash),
            '?' => self.program.push(Step::Take(Set::NotSlash)),
            '[' => self.class()?,
            '\\' => {
                let c = self.next().ok_or(GlobError::Escape)?;
                self.program.push(Step::Take(Set::One(c)));
            }
            c => self.program.push(Step::Take(Set::One(c))),
        }
        Ok(())
    }

    fn repeat(&mut self, set: Set) {
        let start = self.program.len();
        self.program.push(Step::Fork(start + 1, start + 3));
        self.program.push(Step::Take(set));
        self.program.push(Step::Jump(start));
    }

    /// Compiles `**`: any number of whole folders, or everything below at the end.
    fn stars(&mut self) -> Result<(), GlobError> {
        let starts = self.at < 2 || self.text[self.at - 2] == '/';
        self.at += 1;
        match self.text.get(self.at) {
            None if starts => self.repeat(Set::Any),
            Some('/') if starts => {
                self.at += 1;
                let start = self.program.len();
                self.program.push(Step::Fork(start + 1, start + 5));
                self.repeat(Set::Any);
                self.program.push(Step::Take(Set::One('/')));
            }
            Some(_) | None => return Err(GlobError::Stars),
        }
        Ok(())
    }

    fn class(&mut self) -> Result<(), GlobError> {
        let side = match self.text.get(self.at) {
            Some('!' | '^') => Side::Outside,
            Some(_) | None => Side::Inside,
        };
        self.at += usize::from(side == Side::Outside);
        let mut ranges = Vec::new();
        loop {
            let low = self.class_char()?;
            let Some(low) = low else { break };
            let range = self.text.get(self.at) == Some(&'-')
                && self.text.get(self.at + 1).is_some_and(|c| *c != ']');
            if range {
                self.at += 1;
                let high = self.class_char()?.ok_or(GlobError::Class)?;
                ranges.push((low, high));
            } else {
                ranges.push((low, low));
            }
        }
        if ranges.is_empty() || ranges.iter().any(|(low, high)| high < low) {
            return Err(GlobError::Class);
        }
        self.program.push(Step::Take(Set::Among { ranges, side }));
        Ok(())
    }

    /// Returns the next character of a class, or nothing at its `]`.
    fn class_char(&mut self) -> Result<Option<char>, GlobError> {
        match self.next().ok_or(GlobError::Class)? {
            ']' => Ok(None),
            '/' => Err(GlobError::Class),
            '\\' => self.next().ok_or(GlobError::Escape).map(Some),
            c => Ok(Some(c)),
        }
    }

    /// Compiles `{a,b}`: each way is tried in turn, then all go on behind the brace.
    fn braces(&mut self) -> Result<(), GlobError> {
        let mut ends = Vec::new();
        let mut fork = self.program.len();
        self.program.push(Step::Jump(fork + 1));
        loop {
            match self.next().ok_or(GlobError::Braces)? {
                '{' => return Err(GlobError::Braces),
                c @ (',' | '}') => {
                    ends.push(self.program.len());
                    self.program.push(Step::Jump(0));
                    let next = self.program.len();
                    if c == '}' {
                        break;
                    }
                    self.program[fork] = Step::Fork(fork + 1, next);
                    fork = next;
                    self.program.push(Step::Jump(next + 1));
                }
                c => self.item(c)?,
            }
        }
        let behind = self.program.len();
        for end in ends {
            self.program[end] = Step::Jump(behind);
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
