//! People and programs: roles in single workspaces, accounts, blocks and browser sessions.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ken_hub::config::{ClaimedOrganization, OidcSettings};
use ken_hub::ids::Role;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::hub::{ApiHubEnvironment, bearer};
use crate::tokens::serve_key_set;

const ISSUER: &str = "https://id.example.org";
const HUB: &str = "https://ken.example.org";

fn coded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Starts a hub that trusts an issuer, with a second workspace; returns the issuer's key.
fn start_with_issuer() -> (ApiHubEnvironment, Ed25519KeyPair) {
    let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
    let pair = Ed25519KeyPair::from_pkcs8(pair.as_ref()).expect("a key");
    let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": coded(pair.public_key().as_ref())}]});
    let keys = serve_key_set(keys.to_string());
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.public_url = Some(HUB.to_owned());
        settings.oidc = Some(OidcSettings {
            client: None,
            issuer: ISSUER.to_owned(),
            audience: HUB.to_owned(),
            keys: Some(keys),
            organization: ClaimedOrganization::Claim("org".to_owned()),
            subject_claim: "email".to_owned(),
            person_claim: Some("email".to_owned()),
            roles_claim: "groups".to_owned(),
            roles: BTreeMap::from([("everybody".to_owned(), Role::Reader)]),
            workspace_roles: BTreeMap::from([(
                "shopkeepers".to_owned(),
                vec![("shop".to_owned(), Role::Curator)],
            )]),
        });
    });
    let made = hub.post("/v1/workspaces", &hub.acme.admin, r#"{"name":"desk"}"#);
    assert_eq!(made.status, 201, "{}", made.text());
    (hub, pair)
}

/// Returns an access token of the issuer.
fn access_token(pair: &Ed25519KeyPair, email: &str, groups: &Value) -> String {
    let claims = json!({
        "iss": ISSUER, "aud": HUB, "exp": 4_000_000_000_u64, "org": "acme", "email": email, "groups": groups,
    });
    let head = json!({"alg": "EdDSA", "kid": "a"});
    let signed = [head, claims].map(|it| coded(it.to_string().as_bytes()));
    let signed = signed.join(".");
    let signature = coded(pair.sign(signed.as_bytes()).as_ref());
    format!("{signed}.{signature}")
}

#[test]
fn a_group_of_one_workspace_opens_that_workspace_only() {
    let (hub, pair) = start_with_issuer();
    let push = |workspace: &str, token: &str| {
        let path = format!("/v1/workspaces/{workspace}/events");
        hub.post(&path, token, r#"{"events":[]}"#)
    };
    let read = |workspace: &str, token: &str| {
        hub.get(&format!("/v1/workspaces/{workspace}/entries"), token)
    };
    let review = |workspace: &str, token: &str| {
        let path = format!("/v1/workspaces/{workspace}/quarantined-events");
        hub.get(&path, token)
    };
    // Curator of one workspace, and nothing else.
    let keeper = access_token(&pair, "kim@example.org", &json!(["shopkeepers"]));
    assert_eq!(push("shop", &keeper).status, 200);
    assert_eq!(review("shop", &keeper).status, 200);
    for answer in [
        push("desk", &keeper),
        read("desk", &keeper),
        read("vault", &keeper),
    ] {
        answer.problem("not-found");
    }
    let listed = hub.get("/v1/workspaces", &keeper).json();
    assert_eq!(
        listed["items"].as_array().map(Vec::len),
        Some(1),
        "{listed}"
    );
    hub.get("/v1/tokens", &keeper).problem("forbidden");
    hub.get("/v1/accounts", &keeper).problem("forbidden");
    // Curator of one workspace, and a reader of the others.
    let both = access_token(
        &pair,
        "lee@example.org",
        &json!(["shopkeepers", "everybody"]),
    );
    assert_eq!(push("shop", &both).status, 200);
    assert_eq!(read("desk", &both).status, 200);
    push("desk", &both).problem("forbidden");
    review("desk", &both).problem("forbidden");
    // Whoever lost the group has lost the role with the next access token.
    let former = access_token(&pair, "kim@example.org", &json!(["everybody"]));
    push("shop", &former).problem("forbidden");
    let nobody = access_token(&pair, "kim@example.org", &json!(["others"]));
    read("shop", &nobody).problem("forbidden");
}

#[test]
fn a_block_and_a_revocation_find_a_person_in_whatever_case_the_name_was_typed() {
    let hub = ApiHubEnvironment::start();
    let body = json!({"name": "laptop", "role": "member", "actor": "human:kim@example.org"});
    let typed = json!({"actor": "human:Kim@Example.org"}).to_string();
    for address in ["/v1/tokens/revoke", "/v1/accounts/block"] {
        let made = hub.post("/v1/tokens", &hub.acme.admin, &body.to_string());
        let made = made.json();
        let secret = made["secret"].as_str().expect("a secret");
        assert_eq!(hub.get("/v1/workspaces/shop", secret).status, 200);
        let ended = hub.post(address, &hub.acme.admin, &typed);
        assert_eq!(ended.status, 200, "{}", ended.text());
        hub.get("/v1/workspaces/shop", secret)
            .problem("unauthenticated");
    }
    hub.post("/v1/tokens", &hub.acme.admin, &body.to_string())
        .problem("invalid");
    let lifted = hub.post("/v1/accounts/unblock", &hub.acme.admin, &typed);
    assert_eq!(lifted.status, 204, "{}", lifted.text());
    let made = hub.post("/v1/tokens", &hub.acme.admin, &body.to_string());
    assert_eq!(made.status, 201, "{}", made.text());
}

#[test]
fn a_blocked_person_is_out_everywhere_at_once() {
    let (hub, pair) = start_with_issuer();
    let kim = "human:kim@example.org";
    let access = access_token(&pair, "kim@example.org", &json!(["everybody"]));
    let body = json!({"name": "laptop", "role": "member", "actor": kim});
    let made = hub
        .post("/v1/tokens", &hub.acme.admin, &body.to_string())
        .json();
    let secret = made["secret"].as_str().expect("a secret").to_owned();
    // Pages answer to the name in the public URL only.
    let browser = Browser::with_cookie(&hub, "ken.example.org", ("other", "cookie"));
    assert_eq!(browser.sign_in(&secret).status, 303);
    assert_eq!(browser.get("/").status, 200);
    for token in [&access, &secret] {
        assert_eq!(hub.get("/v1/workspaces/shop", token).status, 200);
    }
    let described = json!({"actor": "ci:main", "owner": kim, "description": "builds"});
    let described = hub.post("/v1/accounts", &hub.acme.admin, &described.to_string());
    assert_eq!(described.status, 204, "{}", described.text());
    let block = json!({"actor": kim}).to_string();
    let blocked = hub.post("/v1/accounts/block", &hub.acme.admin, &block);
    assert_eq!(blocked.status, 200, "{}", blocked.text());
    assert_eq!(blocked.json()["owned"], json!(["ci:main"]));
    assert_eq!(
        blocked.json()["revoked_tokens"],
        json!([made["token"]["id"]])
    );
    hub.get("/v1/workspaces/shop", &secret)
        .problem("unauthenticated");
    hub.get("/v1/workspaces/shop", &access).problem("forbidden");
    assert_eq!(browser.get("/").status, 303, "the session ended");
    hub.post("/v1/tokens", &hub.acme.admin, &body.to_string())
        .problem("invalid");
    let listed = hub.get("/v1/accounts", &hub.acme.admin).json();
    let of = |actor: &str| {
        let all = listed["items"].as_array().expect("items").iter();
        all.clone().find(|it| it["actor"] == actor).cloned()
    };
    let (person, program) = (of(kim).expect("listed"), of("ci:main").expect("listed"));
    assert!(
        person["blocked_at"].is_string() && person["tokens"] == 0,
        "{person}"
    );
    assert_eq!(program["orphaned"], true);
    // The audit log says who did it.
    let log = hub.get("/v1/audit", &hub.acme.admin).text();
    assert!(
        log.contains("account.blocked") && log.contains("token.revoked"),
        "{log}"
    );
    let unblocked = hub.post("/v1/accounts/unblock", &hub.acme.admin, &block);
    assert_eq!(unblocked.status, 204);
    assert_eq!(hub.get("/v1/workspaces/shop", &access).status, 200);
    hub.get("/v1/workspaces/shop", &secret)
        .problem("unauthenticated");
}

#[test]
fn accounts_and_sessions_belong_to_one_organization() {
    let hub = ApiHubEnvironment::start();
    let browser = Browser::signed_in(&hub, &hub.acme.member);
    assert_eq!(browser.get("/").status, 200);
    let sessions = |token: &str| hub.get("/v1/sessions", token).json()["items"].clone();
    let own = sessions(&hub.acme.admin);
    assert_eq!(own.as_array().map(Vec::len), Some(1), "{own}");
    assert_eq!(sessions(&hub.other.admin), json!([]));
    let actor = own[0]["actor"].as_str().expect("an actor");
    let id = own[0]["id"].as_str().expect("an id");
    let end = |token: &str| {
        let token = bearer(token);
        let path = format!("/v1/sessions/{id}");
        hub.send("DELETE", &path, &[("authorization", &token)], None)
    };
    end(&hub.other.admin).problem("not-found");
    assert_eq!(browser.get("/").status, 200);
    // A block in one organization is none in another, where the same person may exist.
    let block = json!({"actor": actor}).to_string();
    let blocked = hub.post("/v1/accounts/block", &hub.other.admin, &block);
    assert_eq!(blocked.status, 200, "{}", blocked.text());
    assert_eq!(browser.get("/").status, 200);
    assert_eq!(hub.get("/v1/workspaces/shop", &hub.acme.member).status, 200);
    assert_eq!(end(&hub.acme.admin).status, 204);
    assert_eq!(browser.get("/").status, 303);
    end(&hub.acme.admin).problem("not-found");
    // Nobody blocks themselves.
    let me = hub.get("/v1/accounts", &hub.acme.admin).json();
    let me = me["items"].as_array().expect("items").iter();
    let refused = me.filter_map(|it| it["actor"].as_str()).filter(|actor| {
        let block = json!({"actor": actor}).to_string();
        let answer = hub.post("/v1/accounts/block", &hub.acme.admin, &block);
        answer.status == 403
    });
    assert_eq!(refused.count(), 1);
    let wrong = json!({"actor": "ci:main", "owner": "agent:bot"}).to_string();
    hub.post("/v1/accounts", &hub.acme.admin, &wrong)
        .problem("invalid");
}

#[test]
fn a_listed_person_acts_under_the_id_and_no_table_but_one_has_the_name() {
    let (hub, pair) = start_with_issuer();
    let hold_names = || {
        let tables = hub.tables_holding("kim@example.org");
        tables.into_iter().filter(|it| it != "people").count()
    };
    let set = |sql: &str| hub.database.sql(sql);
    set(
        "insert into ken.people select id, 'p-000000000001', 'Kim', 'kim@example.org', 1
         from ken.organizations where name = 'acme'",
    );
    let open = |email: &str, group: &str, run: &str| {
        let token = access_token(&pair, email, &json!([group]));
        let path = "/v1/workspaces/shop/runs";
        let body = json!({"id": run, "task": "a task"}).to_string();
        hub.post(path, &token, &body)
    };
    let by = |run: &str| set(&format!("select by from ken.runs where id = '{run}'"));
    let opened = open("Kim@Example.org", "shopkeepers", "R-1");
    assert!(opened.status < 300, "{}", opened.text());
    assert_eq!(by("R-1").trim(), "human:p-000000000001");
    assert_eq!(hold_names(), 0);
    // No person is listed by signing in, unless the organization says so.
    let opened = open("lee@example.org", "shopkeepers", "R-2");
    assert!(opened.status < 300, "{}", opened.text());
    assert_eq!(by("R-2").trim(), "human:lee@example.org");
    set("update ken.organizations set lists_people = true");
    for run in ["R-3", "R-4"] {
        let opened = open("mia@example.org", "shopkeepers", run);
        assert!(opened.status < 300, "{}", opened.text());
    }
    let mia = set("select id from ken.people where subject = 'mia@example.org'");
    assert_eq!(by("R-3").trim(), format!("human:{}", mia.trim()));
    assert_eq!(by("R-4"), by("R-3"), "listed once");
    // The id can be blocked, and a person who is out cannot come back by the name.
    let block = json!({"actor": "human:p-000000000001"}).to_string();
    let blocked = hub.post("/v1/accounts/block", &hub.acme.admin, &block);
    assert_eq!(blocked.status, 200, "{}", blocked.text());
    open("kim@example.org", "shopkeepers", "R-5").problem("forbidden");
}
