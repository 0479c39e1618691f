//! A program as judge: it reads one JSON document on stdin and prints one JSON object.
//!
//! No shell, an environment with nothing but what was named, a folder that is no repository. The program
//! and whatever it started are ended when its time is up or it says too much.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::question::Question;
use super::{ANSWER_BYTES_MAX, Answer, JudgeError, Port};

/// How often an ending program is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// A program and what it is started with.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) words: Vec<String>,
    pub(super) variables: Vec<(String, OsString)>,
    /// Where it runs.
    pub(super) folder: PathBuf,
    pub(super) timeout: Duration,
}

impl Program {
    /// Returns the program's name without its folder.
    pub(super) fn name(&self) -> String {
        let program = self.words.first().map_or("", String::as_str);
        let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
        name.to_owned()
    }

    fn start(&self) -> Result<Child, JudgeError> {
        let failed = |source| JudgeError::Start {
            program: self.name(),
            source,
        };
        let (program, arguments) = self.words.split_first().ok_or(JudgeError::NotConfigured)?;
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            command.process_group(0);
        }
        command.spawn().map_err(failed)
    }

    /// Waits for the end of the answer and of the program, no longer than `until`.
    fn wait(&self, child: &mut Child, until: Instant) -> Result<(Vec<u8>, ExitStatus), JudgeError> {
        let timed_out = || JudgeError::TimedOut {
            program: self.name(),
            seconds: self.timeout.as_secs(),
        };
        let stdout = child.stdout.take().ok_or_else(timed_out)?;
        let left = until.saturating_duration_since(Instant::now());
        let said = listen(stdout).recv_timeout(left);
        let said = said.map_err(|_| timed_out())?;
        if ANSWER_BYTES_MAX < said.len() as u64 {
            return Err(JudgeError::TooLong);
        }
        loop {
            let failed = |source| JudgeError::Start {
                program: self.name(),
                source,
            };
            if let Some(status) = child.try_wait().map_err(failed)? {
                return Ok((said, status));
            }
            if until <= Instant::now() {
                return Err(timed_out());
            }
            thread::sleep(LOOK);
        }
    }
}

impl Port for Program {
    fn ask(&self, question: &Question) -> Result<Answer, JudgeError> {
        let until = Instant::now() + self.timeout;
        let mut child = self.start()?;
        if let Some(mut stdin) = child.stdin.take() {
            let prompt = question.as_json();
            // A program that does not read to the end closes its input; its answer says more.
            thread::spawn(move || stdin.write_all(prompt.as_bytes()));
        }
        let outcome = self.wait(&mut child, until);
        if outcome.is_err() {
            end(&mut child);
        }
        let (said, status) = outcome?;
        if !status.success() {
            return Err(JudgeError::Failed {
                program: self.name(),
                status: status.to_string(),
            });
        }
        let text = String::from_utf8(said);
        let text = text.map_err(|_| JudgeError::malformed("it is not UTF-8"))?;
        Ok(Answer { text, tokens: None })
    }
}

/// Reads what a program says, up to a byte more than is allowed, beside our own work.
fn listen(stdout: ChildStdout) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut said = Vec::new();
        let read = stdout.take(ANSWER_BYTES_MAX + 1).read_to_end(&mut said);
        // Whoever waited may have given up.
        let _ = read.map(|_| sender.send(said));
    });
    receiver
}

/// Ends a program and what it started. It was not waited for yet, so its number is still its own.
fn end(child: &mut Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
