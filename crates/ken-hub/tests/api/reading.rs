//! Pagination, ETags, idempotency keys, the OpenAPI document and its page.

use serde_json::json;

use crate::hub::{ApiHubEnvironment, ApiResponse, bearer};

#[test]
fn lists_come_in_pages_that_follow_each_other() {
    let hub = ApiHubEnvironment::start();
    for n in 0..5 {
        let body = json!({"name": format!("w{n}")}).to_string();
        let made = hub.post("/v1/workspaces", &hub.acme.admin, &body);
        assert_eq!(made.status, 201, "{}", made.text());
    }
    let (mut path, mut names) = ("/v1/workspaces?limit=2".to_owned(), Vec::new());
    loop {
        let page = hub.get(&path, &hub.acme.reader).json();
        let items = page["items"].as_array().cloned().expect("items");
        assert!(items.len() <= 2);
        names.extend(
            items
                .iter()
                .map(|it| it["name"].as_str().unwrap_or_default().to_owned()),
        );
        match page["next"].as_str() {
            Some(next) => path = format!("/v1/workspaces?limit=2&after={next}"),
            None => break,
        }
    }
    assert_eq!(names, ["shop", "w0", "w1", "w2", "w3", "w4"]);
}

#[test]
fn what_is_known_is_not_told_again() {
    let hub = ApiHubEnvironment::start();
    let first = hub.get("/v1/workspaces", &hub.acme.reader);
    let tag = first.header("etag").to_owned();
    assert!(tag.starts_with("W/\""), "{tag}");
    let token = bearer(&hub.acme.reader);
    let headers = [
        ("authorization", token.as_str()),
        ("if-none-match", tag.as_str()),
    ];
    let second = hub.send("GET", "/v1/workspaces", &headers, None);
    assert_eq!((second.status, second.body.len()), (304, 0));
    assert_eq!(second.header("etag"), tag);
    hub.post("/v1/workspaces", &hub.acme.admin, r#"{"name":"more"}"#);
    let third = hub.send("GET", "/v1/workspaces", &headers, None);
    assert_eq!(third.status, 200);
    assert_ne!(third.header("etag"), tag);
    // Another caller's response has another ETag.
    let other = bearer(&hub.other.reader);
    let headers = [
        ("authorization", other.as_str()),
        ("if-none-match", tag.as_str()),
    ];
    assert_eq!(
        hub.send("GET", "/v1/workspaces", &headers, None).status,
        200
    );
}

fn post_with_key(
    hub: &ApiHubEnvironment,
    path: &str,
    token: &str,
    key: &str,
    body: &str,
) -> ApiResponse {
    let token = bearer(token);
    let headers = [
        ("authorization", token.as_str()),
        ("content-type", "application/json"),
        ("idempotency-key", key),
    ];
    hub.send("POST", path, &headers, Some(body.as_bytes()))
}

#[test]
fn the_same_key_and_body_give_the_first_answer_and_another_body_is_refused() {
    let hub = ApiHubEnvironment::start();
    let path = "/v1/workspaces";
    let first = post_with_key(
        &hub,
        path,
        &hub.acme.admin,
        "key-00001",
        r#"{"name":"once"}"#,
    );
    assert_eq!(first.status, 201, "{}", first.text());
    let again = post_with_key(
        &hub,
        path,
        &hub.acme.admin,
        "key-00001",
        r#"{"name":"once"}"#,
    );
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.header("content-type"), "application/json");
    let other = post_with_key(
        &hub,
        path,
        &hub.acme.admin,
        "key-00001",
        r#"{"name":"twice"}"#,
    );
    assert_eq!(other.status, 422);
    other.problem("key-reused");
    // The same key used by another actor is another key.
    let theirs = post_with_key(
        &hub,
        path,
        &hub.other.admin,
        "key-00001",
        r#"{"name":"once"}"#,
    );
    assert_eq!(theirs.status, 201, "{}", theirs.text());
    post_with_key(
        &hub,
        path,
        &hub.acme.reader,
        "key-00001",
        r#"{"name":"once"}"#,
    )
    .problem("forbidden");
    // Without a key the name is already taken.
    hub.post(path, &hub.acme.admin, r#"{"name":"once"}"#)
        .problem("conflict");
    for wrong in ["short", &"x".repeat(129), "with a space"] {
        post_with_key(&hub, path, &hub.acme.admin, wrong, "{}").problem("malformed");
    }
    post_with_key(&hub, path, "nobody", "key-00002", "{}").problem("unauthenticated");
}

#[test]
fn a_refusal_gives_the_key_back_and_leaves_nothing_of_what_was_sent() {
    let hub = ApiHubEnvironment::start();
    let path = "/v1/workspaces";
    let body = r#"{"name":"NO","quoted-by-mistake":"canary"}"#;
    for _ in 0..2 {
        let answer = post_with_key(&hub, path, &hub.acme.admin, "key-00003", body);
        assert_eq!(
            (answer.status, answer.header("idempotency-replayed")),
            (422, "")
        );
    }
    let kept = hub.database.sql("select count(*) from ken.idempotency");
    assert_eq!(kept.trim(), "0");
    for _ in 0..2 {
        let answer = post_with_key(
            &hub,
            path,
            &hub.acme.curator,
            "key-00004",
            r#"{"name":"x1"}"#,
        );
        assert_eq!(
            (answer.status, answer.header("idempotency-replayed")),
            (403, "")
        );
    }
    // The key is free for the corrected request.
    let made = post_with_key(
        &hub,
        path,
        &hub.acme.admin,
        "key-00003",
        r#"{"name":"yes"}"#,
    );
    assert_eq!(made.status, 201, "{}", made.text());
}

#[test]
fn what_may_have_been_done_is_not_done_again_under_its_key() {
    let hub = ApiHubEnvironment::start();
    // The connection is lost during the commit.
    hub.database.sql(
        "create function ken.lost() returns trigger language plpgsql security definer as
         'begin perform pg_terminate_backend(pg_backend_pid()); return null; end';
         create constraint trigger lost after insert on ken.workspaces deferrable initially deferred
             for each row execute function ken.lost()",
    );
    let made = || {
        post_with_key(
            &hub,
            "/v1/workspaces",
            &hub.acme.admin,
            "key-of-the-lost",
            r#"{"name":"second"}"#,
        )
    };
    let lost = made();
    assert_eq!(lost.status, 503, "{}", lost.text());
    assert!(
        lost.text().contains("outcome is unknown"),
        "{}",
        lost.text()
    );
    hub.database.sql("drop trigger lost on ken.workspaces");
    let again = made();
    again.problem("conflict");
    assert!(
        again.text().contains("outcome is unknown"),
        "{}",
        again.text()
    );
    hub.get("/v1/workspaces/second", &hub.acme.reader)
        .problem("not-found");
}

#[test]
fn a_secret_is_never_kept_for_a_key() {
    let hub = ApiHubEnvironment::start();
    let body = r#"{"name":"n","role":"reader"}"#;
    let made = post_with_key(&hub, "/v1/tokens", &hub.acme.admin, "key-00005", body);
    assert_eq!(made.status, 201, "{}", made.text());
    let secret = made.json()["secret"].as_str().expect("a secret").to_owned();
    let again = post_with_key(&hub, "/v1/tokens", &hub.acme.admin, "key-00005", body);
    again.problem("conflict");
    assert!(!again.text().contains(&secret));
    let kept = hub
        .database
        .sql("select count(*) from ken.idempotency where body is not null");
    assert_eq!(kept.trim(), "0");
}

#[test]
fn one_key_sent_at_once_is_carried_out_once() {
    let hub = ApiHubEnvironment::start();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let hub = &hub;
                scope.spawn(move || {
                    let body = r#"{"name":"raced","role":"reader"}"#;
                    post_with_key(hub, "/v1/tokens", &hub.acme.admin, "key-00006", body).status
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|it| it.join().expect("a thread"))
            .collect()
    });
    let made = statuses.iter().filter(|it| **it == 201).count();
    assert_eq!(made, 1, "{statuses:?}");
    assert!(
        statuses.iter().all(|it| [201, 409].contains(it)),
        "{statuses:?}"
    );
    let rows = hub
        .database
        .sql("select count(*) from ken.tokens where name = 'raced'");
    assert_eq!(rows.trim(), "1");
}

#[test]
fn what_is_wrong_with_a_body_is_told_in_whole_words() {
    let hub = ApiHubEnvironment::start();
    let path = "/v1/workspaces/shop/search";
    let told = hub
        .post(path, &hub.acme.reader, r#"{"q": "x"}"#)
        .problem("invalid");
    let detail = told["detail"].as_str().expect("why");
    assert!(
        detail.contains("unknown field `q`") && detail.ends_with("at line 1 column 4; see /docs"),
        "{detail}"
    );
}

#[test]
fn the_document_describes_and_the_page_loads_nothing_from_elsewhere() {
    let hub = ApiHubEnvironment::start();
    let document = hub.send("GET", "/v1/openapi.json", &[], None);
    assert_eq!(document.status, 200);
    let document = document.json();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("an item") {
            let at = format!("{method} {path}");
            assert!(
                operation["summary"]
                    .as_str()
                    .is_some_and(|it| !it.is_empty()),
                "{at}"
            );
            for status in ["500", "503"] {
                let told = &operation["responses"][status]["content"];
                assert!(
                    told["application/problem+json"].is_object(),
                    "{at} {status}"
                );
            }
        }
    }
    let page = hub.send("GET", "/docs", &[], None);
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy");
    assert!(
        policy.contains("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    let text = page.text();
    assert!(text.contains("/v1/workspaces/{workspace}/events"));
    // The page alone suffices to call the search, and describes its response.
    for told in [
        "<code>include_stale</code>",
        "curl -H &quot;Authorization: Bearer $TOKEN&quot;",
        "&quot;query&quot;:&quot;payment retries time out&quot;",
        "/mcp/WORKSPACE",
        "Ken-Workspace",
    ] {
        assert!(text.contains(told), "{told}");
    }
    let first = hub.send("GET", "/", &[], None);
    // The pages of people begin there.
    assert_eq!(
        (first.status, first.header("location")),
        (303, "/sign-in?target=%2F")
    );
    assert_eq!(hub.send("GET", "/docs/", &[], None).text(), text);
    let metrics = hub.send("GET", "/metrics", &[], None);
    assert!(
        metrics.problem("not-found")["detail"]
            .to_string()
            .contains("--metrics")
    );
    for outside in ["<script", "http://", "https://", " style="] {
        assert!(!text.contains(outside), "{outside}");
    }
    assert_eq!(hub.send("GET", "/docs/style.css", &[], None).status, 200);
}

#[test]
fn every_kind_of_problem_has_its_page() {
    let hub = ApiHubEnvironment::start();
    for kind in ken_hub::api::problem::Kind::ALL {
        let page = hub.send("GET", &format!("/problems/{}", kind.slug()), &[], None);
        assert_eq!(page.status, 200, "{}", kind.slug());
        assert!(page.header("content-type").starts_with("text/html"));
    }
    hub.send("GET", "/problems/none-such", &[], None)
        .problem("not-found");
}

#[test]
fn every_answer_says_how_it_may_be_used() {
    let hub = ApiHubEnvironment::start();
    for path in ["/healthz", "/docs", "/v1/openapi.json", "/nowhere"] {
        let answer = hub.send("GET", path, &[], None);
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert!(
            answer
                .header("content-security-policy")
                .contains("default-src 'none'"),
            "{path}"
        );
    }
}
