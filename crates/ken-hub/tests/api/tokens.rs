//! Tokens: shown once, stored as a digest, expired and revoked; access tokens of an issuer; the
//! audit log.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ken_hub::config::{ClaimedOrganization, OidcSettings};
use ken_hub::ids::Role;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::hub::{ApiHubEnvironment, ApiResponse, bearer};

fn create_token(hub: &ApiHubEnvironment, body: &Value) -> ApiResponse {
    hub.post("/v1/tokens", &hub.acme.admin, &body.to_string())
}

fn revoke_token(hub: &ApiHubEnvironment, id: &str) -> ApiResponse {
    let token = bearer(&hub.acme.admin);
    let path = format!("/v1/tokens/{id}");
    hub.send("DELETE", &path, &[("authorization", &token)], None)
}

#[test]
fn a_token_is_shown_once_opens_its_doors_and_is_ended() {
    let hub = ApiHubEnvironment::start();
    let made = create_token(
        &hub,
        &json!({"name": "night build", "role": "agent", "workspaces": ["shop"]}),
    );
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    let secret = made["secret"].as_str().expect("a secret").to_owned();
    assert!(secret.starts_with("ken_") && secret.len() == 36, "{secret}");
    assert_eq!(made["token"]["actor"], "agent:night-build");
    assert_eq!(hub.get("/v1/workspaces/shop", &secret).status, 200);
    hub.get("/v1/tokens", &secret).problem("forbidden");
    let listed = hub.get("/v1/tokens", &hub.acme.admin).text();
    assert!(listed.contains("night build") && !listed.contains(&secret));
    // It is not in the database either.
    let digits = &secret[4..];
    let found = hub.database.sql(&format!(
        "select count(*) from ken.tokens t where t::text like '%{digits}%'"
    ));
    assert_eq!(found.trim(), "0");
    let id = made["token"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(revoke_token(&hub, &id).status, 200);
    hub.get("/v1/workspaces/shop", &secret)
        .problem("unauthenticated");
    let again = revoke_token(&hub, &id);
    assert_eq!(
        again.status,
        200,
        "ending twice ends once: {}",
        again.text()
    );
}

#[test]
fn tokens_that_make_no_sense_are_refused() {
    let hub = ApiHubEnvironment::start();
    for body in [
        json!({"name": "", "role": "agent"}),
        json!({"name": "x\u{0}", "role": "agent"}),
        json!({"name": "x", "role": "owner"}),
        json!({"name": "x", "role": "agent", "actor": "human:ada"}),
        json!({"name": "x", "role": "curator"}),
        json!({"name": "x", "role": "curator", "actor": "agent:y"}),
        json!({"name": "x", "role": "agent", "workspaces": []}),
        json!({"name": "x", "role": "agent", "workspaces": ["vault"]}),
        json!({"name": "x", "role": "agent", "workspaces": ["no\u{0}where"]}),
        json!({"name": "x", "role": "agent", "expires_in_days": 0}),
        json!({"name": "x", "role": "agent", "expires_in_days": 367}),
        json!({"name": "x".repeat(129), "role": "agent"}),
    ] {
        let answer = create_token(&hub, &body);
        assert_eq!(answer.status, 422, "{body}: {}", answer.text());
        answer.problem("invalid");
    }
}

#[test]
fn a_person_may_have_a_token_that_only_reads() {
    let hub = ApiHubEnvironment::start();
    let body = json!({"name": "dashboard", "role": "reader", "actor": "human:eve@example.org"});
    let made = create_token(&hub, &body);
    assert_eq!(made.status, 201, "{}", made.text());
    let secret = made.json()["secret"].as_str().expect("a secret").to_owned();
    let search = hub.post(
        "/v1/workspaces/shop/search",
        &secret,
        r#"{"query":"retry"}"#,
    );
    assert_eq!(search.status, 200, "{}", search.text());
    for (path, body) in [
        ("/v1/workspaces/shop/events", r#"{"events":[]}"#),
        ("/v1/workspaces/shop/runs", "{}"),
        (
            "/v1/workspaces/shop/entries",
            r#"{"statement":"Retry once","kind":"learning"}"#,
        ),
        ("/v1/workspaces", r#"{"name":"mine"}"#),
    ] {
        hub.post(path, &secret, body).problem("forbidden");
    }
}

#[test]
fn a_row_that_pairs_an_agent_with_a_curators_role_proves_nobody() {
    let hub = ApiHubEnvironment::start();
    let made = create_token(&hub, &json!({"name": "x", "role": "agent"})).json();
    let secret = made["secret"].as_str().expect("a secret").to_owned();
    assert_eq!(hub.get("/v1/workspaces", &secret).status, 200);
    let id = made["token"]["id"].as_str().expect("an id");
    let organization = hub.acme.organization.0;
    hub.database.sql(&format!(
        "set ken.organization = '{organization}'; update ken.tokens set role = 'curator' where id = '{id}'"
    ));
    hub.get("/v1/workspaces", &secret)
        .problem("unauthenticated");
}

#[test]
fn the_audit_log_tells_who_did_what_and_is_only_added_to() {
    let hub = ApiHubEnvironment::start();
    assert_eq!(
        hub.post("/v1/workspaces", &hub.acme.admin, r#"{"name":"second"}"#)
            .status,
        201
    );
    let made = create_token(&hub, &json!({"name": "x", "role": "reader"})).json();
    revoke_token(&hub, made["token"]["id"].as_str().expect("an id"));
    let log = hub.get("/v1/audit?limit=2", &hub.acme.admin).json();
    let acts = |log: &Value| -> Vec<String> {
        let items = log["items"].as_array().cloned().unwrap_or_default();
        items
            .iter()
            .map(|it| it["act"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(acts(&log), ["token.revoked", "token.created"]);
    assert_eq!(log["items"][0]["by"], "human:ada@example.org");
    let subject = log["items"][0]["subject"].as_str().expect("a subject");
    assert!(subject.ends_with(" (reader, agent:x)"), "{subject}");
    let next = log["next"].as_str().expect("there is more");
    let rest = hub
        .get(&format!("/v1/audit?after={next}"), &hub.acme.admin)
        .json();
    assert_eq!(acts(&rest), ["workspace.created"]);
    assert_eq!(rest.get("next"), None);
    let others = hub.get("/v1/audit", &hub.other.admin).json();
    assert_eq!(acts(&others), Vec::<String>::new());
}

#[test]
fn an_organization_makes_no_more_than_its_quota() {
    let hub = ApiHubEnvironment::start_with(|settings| settings.quotas.workspaces = 2);
    let make = |name: &str| {
        let body = format!(r#"{{"name":"{name}"}}"#);
        hub.post("/v1/workspaces", &hub.acme.admin, &body)
    };
    assert_eq!(make("second").status, 201);
    let third = make("third");
    assert_eq!(third.status, 403, "{}", third.text());
    third.problem("quota");
    make("second").problem("quota");
    // The other organization has a quota of its own.
    let body = r#"{"name":"second"}"#;
    assert_eq!(
        hub.post("/v1/workspaces", &hub.other.admin, body).status,
        201
    );
}

/// Serves `body` for a few requests; returns the URL.
pub(crate) fn serve_key_set(body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().take(4) {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4096]);
            let length = body.len();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
            let _ = write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n{body}");
        }
    });
    format!("http://{address}/keys")
}

#[test]
fn an_issuers_access_token_opens_what_its_claims_say() {
    let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
    let pair = Ed25519KeyPair::from_pkcs8(pair.as_ref()).expect("a key");
    let coded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": coded(pair.public_key().as_ref())}]});
    let keys = serve_key_set(keys.to_string());
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.public_url = Some("https://ken.example.org".to_owned());
        settings.oidc = Some(OidcSettings {
            client: None,
            issuer: "https://id.example.org".to_owned(),
            audience: "https://ken.example.org".to_owned(),
            keys: Some(keys),
            organization: ClaimedOrganization::Claim("org".to_owned()),
            subject_claim: "sub".to_owned(),
            person_claim: None,
            roles_claim: "roles".to_owned(),
            workspace_roles: BTreeMap::new(),
            roles: BTreeMap::from([
                ("reads".to_owned(), Role::Reader),
                ("curates".to_owned(), Role::Curator),
            ]),
        });
    });
    let token = |organization: &str, role: &str, audience: &str| {
        let claims = json!({
            "iss": "https://id.example.org", "aud": audience, "sub": "u-1", "exp": 4_000_000_000_u64,
            "org": organization, "roles": [role],
        });
        let head = json!({"alg": "EdDSA", "kid": "a"});
        let signed = format!(
            "{}.{}",
            coded(head.to_string().as_bytes()),
            coded(claims.to_string().as_bytes())
        );
        let signature = coded(pair.sign(signed.as_bytes()).as_ref());
        format!("{signed}.{signature}")
    };
    let ours = "https://ken.example.org";
    let reader = token("acme", "reads", ours);
    assert_eq!(hub.get("/v1/workspaces/shop", &reader).status, 200);
    hub.get("/v1/workspaces/vault", &reader)
        .problem("not-found");
    hub.get("/v1/tokens", &reader).problem("forbidden");
    hub.post("/v1/workspaces/shop/events", &reader, r#"{"events":[]}"#)
        .problem("forbidden");
    let curator = token("acme", "curates", ours);
    let pushed = hub.post("/v1/workspaces/shop/events", &curator, r#"{"events":[]}"#);
    assert_eq!(pushed.status, 200, "{}", pushed.text());
    hub.get("/v1/workspaces", &token("acme", "nothing", ours))
        .problem("forbidden");
    hub.get("/v1/workspaces", &token("nobody", "reads", ours))
        .problem("forbidden");
    let foreign = hub.get("/v1/workspaces", &token("acme", "reads", "https://other"));
    foreign.problem("unauthenticated");
    let told = foreign.header("www-authenticate");
    let metadata =
        "resource_metadata=\"https://ken.example.org/.well-known/oauth-protected-resource\"";
    assert!(told.contains(metadata), "{told}");
    assert!(told.contains("error=\"invalid_token\""), "{told}");
    let metadata = hub
        .send("GET", "/.well-known/oauth-protected-resource", &[], None)
        .json();
    assert_eq!(metadata["resource"], ours);
    assert_eq!(
        metadata["authorization_servers"],
        json!(["https://id.example.org"])
    );
}
