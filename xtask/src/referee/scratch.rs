//! Scratch folder of a case: a home of its own, git repositories with Ken, and processes in them.
//!
//! Processes see a cleared environment, so that neither the agent that runs the referee nor its
//! user's configuration reaches a case. Input and output go through files: a process that neither
//! reads nor ends cannot block the referee beyond [`PROCESS_LIMIT`].

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use super::check::Answer;

/// Longest time that one command may take.
const PROCESS_LIMIT: Duration = Duration::from_secs(60);

const POLL_EVERY: Duration = Duration::from_millis(3);

/// Repository that exists in every case.
pub(crate) const FIRST_REPOSITORY: &str = "a";

/// The person who owns every repository.
const GIT_CONFIG: &str = "\
[user]
\tname = Owner
\temail = owner@example.org
[init]
\tdefaultBranch = main
[commit]
\tgpgsign = false
[advice]
\tdetachedHead = false
";

#[derive(Debug)]
pub(crate) struct Scratch {
    root: PathBuf,
    ken: PathBuf,
    database: Option<String>,
}

impl Scratch {
    /// Creates the folder `name` below the system's folder for temporary files.
    pub(crate) fn create(name: &str, ken: &Path, database: Option<&str>) -> Result<Self, String> {
        let root = std::env::temp_dir().join(format!("ken-referee-{}-{name}", std::process::id()));
        let scratch = Self {
            root,
            ken: ken.to_owned(),
            database: database.map(str::to_owned),
        };
        let home = scratch.root.join("home");
        fs::create_dir_all(&home).map_err(|error| format!("cannot create a folder: {error}"))?;
        scratch.write_file(Path::new("home/.gitconfig"), GIT_CONFIG)?;
        Ok(scratch)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Creates a repository with one document and an empty ledger, both committed.
    pub(crate) fn add_repository(&self, name: &str) -> Result<(), String> {
        let notes = Path::new(name).join("docs/notes.md");
        self.write_file(&notes, "# Notes\n\nMeasured by hand.\n")?;
        for line in [
            &["git", "init", "-q", "."][..],
            &["ken", "init"],
            &["git", "add", "-A"],
            &["git", "commit", "-qm", "begin"],
        ] {
            let answer = self.run(line, name, &BTreeMap::new(), "")?;
            if answer.code != 0 {
                return Err(format!("{} failed: {}", line.join(" "), answer.error));
            }
        }
        Ok(())
    }

    pub(crate) fn write_file(&self, path: &Path, text: &str) -> Result<(), String> {
        let path = self.root.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .map_err(|error| format!("cannot create a folder: {error}"))?;
        }
        fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    pub(crate) fn remove(&self, path: &Path) -> Result<(), String> {
        let path = self.root.join(path);
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.map_err(|error| format!("cannot remove {}: {error}", path.display()))
    }

    /// Returns the program that the first word of a line names, with a cleared environment.
    pub(crate) fn command(&self, program: &str, dir: &str) -> Command {
        let mut command = match program {
            "ken" => Command::new(&self.ken),
            other => Command::new(other),
        };
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.root.join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .current_dir(self.root.join(dir));
        if let Some(database) = &self.database {
            command.env("KEN_DATABASE_URL", database);
        }
        command
    }

    /// Runs a program to its end.
    pub(crate) fn run(
        &self,
        words: &[&str],
        dir: &str,
        env: &BTreeMap<String, String>,
        stdin: &str,
    ) -> Result<Answer, String> {
        let [program, args @ ..] = words else {
            return Err("an empty command line".to_owned());
        };
        let mut command = self.command(program, dir);
        command.args(args).envs(env);
        let [input, out, error] = ["stdin", "stdout", "stderr"].map(|name| self.root.join(name));
        fs::write(&input, stdin).map_err(|error| format!("cannot write the input: {error}"))?;
        let file = |opened: std::io::Result<File>| opened.map_err(|error| error.to_string());
        command
            .stdin(file(File::open(&input))?)
            .stdout(file(File::create(&out))?)
            .stderr(file(File::create(&error))?);
        let child = command.spawn();
        let mut child = child.map_err(|error| format!("cannot start `{program}`: {error}"))?;
        let code = wait(&mut child, &words.join(" "))?;
        let read = |path: &Path| {
            let bytes = fs::read(path).map_err(|error| error.to_string())?;
            Ok::<_, String>(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Answer {
            code,
            out: read(&out)?,
            error: read(&error)?,
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays behind below the system's temporary files harms no later case.
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Waits for the end of a process, and kills it after [`PROCESS_LIMIT`].
pub(crate) fn wait(child: &mut Child, line: &str) -> Result<i32, String> {
    let end = Instant::now() + PROCESS_LIMIT;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            // No code: a signal ended it, which no step expects.
            return Ok(status.code().unwrap_or(-1));
        }
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("`{line}` took longer than {PROCESS_LIMIT:?}"));
        }
        thread::sleep(POLL_EVERY);
    }
}

/// Returns the files below the paths that contain `needle`.
pub(crate) fn scan(root: &Path, needle: &str, paths: &[PathBuf]) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> = paths.to_vec();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).map_err(|error| error.to_string())?;
            for entry in entries {
                left.push(entry.map_err(|error| error.to_string())?.path());
            }
        } else if path.is_file() {
            let bytes = fs::read(&path).map_err(|error| error.to_string())?;
            if bytes
                .windows(needle.len())
                .any(|window| window == needle.as_bytes())
            {
                let path = path.strip_prefix(root).unwrap_or(&path);
                found.push(path.display().to_string());
            }
        }
    }
    found.sort();
    Ok(found)
}
