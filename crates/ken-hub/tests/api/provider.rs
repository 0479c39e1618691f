//! Sign-ins at an identity provider: re-checks, the time without an answer, logout, and how often
//! strangers reach the provider.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ken_core::values::time::Timestamp;
use ken_hub::config::{ClaimedOrganization, OidcClient, OidcSettings, ServeSettings};
use ken_hub::identity::AuthenticatedCaller;
use ken_hub::identity::sign_ins::{self, NewSignIn, ProviderSession, SignInSecret};
use ken_hub::ids::Role;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::hub::ApiHubEnvironment;

/// A time in 2027.
fn start_time() -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000)
}
const MINUTE_MS: u64 = 60_000;

/// Name of the hub.
const HOST: &str = "ken.example.org";

/// Answer of the provider's token endpoint.
#[derive(Clone, Debug)]
enum TokenAnswer {
    /// An ID token with the claims of Ada, and with these in place of theirs.
    Person(Value),
    NoIdToken,
    Refused,
}

/// An identity provider on this machine that signs what a test tells it to.
struct TestProvider {
    issuer: String,
    key: Ed25519KeyPair,
    state: Mutex<ProviderState>,
}

struct ProviderState {
    answer: TokenAnswer,
    is_down: bool,
    /// Requests per path.
    asked: BTreeMap<String, usize>,
}

fn coded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl TestProvider {
    fn start(answer: TokenAnswer) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        let provider = Arc::new(Self {
            issuer: format!("http://{}", listener.local_addr().expect("bound")),
            key: Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("a key"),
            state: Mutex::new(ProviderState {
                answer,
                is_down: false,
                asked: BTreeMap::new(),
            }),
        });
        let own = Arc::clone(&provider);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut request = vec![0; 16 << 10];
                let Ok(read) = stream.read(&mut request) else {
                    continue;
                };
                let request = String::from_utf8_lossy(&request[..read]).into_owned();
                let path = request.split(' ').nth(1).unwrap_or_default();
                let (status, body) = own.respond(path);
                let (body, length) = (body.to_string(), body.to_string().len());
                let head = "Content-Type: application/json\r\nConnection: close";
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}"
                );
            }
        });
        provider
    }

    fn state(&self) -> MutexGuard<'_, ProviderState> {
        self.state.lock().expect("no test panicked with it")
    }

    fn asked(&self, path: &str) -> usize {
        self.state().asked.get(path).copied().unwrap_or_default()
    }

    fn respond(&self, path: &str) -> (&'static str, Value) {
        let mut state = self.state();
        *state.asked.entry(path.to_owned()).or_default() += 1;
        if state.is_down {
            return ("503 Service Unavailable", json!({}));
        }
        let issuer = &self.issuer;
        match path {
            "/.well-known/openid-configuration" => {
                let addresses = json!({
                    "issuer": issuer,
                    "jwks_uri": format!("{issuer}/keys"),
                    "authorization_endpoint": format!("{issuer}/authorize"),
                    "token_endpoint": format!("{issuer}/token"),
                });
                ("200 OK", addresses)
            }
            "/keys" => {
                let x = coded(self.key.public_key().as_ref());
                let key = json!({"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": x});
                ("200 OK", json!({ "keys": [key] }))
            }
            _ => match &state.answer {
                TokenAnswer::Refused => ("400 Bad Request", json!({"error": "invalid_grant"})),
                TokenAnswer::NoIdToken => ("200 OK", json!({"refresh_token": "next"})),
                TokenAnswer::Person(changes) => {
                    let token = self.sign("JWT", changes);
                    (
                        "200 OK",
                        json!({"refresh_token": "next", "id_token": token}),
                    )
                }
            },
        }
    }

    fn sign(&self, typ: &str, changes: &Value) -> String {
        let mut claims = json!({
            "iss": self.issuer, "aud": "ken", "sub": "u-1", "exp": 4_000_000_000_u64,
            "email": "ada@example.org", "org": "acme", "roles": ["curates"],
        });
        for (name, value) in changes.as_object().expect("claims") {
            claims[name] = value.clone();
        }
        let head = json!({"alg": "EdDSA", "kid": "a", "typ": typ});
        let signed = format!(
            "{}.{}",
            coded(head.to_string().as_bytes()),
            coded(claims.to_string().as_bytes())
        );
        let signature = coded(self.key.sign(signed.as_bytes()).as_ref());
        format!("{signed}.{signature}")
    }

    fn settings(&self, settings: &mut ServeSettings) {
        let roles = [("reads", Role::Reader), ("curates", Role::Curator)];
        settings.public_url = Some(format!("https://{HOST}"));
        settings.oidc = Some(OidcSettings {
            issuer: self.issuer.clone(),
            audience: "https://ken.example.org".to_owned(),
            keys: None,
            organization: ClaimedOrganization::Claim("org".to_owned()),
            subject_claim: "email".to_owned(),
            person_claim: Some("email".to_owned()),
            roles_claim: "roles".to_owned(),
            workspace_roles: BTreeMap::from([(
                "keepers".to_owned(),
                vec![
                    ("shop".to_owned(), Role::Curator),
                    ("nowhere".to_owned(), Role::Curator),
                ],
            )]),
            roles: roles.map(|(name, role)| (name.to_owned(), role)).into(),
            client: Some(OidcClient {
                id: "ken".to_owned(),
                secret: None,
                scopes: "offline_access".to_owned(),
            }),
        });
    }
}

fn start(provider: &TestProvider) -> ApiHubEnvironment {
    ApiHubEnvironment::start_on(Some(start_time()), |settings| provider.settings(settings))
}

/// Signs Ada in as a curator, as the callback does.
fn sign_in<'h>(hub: &'h ApiHubEnvironment, session: Option<&str>) -> Browser<'h> {
    let secret = SignInSecret::generate();
    let new = NewSignIn {
        caller: AuthenticatedCaller {
            organization: hub.acme.organization,
            actor: "human:ada@example.org".parse().expect("an actor"),
            role: Role::Curator,
            workspace_roles: ken_hub::identity::WorkspaceRoles::default(),
            workspaces: None,
            token: None,
            address: None,
        },
        provider: Some(ProviderSession {
            subject: "u-1".to_owned(),
            session: session.map(str::to_owned),
            refresh_token: Some("first".to_owned()),
        }),
    };
    hub.runtime.block_on(async {
        let tx = hub.app.database.begin_organization(hub.acme.organization);
        let mut tx = tx.await.expect("a transaction");
        sign_ins::create(&mut tx, &secret, &new)
            .await
            .expect("a sign-in");
        tx.commit().await.expect("committed");
    });
    Browser::with_cookie(hub, HOST, ("__Host-ken", secret.reveal()))
}

fn pass(hub: &ApiHubEnvironment, minutes: u64) {
    let now = hub.app.clock.now().plus_millis(minutes * MINUTE_MS);
    hub.app.clock.set(now);
}

#[track_caller]
fn assert_ended(hub: &ApiHubEnvironment, browser: &Browser<'_>) {
    // Twice: the first refusal must not pay for the requests after it.
    for _ in 0..2 {
        assert_eq!(browser.get("/review").status, 303);
    }
    let rows = hub.database.sql("select count(*) from ken.sign_ins");
    assert_eq!(rows.trim(), "0");
}

#[test]
fn a_sign_in_lives_for_an_hour_without_the_provider() {
    let provider = TestProvider::start(TokenAnswer::Refused);
    provider.state().is_down = true;
    let hub = start(&provider);
    let browser = sign_in(&hub, None);
    for minutes in [10, 20, 20, 9] {
        pass(&hub, minutes);
        assert_eq!(browser.get("/review").status, 200);
    }
    pass(&hub, 1);
    assert_ended(&hub, &browser);
}

#[test]
fn a_person_who_comes_back_is_checked_and_stays_signed_in() {
    let provider = TestProvider::start(TokenAnswer::Person(json!({})));
    let hub = start(&provider);
    let browser = sign_in(&hub, None);
    pass(&hub, 180);
    assert_eq!(browser.get("/review").status, 200);
    assert_eq!(browser.get("/review").status, 200);
    assert_eq!(provider.asked("/token"), 1);
    provider.state().answer = TokenAnswer::Refused;
    pass(&hub, 6);
    assert_ended(&hub, &browser);
}

#[test]
fn the_request_that_checks_has_the_role_of_now() {
    let provider = TestProvider::start(TokenAnswer::Person(json!({"roles": ["reads"]})));
    let hub = start(&provider);
    let browser = sign_in(&hub, None);
    assert_eq!(browser.get("/review").status, 200);
    pass(&hub, 6);
    assert_eq!(browser.get("/review").status, 403);
    assert_eq!(browser.get("/").status, 200);
}

#[test]
fn a_person_whose_groups_changed_has_their_workspaces_at_the_next_check() {
    let provider = TestProvider::start(TokenAnswer::Person(json!({"roles": ["keepers"]})));
    let hub = start(&provider);
    let browser = sign_in(&hub, None);
    let roles = || {
        let row = "select role, workspaces = role_workspaces, role_names from ken.sign_ins";
        hub.database.sql(row).trim().to_owned()
    };
    assert_eq!(roles(), "curator||");
    pass(&hub, 6);
    assert_eq!(browser.get("/").status, 200);
    assert_eq!(roles(), "reader|t|{curator}");
    // A role in the organization opens the other workspaces again.
    provider.state().answer = TokenAnswer::Person(json!({"roles": ["keepers", "reads"]}));
    pass(&hub, 6);
    assert_eq!(browser.get("/").status, 200);
    assert_eq!(roles(), "reader||{curator}");
    provider.state().answer = TokenAnswer::Person(json!({"roles": ["reads"]}));
    pass(&hub, 6);
    assert_eq!(browser.get("/").status, 200);
    assert_eq!(roles(), "reader||");
}

#[test]
fn another_person_or_organization_is_another_sign_in() {
    for changes in [
        json!({"sub": "u-2"}),
        json!({"email": "eve@example.org"}),
        json!({"org": "other"}),
        json!({"org": "nowhere"}),
        json!({"roles": ["unrelated"]}),
    ] {
        let provider = TestProvider::start(TokenAnswer::Person(changes.clone()));
        let hub = start(&provider);
        let browser = sign_in(&hub, None);
        pass(&hub, 6);
        assert_ended(&hub, &browser);
    }
}

#[test]
fn without_an_id_token_a_sign_in_lasts_an_hour() {
    let provider = TestProvider::start(TokenAnswer::NoIdToken);
    let hub = start(&provider);
    let browser = sign_in(&hub, None);
    for minutes in [20, 39] {
        pass(&hub, minutes);
        assert_eq!(browser.get("/review").status, 200);
    }
    pass(&hub, 1);
    assert_ended(&hub, &browser);
}

#[test]
fn a_refresh_token_that_cannot_be_opened_ends_the_sign_in() {
    let provider = TestProvider::start(TokenAnswer::Person(json!({})));
    let hub = start(&provider);
    let browser = sign_in(&hub, None);
    hub.database
        .sql("update ken.sign_ins set sealed_refresh = '\\x00'");
    pass(&hub, 6);
    assert_ended(&hub, &browser);
}

#[test]
fn a_logout_at_the_provider_ends_what_it_names_and_is_recorded() {
    let provider = TestProvider::start(TokenAnswer::Person(json!({})));
    let hub = start(&provider);
    let event = "http://schemas.openid.net/event/backchannel-logout";
    let logout = |claims: &[(&str, &str)]| {
        let mut changes = json!({"events": { event: {} }, "sub": null});
        for (name, value) in claims {
            changes[*name] = (*value).into();
        }
        let body = format!("logout_token={}", provider.sign("logout+jwt", &changes));
        let answer = hub.send("POST", "/sign-in/logout", &[], Some(body.as_bytes()));
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    // Of two sessions of one person, the named one ends, and one of unknown session with it.
    let (named, other, unnamed) = (
        sign_in(&hub, Some("s-1")),
        sign_in(&hub, Some("s-2")),
        sign_in(&hub, None),
    );
    logout(&[("sub", "u-1"), ("sid", "s-1")]);
    assert_eq!(named.get("/").status, 303);
    assert_eq!(unnamed.get("/").status, 303);
    assert_eq!(other.get("/").status, 200);
    logout(&[("sub", "u-1")]);
    assert_eq!(other.get("/").status, 303);
    let log = hub.get("/v1/audit?act=person.signed_out", &hub.acme.admin);
    let log = log.json();
    let items = log["items"].as_array().expect("records");
    assert_eq!(items.len(), 3, "{log}");
    for item in items {
        let subject = item["subject"].as_str().expect("a subject");
        assert!(subject.contains("human:ada@example.org"), "{log}");
        assert_eq!(item["by"], "hub", "{log}");
    }
}

#[test]
fn strangers_reach_the_provider_at_a_limited_rate() {
    let provider = TestProvider::start(TokenAnswer::Refused);
    let hub = ApiHubEnvironment::start_with(|settings| {
        provider.settings(settings);
        settings.limits.anonymous_rate.burst = 6.0;
        settings.limits.anonymous_rate.per_second = 0.001;
    });
    let cookie = "__Host-ken_flow=state=s&nonce=n&verifier=v";
    let headers = [("host", HOST), ("cookie", cookie)];
    let ask = |path: &str| hub.send("GET", path, &headers, None).status;
    assert_eq!([(); 3].map(|()| ask("/sign-in/provider")), [303; 3]);
    // Made-up secrets of a sign-in reach the token endpoint.
    let callback = "/sign-in/callback?state=s&code=made-up";
    assert_eq!([(); 3].map(|()| ask(callback)), [403; 3]);
    assert_eq!([(); 2].map(|()| ask(callback)), [429; 2]);
    assert_eq!(ask("/sign-in/provider"), 429);
    assert_eq!(provider.asked("/token"), 3);
    assert_eq!(provider.asked("/.well-known/openid-configuration"), 1);
}

#[test]
fn a_provider_that_is_down_is_left_alone_for_a_while() {
    let provider = TestProvider::start(TokenAnswer::Refused);
    provider.state().is_down = true;
    let hub = ApiHubEnvironment::start_with(|settings| {
        provider.settings(settings);
    });
    let headers = [("host", HOST)];
    for _ in 0..20 {
        let answer = hub.send("GET", "/sign-in/provider", &headers, None);
        assert_eq!(answer.status, 502, "{}", answer.text());
    }
    // More than one only on a machine on which this takes longer than a second.
    let asked = provider.asked("/.well-known/openid-configuration");
    assert!(asked < 5, "{asked}");
}
