//! Process behavior: concurrency, rate limits, timeouts and shutdown.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ken_hub::operator_log::{LogVerbosity, OperatorLog};

use crate::hub::{ApiHubEnvironment, http_agent, send};

#[test]
fn an_organization_that_asks_too_often_waits_and_another_does_not() {
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.limits.rate.per_second = 0.5;
        settings.limits.rate.burst = 3.0;
    });
    // Several tokens: one of them may use a part of the rate only.
    for token in [&hub.acme.reader, &hub.acme.agent, &hub.acme.curator] {
        assert_eq!(hub.get("/v1/workspaces", token).status, 200);
    }
    let answer = hub.get("/v1/workspaces", &hub.acme.admin);
    assert_eq!(answer.status, 429, "{}", answer.text());
    answer.problem("too-many");
    let wait: u64 = answer.header("retry-after").parse().expect("seconds");
    assert!((1..=2).contains(&wait), "{wait}");
    assert_eq!(hub.get("/v1/workspaces", &hub.other.reader).status, 200);
}

#[test]
fn what_was_refused_is_written_down_without_what_was_sent() {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let hub = ApiHubEnvironment::start_with(|settings| {
        let to = Arc::clone(&lines);
        settings.log = OperatorLog::new(LogVerbosity::Problems, move |line| {
            to.lock().expect("lines").push(line.to_owned());
        });
    });
    assert_eq!(hub.get("/v1/workspaces", &hub.acme.reader).status, 200);
    let secret = hub.acme.reader.clone();
    hub.post("/v1/workspaces", &secret, r#"{"name":"sesame"}"#)
        .problem("forbidden");
    hub.get("/v1/workspaces/sesame", &secret)
        .problem("not-found");
    hub.get("/v1/workspaces", "ken_sesame")
        .problem("unauthenticated");
    let organization = hub.acme.organization.0;
    let sql = "select t.id from ken.tokens t join ken.organizations o on o.id = t.organization_id
               where o.name = 'acme' and role = 'reader'";
    let token = hub.database.sql(sql).trim().to_owned();
    drop(hub);
    let lines = lines.lock().expect("lines").clone();
    // Each line starts with its timestamp.
    let said: Vec<&str> = lines.iter().map(|it| it[25..].trim_end()).collect();
    let refused = format!("organization {organization} token {token} forbidden");
    assert!(said[0].starts_with("403 POST /v1/workspaces ") && said[0].ends_with(&refused));
    assert!(said[1].starts_with("404 GET /v1/workspaces/{workspace} "));
    assert!(said[2].starts_with("401 GET /v1/workspaces ") && said[2].ends_with("unauthenticated"));
    assert_eq!(
        said[3..],
        ["shutting down, 0 requests in flight", "stopped"]
    );
    assert!(!lines.concat().contains("sesame") && !lines.concat().contains(&secret));
}

/// Starts a request whose body never arrives.
fn start_stalled_request(hub: &ApiHubEnvironment) -> TcpStream {
    let mut stream = TcpStream::connect(hub.address).expect("connected");
    let token = &hub.acme.agent;
    let head = format!(
        "POST /v1/workspaces/shop/events HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).expect("sent");
    stream
}

fn wait_until(mut there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !there() {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "it does not come"
        );
        std::thread::yield_now();
    }
}

#[test]
fn what_comes_while_everything_is_taken_is_sent_away_and_health_is_still_told() {
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.limits.requests = 1;
        settings.limits.request_timeout = Duration::from_secs(20);
    });
    let waiting = start_stalled_request(&hub);
    wait_until(|| hub.app.limiter.in_flight() == 1);
    let answer = hub.get("/v1/workspaces", &hub.acme.reader);
    assert_eq!(answer.status, 503, "{}", answer.text());
    answer.problem("unavailable");
    assert_eq!(answer.header("retry-after"), "1");
    assert_eq!(hub.send("GET", "/healthz", &[], None).status, 200);
    assert_eq!(hub.send("GET", "/readyz", &[], None).status, 200);
    drop(waiting);
    wait_until(|| hub.app.limiter.in_flight() == 0);
    assert_eq!(hub.get("/v1/workspaces", &hub.acme.reader).status, 200);
}

#[test]
fn a_request_that_takes_too_long_is_given_up() {
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.limits.request_timeout = Duration::from_millis(300);
    });
    let mut waiting = start_stalled_request(&hub);
    let patience = Some(Duration::from_secs(10));
    waiting.set_read_timeout(patience).expect("a time limit");
    let mut told = [0; 512];
    let read = waiting.read(&mut told).expect("an answer");
    let told = String::from_utf8_lossy(&told[..read]).into_owned();
    assert!(told.starts_with("HTTP/1.1 503"), "{told}");
}

#[test]
fn a_hub_that_ends_lets_what_is_under_way_finish_and_takes_nothing_new() {
    let mut hub = ApiHubEnvironment::start();
    let mut waiting = start_stalled_request(&hub);
    wait_until(|| hub.app.limiter.in_flight() == 1);
    hub.shutdown.cancel();
    // New connections are not answered.
    wait_until(|| {
        let Ok(mut late) = TcpStream::connect(hub.address) else {
            return true;
        };
        let patience = Some(Duration::from_millis(200));
        late.set_read_timeout(patience).expect("a time limit");
        let _ = late.write_all(b"GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n");
        !matches!(late.read(&mut [0; 16]), Ok(1..))
    });
    let rest = format!("\"events\":[]{}}}", " ".repeat(100 - 13));
    waiting.write_all(rest.as_bytes()).expect("sent");
    let patience = Some(Duration::from_secs(10));
    waiting.set_read_timeout(patience).expect("a time limit");
    let mut told = String::new();
    let _ = waiting.read_to_string(&mut told);
    assert!(told.starts_with("HTTP/1.1 200"), "{told}");
    let ended = hub.ended.take().expect("it runs");
    let ended = hub
        .runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(10), ended).await });
    assert!(matches!(ended, Ok(Ok(Ok(())))), "{ended:?}");
    assert!(hub.app.database.pool().is_closed());
}

#[test]
fn a_hub_does_not_wait_for_ever_for_somebody_who_says_nothing() {
    let mut hub = ApiHubEnvironment::start_with(|settings| {
        settings.limits.shutdown_grace = Duration::from_millis(300);
    });
    let _waiting = start_stalled_request(&hub);
    wait_until(|| hub.app.limiter.in_flight() == 1);
    let began = Instant::now();
    hub.shutdown.cancel();
    let ended = hub.ended.take().expect("it runs");
    let ended = hub
        .runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(15), ended).await });
    assert!(matches!(ended, Ok(Ok(Ok(())))), "{ended:?}");
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_connection_on_which_nothing_is_said_is_cut_off() {
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.limits.idle_timeout = Duration::from_millis(300);
    });
    for begun in ["", "GET /healthz HTT"] {
        let mut silent = TcpStream::connect(hub.address).expect("connected");
        let patience = Some(Duration::from_secs(10));
        silent.set_read_timeout(patience).expect("a time limit");
        silent.write_all(begun.as_bytes()).expect("sent");
        let began = Instant::now();
        let mut told = Vec::new();
        let _ = silent.read_to_end(&mut told);
        assert!(began.elapsed() < Duration::from_secs(8), "{begun:?}");
    }
    assert_eq!(hub.send("GET", "/healthz", &[], None).status, 200);
}

#[test]
fn an_organizations_own_rate_goes_before_the_hubs() {
    let hub = ApiHubEnvironment::start();
    hub.database
        .sql("update ken.organizations set requests_per_minute = 6 where name = 'acme'");
    assert_eq!(hub.get("/v1/workspaces", &hub.acme.reader).status, 200);
    hub.get("/v1/workspaces", &hub.acme.reader)
        .problem("too-many");
    for _ in 0..20 {
        assert_eq!(hub.get("/v1/workspaces", &hub.other.reader).status, 200);
    }
}

#[test]
fn metrics_are_told_on_an_address_of_their_own_and_name_no_tenant() {
    // Finds a free port by binding and releasing it.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("bound");
    drop(free);
    let hub = ApiHubEnvironment::start_with(|settings| settings.metrics = Some(address));
    hub.send("GET", "/metrics", &[], None).problem("not-found");
    hub.get("/v1/workspaces/shop", &hub.acme.reader);
    hub.get("/v1/workspaces/vault", &hub.acme.reader);
    hub.post(
        "/v1/workspaces/shop/events",
        &hub.acme.curator,
        r#"{"events":[{}]}"#,
    );
    let told = send(
        &http_agent(),
        &format!("http://{address}"),
        "GET",
        "/metrics",
        &[],
        None,
    );
    let told = told.text();
    for line in [
        r#"ken_hub_requests_total{method="GET",route="/v1/workspaces/{workspace}",status="200"} 1"#,
        r#"ken_hub_requests_total{method="GET",route="/v1/workspaces/{workspace}",status="404"} 1"#,
        r#"ken_hub_request_seconds_count{method="GET",route="/v1/workspaces/{workspace}"} 2"#,
        r#"ken_hub_events_total{verdict="refused"} 1"#,
        "ken_hub_requests_in_flight 0",
        r#"ken_hub_pool_connections{state="idle"}"#,
        r#"ken_hub_pool_connections{state="in_use"}"#,
        r#"ken_hub_refusals_total{problem="not-found"} 2"#,
        r#"ken_hub_build_info{version=""#,
        "ken_hub_pool_wait_seconds_total ",
        "ken_hub_oidc_key_failures_total 0",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    for name in ["shop", "vault", "acme"] {
        assert!(!told.contains(name), "{name}");
    }
    let value = |metric: &str| -> f64 {
        let line = told.lines().find_map(|it| it.strip_prefix(metric));
        let value = line.and_then(|it| it.trim().parse().ok());
        value.unwrap_or_else(|| panic!("{metric}\n{told}"))
    };
    assert!(value("ken_hub_pool_acquired_total") > 0.0);
    if cfg!(target_os = "linux") {
        assert!(value("ken_hub_resident_memory_bytes") > 1e6);
        assert!(value("ken_hub_open_files") > 3.0);
    }
}

#[test]
fn waiting_lists_of_all_workspaces_are_counted() {
    let hub = ApiHubEnvironment::start();
    for tenant in [&hub.acme, &hub.other] {
        let path = format!("/v1/workspaces/{}/runs", tenant.name);
        assert!(hub.post(&path, &tenant.agent, "{}").status < 300);
        let workspace = tenant.workspace.0;
        hub.database.sql(&format!(
            "insert into ken.held values ('{workspace}', gen_random_uuid(), '', 'why', 'agent:x', 1)"
        ));
    }
    let counted = hub.runtime.block_on(hub.app.database.count_waiting());
    assert_eq!(counted.expect("counted"), (2, 2));
}

#[test]
fn a_database_that_is_away_is_told_and_the_hub_lives() {
    use ken_testkit::postgres::PostgresServer;
    let server = PostgresServer::own();
    let database = server.database();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let app = runtime.block_on(async {
        ken_hub::database::HubDatabase::migrate(database.url())
            .await
            .expect("migrated");
        let settings = ken_hub::config::ServeSettings::new(database.url().to_owned());
        ken_hub::server::open(settings).await.expect("a hub")
    });
    let end = tokio_util::sync::CancellationToken::new();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
    let listener = listener.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let serving = runtime.spawn(ken_hub::server::serve(app, listener, end.clone()));
    let ask = |path: &str, token: &str| {
        let token = crate::hub::bearer(token);
        send(
            &http_agent(),
            &url,
            "GET",
            path,
            &[("authorization", &token)],
            None,
        )
    };
    assert_eq!(ask("/readyz", "").status, 200);
    server.kill();
    assert_eq!(ask("/healthz", "").status, 200);
    // PostgreSQL's child processes exit once they notice the loss, possibly after one more
    // response.
    wait_until(|| ask("/readyz", "").status != 200);
    ask("/readyz", "").problem("unavailable");
    let answer = ask("/v1/workspaces", "ken_00000000000000000000000000000000");
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert!(!answer.header("retry-after").is_empty());
    server.restart();
    wait_until(|| ask("/readyz", "").status == 200);
    end.cancel();
    let _ =
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(20), serving).await });
}
