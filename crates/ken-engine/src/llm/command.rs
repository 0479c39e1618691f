//! Judge as a program: it reads a JSON document on stdin and prints a JSON object.
//!
//! The program runs without a shell, with only the configured environment variables, outside any
//! repository. On a timeout or an answer that is too long, its whole process group is killed.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::question::LlmQuestion;
use super::{ANSWER_BYTES_MAX, LlmAnswer, LlmBackend, LlmError};

/// Interval at which the exit of a program is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Program with its arguments and environment.
#[derive(Debug)]
pub(super) struct LlmProgram {
    pub(super) command_line: Vec<String>,
    pub(super) variables: Vec<(String, OsString)>,
    /// Working directory.
    pub(super) folder: PathBuf,
    pub(super) timeout: Duration,
}

impl LlmProgram {
    /// Returns the file name of the program.
    pub(super) fn name(&self) -> String {
        let program = self.command_line.first().map_or("", String::as_str);
        let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
        name.to_owned()
    }

    /// Starts the program.
    fn start(&self) -> Result<Child, LlmError> {
        let failed = |source| LlmError::Start {
            program: self.name(),
            source,
        };
        let (program, arguments) = self
            .command_line
            .split_first()
            .ok_or(LlmError::NotConfigured)?;
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
        // A process group of its own lets a timeout kill the program's children too.
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            command.process_group(0);
        }
        command.spawn().map_err(failed)
    }

    /// Waits until the program closes its output and exits, at most until `until`.
    fn wait_for_answer(
        &self,
        child: &mut Child,
        until: Instant,
    ) -> Result<(Vec<u8>, ExitStatus), LlmError> {
        let timed_out = || LlmError::TimedOut {
            program: self.name(),
            seconds: self.timeout.as_secs(),
        };
        let stdout = child.stdout.take().ok_or_else(timed_out)?;
        let left = until.saturating_duration_since(Instant::now());
        let received = read_in_background(stdout).recv_timeout(left);
        let output = received.map_err(|_| timed_out())?;
        if output.len() as u64 > ANSWER_BYTES_MAX {
            return Err(LlmError::TooLong);
        }
        // `Child::wait` has no timeout, and a program may close its output and keep running.
        loop {
            let failed = |source| LlmError::Start {
                program: self.name(),
                source,
            };
            if let Some(status) = child.try_wait().map_err(failed)? {
                return Ok((output, status));
            }
            if until <= Instant::now() {
                return Err(timed_out());
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

impl LlmBackend for LlmProgram {
    fn ask(&self, question: &LlmQuestion) -> Result<LlmAnswer, LlmError> {
        let until = Instant::now() + self.timeout;
        let mut child = self.start()?;
        if let Some(mut stdin) = child.stdin.take() {
            let prompt = question.as_json();
            // On a thread of its own: a program that writes before it reads would deadlock. Write
            // errors are ignored, because a program may answer without reading all of its input.
            thread::spawn(move || stdin.write_all(prompt.as_bytes()));
        }
        let outcome = self.wait_for_answer(&mut child, until);
        if outcome.is_err() {
            kill_program(&mut child);
        }
        let (output, status) = outcome?;
        if !status.success() {
            return Err(LlmError::Failed {
                program: self.name(),
                status: status.to_string(),
            });
        }
        let text = String::from_utf8(output).map_err(|_| LlmError::malformed("it is not UTF-8"))?;
        Ok(LlmAnswer { text, tokens: None })
    }
}

/// Reads the output on another thread, up to one byte more than allowed.
fn read_in_background(stdout: ChildStdout) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut output = Vec::new();
        let read = stdout.take(ANSWER_BYTES_MAX + 1).read_to_end(&mut output);
        // The receiver is gone after a timeout.
        let _ = read.map(|_| sender.send(output));
    });
    receiver
}

/// Kills a program and its process group. The child was not reaped yet, so its id is still valid.
fn kill_program(child: &mut Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
