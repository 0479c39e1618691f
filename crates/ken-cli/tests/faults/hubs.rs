//! Two hubs running as `ken serve`, and the organization that the tests write to.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ken_hub::database::{DatabaseSettings, HubDatabase};
use ken_hub::ids::{OrganizationId, WorkspaceId};
use ken_testkit::http::TestHttpClient;
use ken_testkit::postgres::PostgresServer;
use ken_testkit::served::HubProcess;

/// Name of the hubs' database.
pub(crate) const DATABASE: &str = "ken";
pub(crate) const ORGANIZATION: &str = "acme";
/// The program under test.
pub(crate) const KEN: &str = env!("CARGO_BIN_EXE_ken");
const WORKSPACES: [&str; 3] = ["payments", "search", "website"];
/// Maximum startup time of a hub, on a busy machine.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// Interval between two checks for hubs that exited.
const WATCH_INTERVAL: Duration = Duration::from_millis(20);

/// Hubs, each at a fixed address that survives restarts.
///
/// A hub that exits, for example because the database is down while it starts, is restarted, as a
/// process supervisor would do.
#[derive(Debug)]
pub(crate) struct SupervisedHubs {
    watched: Arc<Mutex<HubSupervision>>,
    watcher: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct HubSupervision {
    url: String,
    hubs: Vec<HubProcess>,
    /// Program of each hub.
    programs: Vec<PathBuf>,
    ends: bool,
}

/// Token and workspaces of the organization under test.
#[derive(Debug)]
pub(crate) struct PushTenant {
    pub(crate) token: String,
    pub(crate) workspaces: Vec<String>,
}

/// Runs `ken` to completion and returns its output.
pub(crate) fn run_ken(args: &[&str]) -> String {
    run_program(Path::new(KEN), args)
}

/// Runs a version of `ken` to completion and returns its output.
fn run_program(program: &Path, args: &[&str]) -> String {
    let done = ken_command(program).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "ken {args:?}: {said}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// Returns a `ken` command without the environment of the user who runs the tests.
fn ken_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap());
    command.current_dir(std::env::temp_dir());
    command
}

impl SupervisedHubs {
    /// Prepares a database on `server` as an operator would, and starts two hubs.
    pub(crate) fn begin(server: &PostgresServer) -> (Self, PushTenant) {
        Self::begin_with(Path::new(KEN), server)
    }

    /// Like [`begin`](Self::begin), with another version of `ken`.
    pub(crate) fn begin_with(program: &Path, server: &PostgresServer) -> (Self, PushTenant) {
        server.sql("postgres", &format!("create database {DATABASE}"));
        let url = server.url(DATABASE);
        let hub =
            |args: &[&str]| run_program(program, &[&["hub", "--database", &url], args].concat());
        hub(&["migrate"]);
        hub(&["organization", "add", ORGANIZATION]);
        for workspace in WORKSPACES {
            hub(&["workspace", "add", ORGANIZATION, workspace]);
        }
        let actor = "human:ada@example.org";
        let token = hub(&[
            "token",
            "create",
            ORGANIZATION,
            "--role",
            "curator",
            "--actor",
            actor,
        ]);
        let tenant = PushTenant {
            token,
            workspaces: WORKSPACES.map(str::to_owned).to_vec(),
        };
        let bind = SocketAddr::from(([127, 0, 0, 1], 0));
        let begin = |()| HubProcess::begin(hub_command(program, &url), bind).unwrap();
        let hubs = [(); 2].map(begin).into();
        let watched = HubSupervision {
            url: url.clone(),
            hubs,
            programs: vec![program.to_owned(); 2],
            ends: false,
        };
        let watched = Arc::new(Mutex::new(watched));
        let watcher = Some(std::thread::spawn({
            let watched = Arc::clone(&watched);
            move || supervise(&watched)
        }));
        let hubs = Self { watched, watcher };
        hubs.wait();
        (hubs, tenant)
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.look().hubs.iter().map(HubProcess::address).collect()
    }

    pub(crate) fn processes(&self) -> Vec<u32> {
        self.look().hubs.iter().map(HubProcess::id).collect()
    }

    /// Kills one hub with SIGKILL and restarts it, without waiting for it to answer.
    pub(crate) fn kill(&self, number: usize) {
        let watched = &mut *self.look();
        let hub = &mut watched.hubs[number];
        hub.kill().unwrap();
        hub.again(hub_command(&watched.programs[number], &watched.url))
            .unwrap();
    }

    /// Replaces one hub by another version, and waits until every hub answers.
    pub(crate) fn replace(&self, number: usize, program: &Path) {
        program.clone_into(&mut self.look().programs[number]);
        self.kill(number);
        self.wait();
    }

    /// Restarts every hub on the same database of another server.
    pub(crate) fn move_to(&self, server: &PostgresServer) {
        self.look().url = server.url(DATABASE);
        for number in 0..self.addresses().len() {
            self.kill(number);
        }
        self.wait();
    }

    fn look(&self) -> MutexGuard<'_, HubSupervision> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until every hub is ready.
    pub(crate) fn wait(&self) {
        let began = Instant::now();
        for address in self.addresses() {
            let mut client = TestHttpClient::new("");
            while !client
                .get(address, "/readyz")
                .is_ok_and(|answer| answer.status == 200)
            {
                assert!(
                    began.elapsed() < READY_TIMEOUT,
                    "a hub is not ready after {READY_TIMEOUT:?}"
                );
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// Returns the hash of a workspace's state as stored in the database, entry by entry.
pub(crate) fn state_hash(server: &PostgresServer, workspace: &str) -> String {
    let ids = server.sql(
        DATABASE,
        &format!("select organization_id, id from ken.workspaces where name = '{workspace}'"),
    );
    let (organization, workspace) = ids.split_once('|').unwrap();
    let organization = OrganizationId(organization.parse().unwrap());
    let workspace = WorkspaceId(workspace.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let database = HubDatabase::connect(&DatabaseSettings::new(&server.url(DATABASE)))
            .await
            .unwrap();
        let mut tenant = database
            .begin_workspace(organization, workspace)
            .await
            .unwrap();
        let hash = tenant.state().await.unwrap().hash();
        tenant.rollback().await.unwrap();
        database.pool().close().await;
        hash
    })
}

impl Drop for SupervisedHubs {
    fn drop(&mut self) {
        self.look().ends = true;
        let _ = self.watcher.take().map(JoinHandle::join);
    }
}

/// Restarts hubs that exited on their own.
fn supervise(watched: &Mutex<HubSupervision>) {
    loop {
        std::thread::sleep(WATCH_INTERVAL);
        let watched = &mut *watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.ends {
            return;
        }
        for (hub, program) in watched.hubs.iter_mut().zip(&watched.programs) {
            if hub.has_ended() {
                hub.again(hub_command(program, &watched.url)).unwrap();
            }
        }
    }
}

/// Returns a `ken` command with the hubs' database.
fn hub_command(program: &Path, url: &str) -> Command {
    let mut ken = ken_command(program);
    ken.env("KEN_DATABASE_URL", url);
    ken
}
