//! Objects of a repository, one question after the other to one `git cat-file`.

use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout};

use super::{GitError, Runner};

/// What is asked about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Its id and size.
    About,
    /// What it holds, too.
    Content,
}

/// An object git has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub id: String,
    pub size: u64,
    /// Empty where only [`Ask::About`] was asked.
    pub content: Vec<u8>,
}

/// A `git cat-file` that waits for names such as `main:src/pay.rs`.
pub struct Objects {
    ask: Ask,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects")
            .field("ask", &self.ask)
            .finish_non_exhaustive()
    }
}

impl Objects {
    /// Starts git.
    pub fn open(runner: &Runner, ask: Ask) -> Result<Self, GitError> {
        let mut child = runner.start_quietly(&["cat-file", ask.option()])?;
        let (stdin, stdout) =
            child
                .stdin
                .take()
                .zip(child.stdout.take())
                .ok_or_else(|| GitError::Answer {
                    command: command(ask),
                })?;
        Ok(Self {
            ask,
            child,
            stdin,
            stdout: BufReader::new(stdout),
        })
    }

    /// Returns the object called `name`, if there is one and it is a file.
    pub fn get(&mut self, name: &str) -> Result<Option<Object>, GitError> {
        if name.contains('\n') {
            return Ok(None);
        }
        let command = || command(self.ask);
        let failed = |source| GitError::Run {
            command: command(),
            source,
        };
        let unclear = || GitError::Answer { command: command() };
        writeln!(self.stdin, "{name}").map_err(failed)?;
        self.stdin.flush().map_err(failed)?;
        let mut header = String::new();
        self.stdout.read_line(&mut header).map_err(failed)?;
        let header = header.trim_end();
        // A name may have spaces and comes back where there is no such object.
        if header.ends_with(" missing") || header.ends_with(" ambiguous") {
            return Ok(None);
        }
        let mut words = header.split(' ');
        let (id, kind, size) = (words.next(), words.next(), words.next());
        let size = size.and_then(|it| it.parse::<u64>().ok());
        let (Some(id), Some(kind), Some(size)) = (id, kind, size) else {
            return Err(unclear());
        };
        let mut object = Object {
            id: id.to_owned(),
            size,
            content: Vec::new(),
        };
        if self.ask == Ask::Content {
            let all = usize::try_from(size).map_err(|_| unclear())? + 1;
            object.content.resize(all, 0);
            self.stdout
                .read_exact(&mut object.content)
                .map_err(failed)?;
            object.content.pop();
        }
        Ok((kind == "blob").then_some(object))
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // It only reads; nobody waits for what it might still say.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ask {
    fn option(self) -> &'static str {
        match self {
            Self::About => "--batch-check",
            Self::Content => "--batch",
        }
    }
}

fn command(ask: Ask) -> String {
    format!("cat-file {}", ask.option())
}
