//! A hub on a port of its own, with a database of its own and two organisations in it.

use std::time::Duration;

use ken_core::event::Recorded;
use ken_core::time::{DAY_MS, Timestamp};
use ken_hub::api::App;
use ken_hub::database::{Database, MIGRATIONS, Name};
use ken_hub::identity::{OrganisationId, Role, Secret, WorkspaceId, tokens};
use ken_hub::serve::{self, Settings};
use ken_testkit::postgres::{self, Postgres};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use ureq::Agent;
use ureq::http::{HeaderMap, Request};

/// No test waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A hub that answers, and what is needed to call it.
pub(crate) struct Hub {
    pub(crate) url: String,
    pub(crate) address: std::net::SocketAddr,
    pub(crate) app: App,
    pub(crate) acme: Tenant,
    pub(crate) other: Tenant,
    pub(crate) database: postgres::Database,
    pub(crate) shutdown: CancellationToken,
    pub(crate) ended: Option<tokio::task::JoinHandle<Result<(), serve::ServeError>>>,
    agent: Agent,
    // Last: what runs on it ends before it.
    pub(crate) runtime: Runtime,
}

/// An organisation with one workspace and a token of each role.
#[derive(Clone, Debug)]
pub(crate) struct Tenant {
    pub(crate) organisation: OrganisationId,
    pub(crate) workspace: WorkspaceId,
    pub(crate) name: String,
    pub(crate) reader: String,
    pub(crate) agent: String,
    pub(crate) curator: String,
    pub(crate) admin: String,
    pub(crate) expired: String,
    pub(crate) revoked: String,
    /// The admin token's id.
    pub(crate) admin_id: String,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Hub {
    pub(crate) fn start() -> Self {
        Self::start_with(|_| {})
    }

    pub(crate) fn start_with(change: impl FnOnce(&mut Settings)) -> Self {
        let key: String = MIGRATIONS.iter().map(|it| it.sql).collect();
        let server = Postgres::shared();
        let database = server.database_from(&key, |url| {
            let runtime = Runtime::new().expect("a runtime");
            runtime.block_on(Database::migrate(url)).expect("migrated");
        });
        let mut settings = Settings::new(database.url().to_owned());
        settings.connections = 8;
        // What is not about limits meets none.
        settings.limits.rate.per_second = 1e6;
        settings.limits.rate.burst = 1e6;
        change(&mut settings);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let shutdown = CancellationToken::new();
        let (app, listener) = runtime.block_on(async {
            let app = serve::open(settings).await.expect("a hub");
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            (app, listener)
        });
        let address = listener.local_addr().expect("bound");
        let ended = runtime.spawn(serve::serve(app.clone(), listener, shutdown.clone()));
        let acme = runtime.block_on(tenant(&app, "acme", "shop"));
        let other = runtime.block_on(tenant(&app, "other", "vault"));
        Self {
            url: format!("http://{address}"),
            address,
            app,
            acme,
            other,
            database,
            shutdown,
            ended: Some(ended),
            agent: agent(),
            runtime,
        }
    }

    pub(crate) fn get(&self, path: &str, token: &str) -> Answer {
        self.send("GET", path, &[("authorization", &bearer(token))], None)
    }

    pub(crate) fn post(&self, path: &str, token: &str, body: &str) -> Answer {
        let headers = [
            ("authorization", bearer(token)),
            ("content-type", "application/json".to_owned()),
        ];
        let headers = headers.each_ref().map(|(name, it)| (*name, it.as_str()));
        self.send("POST", path, &headers, Some(body.as_bytes()))
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Answer {
        send(&self.agent, &self.url, method, path, headers, body)
    }

    /// Returns the tables that hold a text anywhere, looked up as whoever may see every row.
    pub(crate) fn tables_holding(&self, text: &str) -> Vec<String> {
        let tables = self.database.sql(
            "select relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
             where nspname = 'ken' and relkind in ('r', 'p') and not relispartition order by 1",
        );
        let tables: Vec<&str> = tables
            .lines()
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .collect();
        assert!(tables.len() >= 15, "{tables:?}");
        let holds = |table: &&&str| {
            let query = format!("select count(*) from ken.{table} t where t::text like '%{text}%'");
            self.database.sql(&query).trim() != "0"
        };
        tables
            .iter()
            .filter(holds)
            .map(|it| (*it).to_owned())
            .collect()
    }

    /// Pushes lines and returns the answer.
    pub(crate) fn push(&self, tenant: &Tenant, token: &str, copies: &[Recorded]) -> Answer {
        let lines: Vec<&str> = copies.iter().map(Recorded::line).collect();
        let body = format!(r#"{{"events":[{}]}}"#, lines.join(","));
        let path = format!("/v1/workspaces/{}/events", tenant.name);
        self.post(&path, token, &body)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.shutdown.cancel();
        if let Some(ended) = self.ended.take() {
            let patience = Duration::from_secs(10);
            let waited = async { tokio::time::timeout(patience, ended).await };
            drop(self.runtime.block_on(waited));
        }
    }
}

pub(crate) fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

pub(crate) fn agent() -> Agent {
    let config = Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .max_redirects(0)
        .proxy(None)
        .build();
    config.into()
}

pub(crate) fn send(
    agent: &Agent,
    url: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
) -> Answer {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("{url}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = match body {
        Some(body) => agent.run(request.body(body.to_vec()).expect("a request")),
        None => agent.run(request.body(()).expect("a request")),
    };
    let mut answer = answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
    let body = answer
        .body_mut()
        .with_config()
        .limit(64 << 20)
        .read_to_vec();
    Answer {
        status: answer.status().as_u16(),
        headers: answer.headers().clone(),
        body: body.expect("a body"),
    }
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.and_then(|it| it.to_str().ok()).unwrap_or_default()
    }

    /// Checks that this is a whole problem of that kind, and returns it.
    #[track_caller]
    pub(crate) fn problem(&self, slug: &str) -> Value {
        let told = self.json();
        assert_eq!(told["type"], format!("/problems/{slug}"), "{told}");
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(told["status"], self.status);
        for member in ["title", "detail"] {
            assert!(told[member].as_str().is_some_and(|it| !it.is_empty()));
        }
        told
    }
}

async fn tenant(app: &App, organisation: &str, workspace: &str) -> Tenant {
    let name: Name = organisation.parse().expect("a name");
    let id = app.database.create_organisation(&name).await;
    let id = id.expect("a database").expect("a new name");
    let mut tx = app.database.organisation(id).await.expect("a transaction");
    let name: Name = workspace.parse().expect("a name");
    let made = tx.create_workspace(&name).await;
    let workspace_id = made.expect("a database").expect("a new name");
    tx.commit().await.expect("committed");
    let (mut secrets, mut ids) = (Vec::new(), Vec::new());
    let now = app.world.now();
    for (role, expires, revoked) in [
        (Role::Reader, None, false),
        (Role::Agent, None, false),
        (Role::Curator, None, false),
        (Role::Admin, Some(now.plus_millis(DAY_MS)), false),
        (
            Role::Admin,
            Some(Timestamp::from_millis(now.millis() - 1)),
            false,
        ),
        (Role::Admin, None, true),
    ] {
        let (id, secret) = token(app, id, role, None, expires).await;
        if revoked {
            let tx = app
                .database
                .organisation(OrganisationId(tenant_of(app, &secret).await));
            let mut tx = tx.await.expect("a transaction");
            tokens::revoke(&mut tx, id, now).await.expect("revoked");
            tx.commit().await.expect("committed");
        }
        ids.push(id.to_string());
        secrets.push(secret.reveal().to_owned());
    }
    let [reader, agent, curator, admin, expired, revoked] = secrets.try_into().expect("six tokens");
    Tenant {
        organisation: id,
        workspace: workspace_id,
        name: workspace.to_owned(),
        reader,
        agent,
        curator,
        admin,
        expired,
        revoked,
        admin_id: ids[3].clone(),
    }
}

async fn tenant_of(app: &App, secret: &Secret) -> uuid::Uuid {
    let caller = tokens::by_secret(&app.database, secret, app.world.now()).await;
    caller.expect("a database").expect("a token").organisation.0
}

/// Makes a token.
pub(crate) async fn token(
    app: &App,
    organisation: OrganisationId,
    role: Role,
    workspaces: Option<Vec<WorkspaceId>>,
    expires_at: Option<Timestamp>,
) -> (uuid::Uuid, Secret) {
    let actor = match role {
        Role::Reader | Role::Agent => "agent:tester",
        Role::Curator | Role::Admin => "human:ada@example.org",
    };
    let token = tokens::Token {
        id: app.world.uuid(),
        name: role.name().to_owned(),
        actor: actor.parse().expect("an actor"),
        role,
        workspaces,
        created_at: app.world.now(),
        expires_at,
        revoked_at: None,
    };
    let secret = Secret::generate();
    let mut tx = app.database.organisation(organisation).await.expect("tx");
    tokens::create(&mut tx, &token, &secret)
        .await
        .expect("made");
    tx.commit().await.expect("committed");
    (token.id, secret)
}
