//! `ken serve` as a process: begun, asked where it listens, ended with the value.

use std::io::{self, BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What a hub says on stderr when it takes requests, before its address.
const LISTENING: &str = "listening on http://";

/// How long a hub may take to end once it was asked to.
const PATIENCE: Duration = Duration::from_secs(60);

/// A hub that runs.
#[derive(Debug)]
pub struct Served {
    process: Child,
    address: SocketAddr,
}

impl Served {
    /// Begins a hub and waits until it says where it listens. With port 0 it takes a free one, and nobody gets it in between.
    ///
    /// `ken` is the program with its surroundings, the database's address among them.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or ends before it listens.
    pub fn begin(mut ken: Command, bind: SocketAddr) -> io::Result<Self> {
        let mut process = serve(&mut ken, bind).stderr(Stdio::piped()).spawn()?;
        let stderr = process.stderr.take().expect("it is piped");
        let mut said = BufReader::new(stderr);
        let mut line = String::new();
        let address = loop {
            line.clear();
            if said.read_line(&mut line)? == 0 {
                let status = process.wait()?;
                return Err(io::Error::other(format!("the hub did not begin: {status}")));
            }
            if let Some((_, behind)) = line.split_once(LISTENING) {
                let address = behind.split_whitespace().next().unwrap_or_default();
                break address.parse().map_err(io::Error::other)?;
            }
        };
        // Whatever it says later is read, so that it never waits for us.
        std::thread::spawn(move || said.lines().map_while(Result::ok).for_each(drop));
        Ok(Self { process, address })
    }

    /// Begins the hub again where it was, without waiting until it listens: its database may be away.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn again(&mut self, mut ken: Command) -> io::Result<()> {
        let process = serve(&mut ken, self.address).stderr(Stdio::null());
        self.process = process.spawn()?;
        Ok(())
    }

    /// Returns where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the id of its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns whether it ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.process.try_wait().is_ok_and(|ended| ended.is_some())
    }

    /// Sends it a SIGKILL and waits until it is gone.
    ///
    /// # Errors
    ///
    /// If that cannot be done.
    pub fn kill(&mut self) -> io::Result<()> {
        self.process.kill()?;
        self.process.wait().map(drop)
    }

    /// Asks it to end and waits until it has.
    ///
    /// # Panics
    ///
    /// If it does not end in time, or not well.
    pub fn end(mut self) {
        let id = self.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status();
        assert!(asked.is_ok_and(|it| it.success()), "nobody to ask");
        let begun = Instant::now();
        loop {
            match self.process.try_wait().expect("its process is ours") {
                Some(status) => {
                    assert!(status.success(), "the hub ended with {status}");
                    return;
                }
                None => assert!(begun.elapsed() < PATIENCE, "the hub did not end"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn serve(ken: &mut Command, bind: SocketAddr) -> &mut Command {
    ken.args(["serve", "--bind", &bind.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
}
