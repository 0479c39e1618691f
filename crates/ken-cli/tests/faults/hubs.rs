//! Two hubs that run as `ken serve`, and the organisation the tests write in.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ken_hub::database::{Database, Settings};
use ken_hub::identity::{OrganisationId, WorkspaceId};
use ken_testkit::http::Client;
use ken_testkit::postgres::Postgres;
use ken_testkit::served::Served;

/// The hubs' database.
pub(crate) const DATABASE: &str = "ken";
pub(crate) const ORGANISATION: &str = "acme";
const WORKSPACES: [&str; 3] = ["payments", "search", "website"];
/// How long a hub may take to begin, on a machine that does other things too.
const READY: Duration = Duration::from_secs(60);

/// Between two looks at whether a hub ended by itself.
const LOOK: Duration = Duration::from_millis(20);

/// Hubs, each at an address of its own that it keeps when it is begun again.
///
/// One that ends by itself, such as one that begins while the database is away, is begun again, as whatever looks
/// after processes would.
#[derive(Debug)]
pub(crate) struct Hubs {
    watched: Arc<Mutex<Watched>>,
    watcher: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Watched {
    url: String,
    hubs: Vec<Served>,
    ends: bool,
}

/// Whose events are written.
#[derive(Debug)]
pub(crate) struct Tenant {
    pub(crate) token: String,
    pub(crate) workspaces: Vec<String>,
}

/// Runs `ken` to its end and returns what it printed.
pub(crate) fn ken(args: &[&str]) -> String {
    let done = program().args(args).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "ken {args:?}: {said}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// `ken` without anything of whoever runs the tests.
fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ken"));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap());
    command.current_dir(std::env::temp_dir());
    command
}

impl Hubs {
    /// Prepares a database on `server` as an operator would, and begins two hubs.
    pub(crate) fn begin(server: &Postgres) -> (Self, Tenant) {
        server.sql("postgres", &format!("create database {DATABASE}"));
        let url = server.url(DATABASE);
        let hub = |args: &[&str]| ken(&[&["hub", "--database", &url], args].concat());
        hub(&["migrate"]);
        hub(&["organisation", "add", ORGANISATION]);
        for workspace in WORKSPACES {
            hub(&["workspace", "add", ORGANISATION, workspace]);
        }
        let actor = "human:ada@example.org";
        let token = hub(&[
            "token",
            "create",
            ORGANISATION,
            "--role",
            "curator",
            "--actor",
            actor,
        ]);
        let tenant = Tenant {
            token,
            workspaces: WORKSPACES.map(str::to_owned).to_vec(),
        };
        let bind = SocketAddr::from(([127, 0, 0, 1], 0));
        let begin = |()| Served::begin(on(&url), bind).unwrap();
        let hubs = [(); 2].map(begin).into();
        let watched = Watched {
            url: url.clone(),
            hubs,
            ends: false,
        };
        let watched = Arc::new(Mutex::new(watched));
        let watcher = Some(std::thread::spawn({
            let watched = Arc::clone(&watched);
            move || watch(&watched)
        }));
        let hubs = Self { watched, watcher };
        hubs.wait();
        (hubs, tenant)
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.look().hubs.iter().map(Served::address).collect()
    }

    pub(crate) fn processes(&self) -> Vec<u32> {
        self.look().hubs.iter().map(Served::id).collect()
    }

    /// Sends one hub a SIGKILL and begins it again, without waiting until it answers.
    pub(crate) fn kill(&self, number: usize) {
        let watched = &mut *self.look();
        let hub = &mut watched.hubs[number];
        hub.kill().unwrap();
        hub.again(on(&watched.url)).unwrap();
    }

    /// Begins every hub again on the same database of another server.
    pub(crate) fn move_to(&self, server: &Postgres) {
        self.look().url = server.url(DATABASE);
        for number in 0..self.addresses().len() {
            self.kill(number);
        }
        self.wait();
    }

    fn look(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until every hub says that it is ready.
    pub(crate) fn wait(&self) {
        let began = Instant::now();
        for address in self.addresses() {
            let mut client = Client::new("");
            while !client
                .get(address, "/readyz")
                .is_ok_and(|answer| answer.status == 200)
            {
                assert!(
                    began.elapsed() < READY,
                    "a hub is not ready after {READY:?}"
                );
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// Returns the hash of a workspace's state as the database has it, entry by entry.
pub(crate) fn state_hash(server: &Postgres, workspace: &str) -> String {
    let ids = server.sql(
        DATABASE,
        &format!("select organisation_id, id from ken.workspaces where name = '{workspace}'"),
    );
    let (organisation, workspace) = ids.split_once('|').unwrap();
    let organisation = OrganisationId(organisation.parse().unwrap());
    let workspace = WorkspaceId(workspace.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let database = Database::connect(&Settings::new(&server.url(DATABASE)))
            .await
            .unwrap();
        let mut tenant = database.tenant(organisation, workspace).await.unwrap();
        let hash = tenant.state().await.unwrap().hash();
        tenant.rollback().await.unwrap();
        database.pool().close().await;
        hash
    })
}

impl Drop for Hubs {
    fn drop(&mut self) {
        self.look().ends = true;
        let _ = self.watcher.take().map(JoinHandle::join);
    }
}

/// Begins hubs again that ended by themselves.
fn watch(watched: &Mutex<Watched>) {
    loop {
        std::thread::sleep(LOOK);
        let watched = &mut *watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.ends {
            return;
        }
        for hub in &mut watched.hubs {
            if hub.has_ended() {
                hub.again(on(&watched.url)).unwrap();
            }
        }
    }
}

/// `ken` with the hubs' database.
fn on(url: &str) -> Command {
    let mut ken = program();
    ken.env("KEN_DATABASE_URL", url);
    ken
}
