//! Availability: one client, token or organization cannot keep the hub from the others.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::hub::{ApiHubEnvironment, bearer, create_token, http_agent, send};
use ken_hub::ids::Role;
use ken_testkit::attacks::pack_zeros;

const EVENTS_PATH: &str = "/v1/workspaces/shop/events";

/// A limit for waits that a correct hub never reaches.
const PATIENCE: Duration = Duration::from_secs(10);

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    stream
}

/// Reads until the hub closes the connection, and returns what it said.
fn read_all(stream: &mut TcpStream) -> String {
    let mut told = Vec::new();
    let _ = stream.read_to_end(&mut told);
    String::from_utf8_lossy(&told).into_owned()
}

/// Starts a search whose body does not arrive.
fn start_slow_search(hub: &ApiHubEnvironment, token: &str) -> TcpStream {
    let mut stream = connect(hub.address);
    let head = format!(
        "POST /v1/workspaces/shop/search HTTP/1.1\r\nHost: hub\r\nAuthorization: {}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{",
        bearer(token)
    );
    stream.write_all(head.as_bytes()).expect("sent");
    stream
}

#[test]
fn a_list_of_millions_is_refused_and_paid_for_by_the_token_that_sent_it() {
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.limits.rate.per_second = 0.1;
        settings.limits.rate.burst = 160.0;
    });
    let token = bearer(&hub.acme.agent);
    let headers = [
        ("authorization", token.as_str()),
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
    ];
    let bomb = pack_zeros();
    assert!(bomb.len() < 16 << 10, "{}", bomb.len());
    let answer = hub.send("POST", EVENTS_PATH, &headers, Some(&bomb));
    assert_eq!(answer.status, 413, "{}", answer.text());
    let detail = answer.problem("too-large")["detail"].to_string();
    assert!(detail.contains("more than 1000 items"), "{detail}");
    // Its 8 MiB count as 128 requests, which is more than the token's share of the burst.
    let answer = hub.get("/v1/workspaces", &hub.acme.agent);
    let detail = answer.problem("too-many")["detail"].to_string();
    assert!(detail.contains("your token"), "{detail}");
    assert_eq!(hub.get("/v1/workspaces", &hub.acme.reader).status, 200);
}

#[test]
fn slow_bodies_of_one_token_do_not_keep_its_organization_out() {
    let hub = ApiHubEnvironment::start();
    let slow: Vec<TcpStream> = (0..20)
        .map(|_| start_slow_search(&hub, &hub.acme.reader))
        .collect();
    while hub.app.limiter.in_flight() < slow.len() {
        std::thread::yield_now();
    }
    let began = Instant::now();
    for _ in 0..4 {
        assert_eq!(hub.get("/v1/workspaces", &hub.acme.admin).status, 200);
        let answer = hub.post(
            "/v1/workspaces/shop/search",
            &hub.acme.agent,
            r#"{"query":"anything"}"#,
        );
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let took = began.elapsed();
    assert!(took < ken_hub::limits::PERMIT_TIMEOUT, "{took:?}");
}

#[test]
fn a_body_that_arrives_too_slowly_is_cut_off() {
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.limits.body_grace = Duration::from_millis(200);
    });
    let began = Instant::now();
    let mut slow = start_slow_search(&hub, &hub.acme.reader);
    let told = read_all(&mut slow);
    assert!(told.starts_with("HTTP/1.1 408"), "{told}");
    assert!(told.contains("/problems/timeout"), "{told}");
    assert!(began.elapsed() < PATIENCE);
}

#[test]
fn a_head_that_does_not_end_is_cut_off_and_an_idle_connection_is_not() {
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.limits.head_timeout = Duration::from_millis(300);
    });
    let mut kept = connect(hub.address);
    let ask = b"GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n";
    let mut answered = [0; 1024];
    kept.write_all(ask).expect("sent");
    assert!(kept.read(&mut answered).expect("an answer") > 0);
    for begun in ["", "G", "GET /healthz HTTP/1.1\r\nHost: hub\r\nX-"] {
        let mut half = connect(hub.address);
        half.write_all(begun.as_bytes()).expect("sent");
        let began = Instant::now();
        read_all(&mut half);
        let took = began.elapsed();
        assert!(took < Duration::from_secs(8), "{begun:?}: {took:?}");
    }
    // Longer than the deadline of a head has passed since its last request.
    kept.write_all(ask).expect("sent");
    assert!(kept.read(&mut answered).expect("an answer") > 0);
    // The next head on it has a deadline, too.
    kept.write_all(b"GET /hea").expect("sent");
    let began = Instant::now();
    read_all(&mut kept);
    assert!(began.elapsed() < Duration::from_secs(8));
}

#[test]
fn one_address_has_a_share_of_the_connections() {
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.limits.connections_per_address = 3;
    });
    let ask = b"GET /healthz HTTP/1.0\r\nHost: hub\r\n\r\n";
    let held: Vec<TcpStream> = (0..3).map(|_| connect(hub.address)).collect();
    // A later connection may be accepted first, so one of the others is refused then.
    let refused = (0..20).any(|_| {
        let mut more = connect(hub.address);
        let _ = more.write_all(ask);
        read_all(&mut more).is_empty()
    });
    assert!(refused, "a fourth connection was answered");
    let socket = hub.runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        let other = SocketAddr::from(([127, 0, 0, 2], 0));
        socket.bind(other).expect("another loopback address");
        socket.connect(hub.address).await.expect("connected")
    });
    let mut other = socket.into_std().expect("a socket");
    other.set_nonblocking(false).expect("blocking");
    other.set_read_timeout(Some(PATIENCE)).expect("a limit");
    other.write_all(ask).expect("sent");
    assert!(read_all(&mut other).starts_with("HTTP/1.0 200"));
    drop(held);
}

#[test]
fn one_token_leaves_event_streams_to_the_others() {
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.limits.streams_per_organization = 4;
    });
    let open = |token: &str| {
        let mut stream = connect(hub.address);
        let head = format!(
            "GET {EVENTS_PATH}/stream HTTP/1.1\r\nHost: hub\r\nAuthorization: {}\r\n\r\n",
            bearer(token)
        );
        stream.write_all(head.as_bytes()).expect("sent");
        let mut told = [0; 12];
        stream.read_exact(&mut told).expect("an answer");
        (String::from_utf8_lossy(&told).into_owned(), stream)
    };
    let opened: Vec<_> = (0..4).map(|_| open(&hub.acme.reader)).collect();
    let statuses: Vec<&str> = opened.iter().map(|(told, _)| &told[9..]).collect();
    assert_eq!(statuses, ["200", "200", "200", "429"]);
    assert!(open(&hub.acme.admin).0.ends_with("200"));
}

#[test]
fn one_token_leaves_a_part_of_the_rate_to_the_others() {
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.limits.rate.per_second = 0.1;
        settings.limits.rate.burst = 40.0;
    });
    let mut statuses = Vec::new();
    for _ in 0..40 {
        statuses.push(hub.get("/v1/workspaces", &hub.acme.agent).status);
    }
    assert!(statuses.contains(&429), "{statuses:?}");
    // Another token of the same actor is another token.
    let (_, second) = hub.runtime.block_on(create_token(
        &hub.app,
        hub.acme.organization,
        Role::Agent,
        None,
        None,
    ));
    for token in [&hub.acme.admin, second.reveal()] {
        assert_eq!(hub.get("/v1/workspaces", token).status, 200);
    }
}

#[test]
fn probes_do_not_wait_for_the_connections_of_tenants() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let probes = free.local_addr().expect("bound");
    drop(free);
    let hub = ApiHubEnvironment::start_with(|settings| settings.metrics = Some(probes));
    let pool = hub.app.database.pool().clone();
    let leases = hub.runtime.block_on(async {
        let mut leases = Vec::new();
        for _ in 0..hub.app.settings.connections {
            leases.push(pool.acquire_live().await.expect("a connection"));
        }
        leases
    });
    let began = Instant::now();
    for path in ["/healthz", "/readyz"] {
        assert_eq!(hub.send("GET", path, &[], None).status, 200, "{path}");
        let url = format!("http://{probes}");
        let answer = send(&http_agent(), &url, "GET", path, &[], None);
        assert_eq!(answer.status, 200, "{path} of the probe listener");
    }
    assert!(began.elapsed() < Duration::from_secs(2));
    drop(leases);
}

#[test]
fn probes_are_answered_while_every_thread_of_the_hub_is_busy() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let probes = free.local_addr().expect("bound");
    drop(free);
    let hub = ApiHubEnvironment::start_with(|settings| settings.metrics = Some(probes));
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let stopped = std::sync::Arc::new(std::sync::Mutex::new(stopped));
    // Two worker threads, both blocked: nothing of the main runtime can run.
    for _ in 0..2 {
        let stopped = std::sync::Arc::clone(&stopped);
        hub.runtime.spawn(async move {
            let _ = stopped.lock().expect("a lock").recv();
        });
    }
    let url = format!("http://{probes}");
    for path in ["/healthz", "/readyz", "/metrics"] {
        let answer = send(&http_agent(), &url, "GET", path, &[], None);
        assert_eq!(answer.status, 200, "{path}");
    }
    drop(stop);
}
