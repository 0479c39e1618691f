//! The page `/forage`: the documents of the commands, and decisions about domains.

use serde_json::{Value, json};

use super::forage::{allow, forage, repository};
use super::ui::UiServer;

/// Returns the JSON of the page.
fn document(server: &UiServer) -> Value {
    let answer = server.send("GET", "/forage?format=json", "", b"");
    let body = answer.split_once("\r\n\r\n").expect("a body").1;
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn the_page_has_what_the_commands_print() {
    let env = repository();
    let server = UiServer::start(&env);
    let off = server.send("GET", "/forage", "", b"");
    assert!(off.contains("The forager is off"), "{off}");
    assert!(off.contains("forage.toml"), "{off}");
    assert!(!off.contains("href=\"/forage\""), "{off}");
    assert_eq!(document(&server)["status"], Value::Null);

    allow(&env, "sources = [\"packages\"]");
    let proposed = forage(&env)["proposed"][0].clone();
    let missing = ["forage", "How?", "--package", "<b>absent</b>"];
    let _ = env.run(missing).success();
    let printed = env.run(["forage", "status", "--format", "json"]).success();
    let found = document(&server);
    assert_eq!(found["status"], printed.json());
    assert_eq!(found["status"]["waiting"], 1, "{found}");
    assert_eq!(found["questions"][0]["reason"], "a person asked", "{found}");
    assert_eq!(found["questions"][0]["completed"]["admitted"], 1, "{found}");
    let log = env.run(["forage", "log", "--format", "json"]).success();
    let log = log.stdout.lines().map(serde_json::from_str::<Value>);
    let log: Result<Vec<Value>, _> = log.collect();
    assert_eq!(found["log"], json!(log.expect("lines of JSON")));
    let page = server.send("GET", "/forage", "", b"");
    assert!(page.contains("&lt;b&gt;absent&lt;/b&gt;"), "{page}");
    // The question is recorded without its words, and what it found waits in the inbox.
    assert!(!page.contains("timeout"), "{page}");
    let inbox = server.send("GET", "/inbox?lane=quarantined", "", b"");
    assert!(inbox.contains(proposed.as_str().expect("an id")), "{inbox}");
    let _ = server.end();
}

#[test]
fn a_person_decides_about_a_domain_and_takes_it_back() {
    let env = repository();
    allow(&env, "sources = [\"packages\"]");
    let server = UiServer::start(&env);
    let origin = format!("Origin: http://{}\r\n", server.address);
    let decide = |body: &str| {
        let body = body.as_bytes();
        server.status("POST", "/do/forage-domain", &origin, body)
    };
    assert_eq!(decide("host=Blog.example.org&decision=distrust"), 303);
    let notice = server.send("GET", "/forage", "", b"");
    assert!(notice.contains("is distrusted in this workspace"));
    // The row has the way back, because `ken undo` has none.
    assert!(!notice.contains("/do/undo"), "{notice}");
    let domains = &document(&server)["domains"];
    assert_eq!(
        *domains,
        json!([{ "domain": "blog.example.org", "decision": "distrust" }])
    );
    // The same decision again, a name that is no host, and a decision that does not exist.
    for refused in [
        "host=blog.example.org&decision=distrust",
        "host=localhost&decision=trust",
        "host=a.example.org&decision=allow",
        "decision=trust",
    ] {
        assert_eq!(decide(refused), 422, "{refused}");
    }
    assert_eq!(decide("host=blog.example.org&decision=reset"), 303);
    assert_eq!(document(&server)["domains"], json!([]));
    let foreign = "Origin: http://evil.example\r\n";
    let body = b"host=b.example.org&decision=trust";
    let status = server.status("POST", "/do/forage-domain", foreign, body);
    assert_eq!(status, 403);
    assert_eq!(document(&server)["domains"], json!([]));
    let _ = server.end();
}
