//! Tests of access tokens, with generated keys and a local key server.
//!
//! `ring` generates Ed25519 and P-256 keys but no RSA keys. The RSA test key was created once with
//! `openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048` and is used nowhere else.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair as RsaKeyPair, PublicKeyComponents};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
};
use serde_json::json;

use super::*;

const NOW: Timestamp = Timestamp::MAX;
const ISSUER_PATH: &str = "/realm";

enum TestSigner {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl TestSigner {
    fn all() -> [(&'static str, Self); 3] {
        let chance = SystemRandom::new();
        let rsa = RsaKeyPair::from_pkcs8(include_bytes!("testdata/rsa.pk8")).expect("a key");
        let how = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let p256 = EcdsaKeyPair::generate_pkcs8(how, &chance).expect("a key");
        let p256 = EcdsaKeyPair::from_pkcs8(how, p256.as_ref(), &chance).expect("a key");
        let ed = Ed25519KeyPair::generate_pkcs8(&chance).expect("a key");
        let ed = Ed25519KeyPair::from_pkcs8(ed.as_ref()).expect("a key");
        [
            ("RS256", Self::Rsa(rsa)),
            ("ES256", Self::P256(p256)),
            ("EdDSA", Self::Ed(ed)),
        ]
    }

    fn jwk(&self, id: &str) -> Value {
        match self {
            Self::Rsa(key) => {
                let PublicKeyComponents { n, e } =
                    PublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({"kty": "RSA", "kid": id, "use": "sig", "alg": "RS256", "n": coded(&n), "e": coded(&e)})
            }
            Self::P256(key) => {
                let point = key.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "kid": id, "x": coded(&point[1..33]), "y": coded(&point[33..])})
            }
            Self::Ed(key) => {
                json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": coded(key.public_key().as_ref())})
            }
        }
    }

    fn sign(&self, text: &str) -> Vec<u8> {
        let chance = SystemRandom::new();
        match self {
            Self::Rsa(key) => {
                let mut made = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &chance, text.as_bytes(), &mut made)
                    .expect("signed");
                made
            }
            Self::P256(key) => {
                let made = key.sign(&chance, text.as_bytes()).expect("signed");
                made.as_ref().to_vec()
            }
            Self::Ed(key) => key.sign(text.as_bytes()).as_ref().to_vec(),
        }
    }

    fn token(&self, head: &Value, claims: &Value) -> String {
        let signed = format!(
            "{}.{}",
            coded(head.to_string().as_bytes()),
            coded(claims.to_string().as_bytes())
        );
        let signature = coded(&self.sign(&signed));
        format!("{signed}.{signature}")
    }
}

fn coded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Starts a local issuer that serves `keys`, for at most 16 requests.
fn start_issuer(keys: Value) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("bound"));
    let issuer = format!("{base}{ISSUER_PATH}");
    let asked = Arc::new(AtomicUsize::new(0));
    let (counter, own_name) = (Arc::clone(&asked), issuer.clone());
    thread::spawn(move || {
        for stream in listener.incoming().take(16) {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 4096];
            let Ok(read) = stream.read(&mut request) else {
                continue;
            };
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let body = if request.starts_with("GET /realm/.well-known/openid-configuration ") {
                json!({"issuer": own_name, "jwks_uri": format!("{base}/keys")}).to_string()
            } else {
                // Only key requests count; the discovery document is fetched besides.
                counter.fetch_add(1, Ordering::SeqCst);
                keys.to_string()
            };
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
            let length = body.len();
            let response = format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}");
            drop(stream.write_all(response.as_bytes()));
        }
    });
    (issuer, asked)
}

fn settings(issuer: &str) -> OidcSettings {
    OidcSettings {
        client: None,
        issuer: issuer.to_owned(),
        audience: "https://ken.example.org".to_owned(),
        keys: None,
        organization: ClaimedOrganization::Claim("org.name".to_owned()),
        subject_claim: "email".to_owned(),
        person_claim: Some("email_verified".to_owned()),
        roles_claim: "realm_access.roles".to_owned(),
        roles: BTreeMap::from([
            ("ken-read".to_owned(), Role::Reader),
            ("ken-curate".to_owned(), Role::Curator),
        ]),
        workspace_roles: BTreeMap::from([
            (
                "payers".to_owned(),
                vec![
                    ("payments".to_owned(), Role::Curator),
                    ("search".to_owned(), Role::Member),
                ],
            ),
            (
                "bots".to_owned(),
                vec![("payments".to_owned(), Role::Agent)],
            ),
        ]),
    }
}

/// Returns a token without a signature, and one signed with HMAC and a public key: the classic
/// algorithm confusion.
fn forged_tokens(issuer: &str) -> [String; 2] {
    let body = coded(claims(issuer).to_string().as_bytes());
    let none = format!("{}.{body}.", coded(br#"{"alg":"none"}"#));
    let signed = format!("{}.{body}", coded(br#"{"alg":"HS256","kid":"a"}"#));
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"public");
    let tag = ring::hmac::sign(&key, signed.as_bytes());
    [none, format!("{signed}.{}", coded(tag.as_ref()))]
}

fn claims(issuer: &str) -> Value {
    json!({
        "iss": issuer, "aud": ["other", "https://ken.example.org"], "sub": "u-17",
        "exp": NOW.seconds() + 300, "nbf": NOW.seconds() - 300, "email": "ada@example.org", "email_verified": true,
        "org": {"name": "acme"}, "realm_access": {"roles": ["ken-read", "ken-curate", "unrelated"]},
    })
}

#[tokio::test]
async fn tokens_of_all_three_algorithms_are_taken_and_keys_are_fetched_once() {
    let signers = TestSigner::all();
    let keys: Vec<Value> = signers.iter().map(|(name, it)| it.jwk(name)).collect();
    let (issuer, asked) = start_issuer(json!({ "keys": keys }));
    let proving = OidcIssuer::new(settings(&issuer)).expect("an issuer");
    for (name, signer) in &signers {
        for head in [
            json!({"alg": name, "kid": name, "typ": "at+jwt"}),
            json!({"alg": name}),
        ] {
            let token = signer.token(&head, &claims(&issuer));
            let worth = proving.verify_token(&token, NOW).await.expect("keys");
            let expected = ClaimedIdentity {
                organization: "acme".to_owned(),
                actor: "human:ada@example.org".parse().expect("an actor"),
                role: Role::Curator,
                workspace_roles: Vec::new(),
                is_restricted: false,
            };
            assert_eq!(worth, TokenVerdict::Verified(expected), "{name} {head}");
        }
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn groups_grant_roles_in_single_workspaces() {
    let settings = settings("https://id.example.org");
    let identity = |roles: Value, person: bool| {
        let mut claims = claims(&settings.issuer);
        claims["realm_access"]["roles"] = roles;
        claims["email_verified"] = json!(person);
        let claims = claims.as_object().expect("claims").clone();
        map_claims(&settings, &claims)
    };
    let granted = |found: &ClaimedIdentity| {
        let all = found.workspace_roles.iter();
        all.map(|(name, role)| format!("{role}@{name}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let both = "curator@payments member@search";
    let agents = "agent@payments agent@search";
    // Groups, is a person, organization role, roles in workspaces, is restricted to them.
    let cases: [(&[&str], bool, Role, &str, bool); 6] = [
        // A group of one workspace opens nothing else.
        (&["payers"], true, Role::Reader, both, true),
        (&["payers", "ken-read"], true, Role::Reader, both, false),
        (&["payers", "ken-curate"], true, Role::Curator, both, false),
        // Programs decide nowhere, whatever their groups are.
        (&["payers"], false, Role::Reader, agents, true),
        (
            &["bots", "ken-read"],
            false,
            Role::Reader,
            "agent@payments",
            false,
        ),
        // A person is no agent.
        (
            &["bots", "ken-curate"],
            true,
            Role::Curator,
            "reader@payments",
            false,
        ),
    ];
    for (roles, person, role, workspaces, restricted) in cases {
        let actor = if person { "human:" } else { "agent:" };
        let roles = json!(roles);
        let found = identity(roles.clone(), person).expect("a role");
        assert!(
            found.actor.to_string().starts_with(actor),
            "{roles} {}",
            found.actor
        );
        assert_eq!(
            (found.role, found.is_restricted),
            (role, restricted),
            "{roles}"
        );
        assert_eq!(granted(&found), workspaces, "{roles}");
    }
    assert_eq!(identity(json!(["unrelated"]), true), None);
}

#[tokio::test]
async fn what_is_forged_is_worth_nothing() {
    let [(_, rsa), (_, p256), (_, ed)] = TestSigner::all();
    let (issuer, _) = start_issuer(json!({"keys": [ed.jwk("a"), p256.jwk("b"), rsa.jwk("c")]}));
    let proving = OidcIssuer::new(settings(&issuer)).expect("an issuer");
    let signed_as = |head: Value| ed.token(&head, &claims(&issuer));
    let good = signed_as(json!({"alg": "EdDSA", "kid": "a"}));
    let (signed, signature) = good.rsplit_once('.').expect("three parts");
    let (head, _) = signed.split_once('.').expect("three parts");
    let mut other = claims(&issuer);
    other["sub"] = json!("somebody else");
    let other = coded(other.to_string().as_bytes());
    let stranger = &TestSigner::all()[2].1;
    let foreign = stranger.token(&json!({"alg": "EdDSA", "kid": "a"}), &claims(&issuer));
    let [none, hmac] = forged_tokens(&issuer);
    let cases = [
        ("empty", String::new()),
        ("no dots", "abc".to_owned()),
        ("no signature", format!("{signed}.")),
        ("changed claims", format!("{head}.{other}.{signature}")),
        ("another's key", foreign),
        (
            "another key's id",
            signed_as(json!({"alg": "EdDSA", "kid": "b"})),
        ),
        (
            "another algorithm",
            signed_as(json!({"alg": "RS256", "kid": "a"})),
        ),
        (
            "an extension",
            signed_as(json!({"alg": "EdDSA", "crit": ["x"]})),
        ),
        (
            "another purpose",
            signed_as(json!({"alg": "EdDSA", "typ": "logout+jwt"})),
        ),
        ("none", none),
        ("hmac", hmac),
        (
            "too long",
            format!("{good}{}", "A".repeat(token::TOKEN_BYTES_MAX)),
        ),
    ];
    for (name, token) in cases {
        let worth = proving.verify_token(&token, NOW).await;
        assert_eq!(worth, Ok(TokenVerdict::Invalid), "{name}");
    }
    let worth = proving.verify_token(&good, NOW).await;
    assert!(matches!(worth, Ok(TokenVerdict::Verified(_))), "{worth:?}");
}

#[tokio::test]
async fn what_is_foreign_or_out_of_time_is_worth_nothing() {
    let [.., (_, ed)] = TestSigner::all();
    let (issuer, _) = start_issuer(json!({"keys": [ed.jwk("a")]}));
    let proving = OidcIssuer::new(settings(&issuer)).expect("an issuer");
    let cases = [
        ("iss", json!("https://evil.example.org")),
        ("aud", json!("https://other.example.org")),
        ("aud", json!("https://ken.example.org.evil")),
        ("aud", json!([])),
        ("aud", Value::Null),
        ("exp", json!(NOW.seconds() - 61)),
        ("exp", json!("9999999999999")),
        ("exp", Value::Null),
        ("nbf", json!(NOW.seconds() + 61)),
        ("nbf", json!("now")),
    ];
    for (name, value) in cases {
        let mut all = claims(&issuer);
        all[name] = value.clone();
        let token = ed.token(&json!({"alg": "EdDSA", "kid": "a"}), &all);
        let worth = proving.verify_token(&token, NOW).await;
        assert_eq!(worth, Ok(TokenVerdict::Invalid), "{name} {value}");
    }
}

#[tokio::test]
async fn a_genuine_token_without_a_role_or_an_organization_opens_nothing() {
    let [.., (_, ed)] = TestSigner::all();
    let (issuer, _) = start_issuer(json!({"keys": [ed.jwk("a")]}));
    let proving = OidcIssuer::new(settings(&issuer)).expect("an issuer");
    let head = json!({"alg": "EdDSA", "kid": "a"});
    for (name, value) in [
        ("realm_access", json!({"roles": ["unrelated"]})),
        ("realm_access", json!(3)),
        ("org", Value::Null),
        ("email", Value::Null),
    ] {
        let mut all = claims(&issuer);
        all[name] = value;
        let token = ed.token(&head, &all);
        assert_eq!(
            proving.verify_token(&token, NOW).await,
            Ok(TokenVerdict::NoRole),
            "{name}"
        );
    }
}

#[tokio::test]
async fn an_agents_name_never_reads_as_a_persons() {
    let [.., (_, ed)] = TestSigner::all();
    let (issuer, _) = start_issuer(json!({"keys": [ed.jwk("a")]}));
    let proving = OidcIssuer::new(settings(&issuer)).expect("an issuer");
    let all = claims(&issuer);
    for (member, value) in [
        ("realm_access", json!({"roles": ["ken-read"]})),
        // A program with a curator's role lacks the claim that only people have.
        ("email_verified", Value::Null),
        ("email_verified", json!(false)),
        ("email_verified", json!("false")),
        ("email_verified", json!("False")),
        ("email_verified", json!("TRUE ")),
        ("email_verified", json!("yes")),
        ("email_verified", json!("")),
        ("email_verified", json!(0)),
        ("email_verified", json!(1)),
        ("email_verified", json!([])),
        ("email_verified", json!([true])),
        ("email_verified", json!({})),
    ] {
        let mut all = all.clone();
        all[member] = value;
        let token = ed.token(&json!({"alg": "EdDSA"}), &all);
        let worth = proving.verify_token(&token, NOW).await.expect("keys");
        let TokenVerdict::Verified(found) = worth else {
            panic!("{worth:?}")
        };
        assert_eq!(found.actor.to_string(), "agent:ada@example.org", "{member}");
        // Its role is reduced as well, so it cannot push events that only people may push.
        assert!(found.role <= Role::Agent, "{member}: {}", found.role);
    }
}

#[test]
fn a_flag_may_be_text_and_an_address_is_a_claim_of_a_person() {
    let mut settings = settings("https://login.example.org");
    let mut all = claims(&settings.issuer);
    all["email_verified"] = json!("true");
    let all = all.as_object().expect("claims");
    let found = map_claims(&settings, all).expect("a person");
    assert_eq!(found.actor.to_string(), "human:ada@example.org");
    settings.person_claim = Some("email".to_owned());
    let found = map_claims(&settings, all).expect("a person");
    assert_eq!(found.role, Role::Curator);
}

#[test]
fn two_subjects_never_become_one_person() {
    let settings = settings("https://login.example.org");
    let person = |subject: &str| {
        let mut all = claims(&settings.issuer);
        all["email"] = json!(subject);
        let found = map_claims(&settings, all.as_object().expect("claims"));
        found.map(|it| it.actor.to_string())
    };
    // One address in two spellings is one person, who cannot approve their own words.
    assert_eq!(
        person("Ada@Acme.example").as_deref(),
        Some("human:ada@acme.example")
    );
    let long = format!("{}@acme.example", "a".repeat(128));
    for refused in [
        "",
        " ceo@acme.example ",
        "ceo@acme.example\n",
        "ceo\u{200b}@acme.example",
        "\u{ff43}eo@acme.example",
        &long,
    ] {
        assert_eq!(person(refused), None, "{refused:?}");
    }
}

#[tokio::test]
async fn an_unknown_key_asks_the_issuer_no_oftener_than_it_may() {
    let [.., (_, ed)] = TestSigner::all();
    let (issuer, asked) = start_issuer(json!({"keys": [ed.jwk("a")]}));
    let proving = OidcIssuer::new(settings(&issuer)).expect("an issuer");
    for n in 0..20 {
        let head = json!({"alg": "EdDSA", "kid": format!("made-up-{n}")});
        let token = ed.token(&head, &claims(&issuer));
        assert_eq!(
            proving.verify_token(&token, NOW).await,
            Ok(TokenVerdict::Invalid)
        );
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_issuer_that_is_away_is_an_error_and_is_left_alone_for_a_while() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let issuer = format!("http://{}", listener.local_addr().expect("bound"));
    drop(listener);
    let [.., (_, ed)] = TestSigner::all();
    let proving = OidcIssuer::new(settings(&issuer)).expect("an issuer");
    let token = ed.token(&json!({"alg": "EdDSA"}), &claims(&issuer));
    for _ in 0..3 {
        let answer = proving.verify_token(&token, NOW).await;
        assert!(
            matches!(answer, Err(IssuerKeysError::Unreachable(_))),
            "{answer:?}"
        );
    }
}
