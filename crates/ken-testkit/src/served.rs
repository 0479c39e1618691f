//! `ken serve_command` as a child process that ends when the value is dropped.

use std::io::{self, BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Text before the address that a hub prints on stderr when it is ready.
const LISTENING_PREFIX: &str = "listening on http://";

/// Time a hub may take to shut down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(60);

/// A running hub.
#[derive(Debug)]
pub struct HubProcess {
    process: Child,
    address: SocketAddr,
}

impl HubProcess {
    /// Starts a hub and waits until it prints its address. With port 0 the hub itself picks a free
    /// port, so no other process can take it in between.
    ///
    /// `ken` is the program with its environment, including the database URL.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or exits before it listens.
    pub fn begin(mut ken: Command, bind: SocketAddr) -> io::Result<Self> {
        let mut process = serve_command(&mut ken, bind)
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = process.stderr.take().expect("it is piped");
        let mut stderr_lines = BufReader::new(stderr);
        let mut line = String::new();
        let address = loop {
            line.clear();
            if stderr_lines.read_line(&mut line)? == 0 {
                let status = process.wait()?;
                return Err(io::Error::other(format!("the hub did not begin: {status}")));
            }
            if let Some((_, behind)) = line.split_once(LISTENING_PREFIX) {
                let address = behind.split_whitespace().next().unwrap_or_default();
                break address.parse().map_err(io::Error::other)?;
            }
        };
        // Keep draining stderr, or the hub would block on a full pipe.
        std::thread::spawn(move || stderr_lines.lines().map_while(Result::ok).for_each(drop));
        Ok(Self { process, address })
    }

    /// Restarts the hub on the same address without waiting until it listens: its database may be
    /// down.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn again(&mut self, mut ken: Command) -> io::Result<()> {
        let process = serve_command(&mut ken, self.address).stderr(Stdio::null());
        self.process = process.spawn()?;
        Ok(())
    }

    /// Returns the listening address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns whether the process has exited.
    pub fn has_ended(&mut self) -> bool {
        self.process.try_wait().is_ok_and(|ended| ended.is_some())
    }

    /// Kills the process with SIGKILL and waits for it.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub fn kill(&mut self) -> io::Result<()> {
        self.process.kill()?;
        self.process.wait().map(drop)
    }

    /// Sends SIGTERM and waits for a clean exit.
    ///
    /// # Panics
    ///
    /// If it does not exit in time, or with an error.
    pub fn end(mut self) {
        let id = self.id().to_string();
        // `Child::kill` sends SIGKILL; only SIGTERM tests the graceful shutdown.
        let signaled = Command::new("kill").args(["-TERM", &id]).status();
        assert!(signaled.is_ok_and(|it| it.success()), "nobody to ask");
        let started = Instant::now();
        loop {
            match self.process.try_wait().expect("its process is ours") {
                Some(status) => {
                    assert!(status.success(), "the hub ended with {status}");
                    return;
                }
                None => assert!(started.elapsed() < SHUTDOWN_TIMEOUT, "the hub did not end"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for HubProcess {
    fn drop(&mut self) {
        // Errors are ignored: the process may have exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn serve_command(ken: &mut Command, bind: SocketAddr) -> &mut Command {
    ken.args(["serve", "--bind", &bind.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
}
