//! Reader for git objects that keeps one `git cat-file` process running.

use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout};

use super::{GitError, GitRunner};

/// Amount of information requested per object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatFileMode {
    /// Id and size.
    About,
    /// Id, size and content.
    Content,
}

/// A git object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitObject {
    pub id: String,
    pub size: u64,
    /// Empty for `CatFileMode::Info`.
    pub content: Vec<u8>,
}

/// A running `git cat-file` that resolves names such as `main:src/pay.rs`.
pub struct GitObjectReader {
    ask: CatFileMode,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl fmt::Debug for GitObjectReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects")
            .field("ask", &self.ask)
            .finish_non_exhaustive()
    }
}

impl GitObjectReader {
    /// Starts the process.
    pub fn open(runner: &GitRunner, ask: CatFileMode) -> Result<Self, GitError> {
        let mut child = runner.spawn_quietly(&["cat-file", ask.option()])?;
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

    /// Returns the object called `name` if it exists and is a blob.
    pub fn get(&mut self, name: &str) -> Result<Option<GitObject>, GitError> {
        let found = self.request(name)?;
        Ok(found.and_then(|(kind, object)| (kind == "blob").then_some(object)))
    }

    /// Returns the id of the object called `name`, of any type.
    pub fn id_of(&mut self, name: &str) -> Result<Option<String>, GitError> {
        Ok(self.request(name)?.map(|(_, object)| object.id))
    }

    /// Returns the type of the object called `name`, and the object.
    fn request(&mut self, name: &str) -> Result<Option<(String, GitObject)>, GitError> {
        // The protocol is line-based: a newline would turn one request into two.
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
        // Git repeats the requested name, which may contain spaces, if there is no such object.
        if header.ends_with(" missing") || header.ends_with(" ambiguous") {
            return Ok(None);
        }
        let mut words = header.split(' ');
        let (id, kind, size) = (words.next(), words.next(), words.next());
        let size = size.and_then(|digits| digits.parse::<u64>().ok());
        let (Some(id), Some(kind), Some(size)) = (id, kind, size) else {
            return Err(unclear());
        };
        let kind = kind.to_owned();
        let mut object = GitObject {
            id: id.to_owned(),
            size,
            content: Vec::new(),
        };
        if self.ask == CatFileMode::Content {
            let all = usize::try_from(size).map_err(|_| unclear())? + 1;
            object.content.resize(all, 0);
            self.stdout
                .read_exact(&mut object.content)
                .map_err(failed)?;
            // Git adds a newline after the content.
            object.content.pop();
        }
        Ok(Some((kind, object)))
    }
}

impl Drop for GitObjectReader {
    fn drop(&mut self) {
        // The process only reads, so killing it loses nothing; waiting prevents a zombie.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl CatFileMode {
    fn option(self) -> &'static str {
        match self {
            Self::About => "--batch-check",
            Self::Content => "--batch",
        }
    }
}

fn command(ask: CatFileMode) -> String {
    format!("cat-file {}", ask.option())
}
