//! Test hub on its own port, with its own database and two organizations.

use std::time::Duration;

use ken_core::ledger::event::RecordedEvent;
use ken_core::values::time::{DAY_MS, Timestamp};
use ken_hub::api::AppState;
use ken_hub::clock::HubClock;
use ken_hub::config::ServeSettings;
use ken_hub::database::{HubDatabase, HubName, MIGRATIONS};
use ken_hub::identity::{TokenSecret, tokens};
use ken_hub::ids::{OrganizationId, Role, WorkspaceId};
use ken_hub::server;
use ken_testkit::postgres::{self, PostgresServer};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use ureq::Agent;
use ureq::http::{HeaderMap, Request};

/// Maximum wait for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// A running hub, with its tenants and an HTTP client.
pub(crate) struct ApiHubEnvironment {
    pub(crate) url: String,
    pub(crate) address: std::net::SocketAddr,
    pub(crate) app: AppState,
    pub(crate) acme: TenantFixture,
    pub(crate) other: TenantFixture,
    pub(crate) database: postgres::TestDatabase,
    pub(crate) shutdown: CancellationToken,
    pub(crate) ended: Option<tokio::task::JoinHandle<Result<(), server::ServeError>>>,
    agent: Agent,
    // Last, so that its tasks end before it is dropped.
    pub(crate) runtime: Runtime,
}

/// An organization with one workspace and a token for each role.
#[derive(Clone, Debug)]
pub(crate) struct TenantFixture {
    pub(crate) organization: OrganizationId,
    pub(crate) workspace: WorkspaceId,
    pub(crate) name: String,
    /// Of another organization: reads publications and nothing else.
    pub(crate) peer: String,
    pub(crate) reader: String,
    pub(crate) agent: String,
    /// Of `human:mel@example.org`.
    pub(crate) member: String,
    pub(crate) curator: String,
    pub(crate) admin: String,
    pub(crate) expired: String,
    pub(crate) revoked: String,
    /// Id of the admin token.
    pub(crate) admin_id: String,
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl ApiHubEnvironment {
    pub(crate) fn start() -> Self {
        Self::start_with(|_| {})
    }

    pub(crate) fn start_with(change: impl FnOnce(&mut ServeSettings)) -> Self {
        Self::start_on(None, change)
    }

    /// Starts a hub whose clock stands still until a test moves it.
    pub(crate) fn start_at(now: Timestamp) -> Self {
        Self::start_on(Some(now), |_| {})
    }

    pub(crate) fn start_on(
        now: Option<Timestamp>,
        change: impl FnOnce(&mut ServeSettings),
    ) -> Self {
        let key: String = MIGRATIONS.iter().map(|it| it.sql).collect();
        let server = PostgresServer::shared();
        let database = server.create_database_from(&key, |url| {
            let runtime = Runtime::new().expect("a runtime");
            runtime
                .block_on(HubDatabase::migrate(url))
                .expect("migrated");
        });
        let mut settings = ServeSettings::new(database.url().to_owned());
        settings.connections = 8;
        // Tests that are not about limits must not reach one.
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
            let mut app = server::open(settings).await.expect("a hub");
            if let Some(now) = now {
                let clock = HubClock::fixed_at(now);
                app.database = app.database.with_clock(clock.clone());
                app.clock = clock;
            }
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            (app, listener)
        });
        let address = listener.local_addr().expect("bound");
        let ended = runtime.spawn(server::serve(app.clone(), listener, shutdown.clone()));
        let acme = runtime.block_on(create_tenant(&app, "acme", "shop"));
        let other = runtime.block_on(create_tenant(&app, "other", "vault"));
        Self {
            url: format!("http://{address}"),
            address,
            app,
            acme,
            other,
            database,
            shutdown,
            ended: Some(ended),
            agent: http_agent(),
            runtime,
        }
    }

    /// Ends the server without a shutdown, and starts another one at the same address.
    pub(crate) fn kill_and_restart(&mut self) {
        if let Some(ended) = self.ended.take() {
            ended.abort();
            let _ = self.runtime.block_on(ended);
        }
        let listener = self.runtime.block_on(async {
            // The port is free once the aborted server's socket is closed.
            for _ in 0..100 {
                if let Ok(listener) = TcpListener::bind(self.address).await {
                    return listener;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            panic!("the address is still in use");
        });
        let serving = server::serve(self.app.clone(), listener, self.shutdown.clone());
        self.ended = Some(self.runtime.spawn(serving));
    }

    pub(crate) fn get(&self, path: &str, token: &str) -> ApiResponse {
        self.send("GET", path, &[("authorization", &bearer(token))], None)
    }

    pub(crate) fn post(&self, path: &str, token: &str, body: &str) -> ApiResponse {
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
    ) -> ApiResponse {
        send(&self.agent, &self.url, method, path, headers, body)
    }

    /// Returns the tables that contain a text anywhere, queried as a superuser.
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

    /// Pushes lines and returns the response.
    pub(crate) fn push(
        &self,
        tenant: &TenantFixture,
        token: &str,
        copies: &[RecordedEvent],
    ) -> ApiResponse {
        let lines: Vec<&str> = copies.iter().map(RecordedEvent::line).collect();
        let body = format!(r#"{{"events":[{}]}}"#, lines.join(","));
        let path = format!("/v1/workspaces/{}/events", tenant.name);
        self.post(&path, token, &body)
    }
}

impl Drop for ApiHubEnvironment {
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

pub(crate) fn http_agent() -> Agent {
    let config = Agent::config_builder()
        .timeout_global(Some(RESPONSE_TIMEOUT))
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
) -> ApiResponse {
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
    ApiResponse {
        status: answer.status().as_u16(),
        headers: answer.headers().clone(),
        body: body.expect("a body"),
    }
}

impl ApiResponse {
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

    /// Asserts that this is a JSON-RPC error with a problem of that type, and returns the problem.
    #[track_caller]
    pub(crate) fn rpc_problem(&self, slug: &str) -> Value {
        let told = self.json();
        assert_eq!(told["jsonrpc"], "2.0", "{told}");
        let problem = told["error"]["data"].clone();
        assert_eq!(problem["type"], format!("/problems/{slug}"), "{told}");
        assert_eq!(told["error"]["message"], problem["detail"], "{told}");
        assert_eq!(problem["status"], self.status, "{told}");
        assert_eq!(self.header("content-type"), "application/json");
        problem
    }

    /// Asserts that this is a complete problem of that type, and returns it.
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

async fn create_tenant(app: &AppState, organization: &str, workspace: &str) -> TenantFixture {
    let name: HubName = organization.parse().expect("a name");
    let id = app.database.create_organization(&name).await;
    let id = id.expect("a database").expect("a new name");
    let mut tx = app
        .database
        .begin_organization(id)
        .await
        .expect("a transaction");
    let name: HubName = workspace.parse().expect("a name");
    let made = tx.create_workspace(&name).await;
    let workspace_id = made.expect("a database").expect("a new name");
    tx.commit().await.expect("committed");
    let (mut secrets, mut ids) = (Vec::new(), Vec::new());
    let now = app.clock.now();
    for (role, expires, revoked) in [
        (Role::Reader, None, false),
        (Role::Agent, None, false),
        (Role::Member, None, false),
        (Role::Curator, None, false),
        (Role::Admin, Some(now.plus_millis(DAY_MS)), false),
        (
            Role::Admin,
            Some(Timestamp::from_millis(now.millis() - 1)),
            false,
        ),
        (Role::Admin, None, true),
        (Role::Peer, None, false),
    ] {
        let (id, secret) = create_token(app, id, role, None, expires).await;
        if revoked {
            let tx = app
                .database
                .begin_organization(OrganizationId(organization_of(app, &secret).await));
            let mut tx = tx.await.expect("a transaction");
            tokens::revoke(&mut tx, id, now).await.expect("revoked");
            tx.commit().await.expect("committed");
        }
        ids.push(id.to_string());
        secrets.push(secret.reveal().to_owned());
    }
    let [
        reader,
        agent,
        member,
        curator,
        admin,
        expired,
        revoked,
        peer,
    ] = secrets.try_into().expect("eight tokens");
    TenantFixture {
        organization: id,
        workspace: workspace_id,
        name: workspace.to_owned(),
        peer,
        reader,
        agent,
        member,
        curator,
        admin,
        expired,
        revoked,
        admin_id: ids[4].clone(),
    }
}

async fn organization_of(app: &AppState, secret: &TokenSecret) -> uuid::Uuid {
    let caller = tokens::authenticate_secret(&app.database, secret, app.clock.now()).await;
    caller.expect("a database").expect("a token").organization.0
}

impl ApiHubEnvironment {
    /// Creates a token of `acme` for an actor and returns its secret.
    pub(crate) fn token_of(&self, role: Role, actor: &str) -> String {
        let made = insert_token(&self.app, self.acme.organization, (role, actor), None, None);
        self.runtime.block_on(made).1.reveal().to_owned()
    }
}

/// Creates a token.
pub(crate) async fn create_token(
    app: &AppState,
    organization: OrganizationId,
    role: Role,
    workspaces: Option<Vec<WorkspaceId>>,
    expires_at: Option<Timestamp>,
) -> (uuid::Uuid, TokenSecret) {
    let actor = match role {
        Role::Peer => "peer:beta",
        Role::Reader | Role::Agent => "agent:tester",
        Role::Member => "human:mel@example.org",
        Role::Curator | Role::Admin => "human:ada@example.org",
    };
    insert_token(app, organization, (role, actor), workspaces, expires_at).await
}

async fn insert_token(
    app: &AppState,
    organization: OrganizationId,
    (role, actor): (Role, &str),
    workspaces: Option<Vec<WorkspaceId>>,
    expires_at: Option<Timestamp>,
) -> (uuid::Uuid, TokenSecret) {
    let token = tokens::TokenRecord {
        id: app.clock.new_uuid(),
        name: role.name().to_owned(),
        actor: actor.parse().expect("an actor"),
        role,
        workspace_roles: ken_hub::identity::WorkspaceRoles::default(),
        workspaces,
        created_at: app.clock.now(),
        expires_at,
        revoked_at: None,
        used_at: None,
    };
    let secret = TokenSecret::generate();
    let mut tx = app
        .database
        .begin_organization(organization)
        .await
        .expect("tx");
    tokens::insert(&mut tx, &token, &secret)
        .await
        .expect("made");
    tx.commit().await.expect("committed");
    (token.id, secret)
}
