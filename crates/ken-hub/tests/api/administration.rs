//! Administration over HTTP: removed and renamed workspaces, rotated and revoked tokens.

use ken_hub::ids::Role;
use ken_testkit::build::EventWriter;
use serde_json::{Value, json};

use crate::hub::{ApiHubEnvironment, ApiResponse};

fn post(hub: &ApiHubEnvironment, path: &str, body: &Value) -> ApiResponse {
    hub.post(path, &hub.acme.admin, &body.to_string())
}

fn audited(hub: &ApiHubEnvironment, act: &str) -> Vec<String> {
    let listed = hub
        .get(&format!("/v1/audit?act={act}"), &hub.acme.admin)
        .json();
    let items = listed["items"].as_array().expect("items").iter();
    items
        .map(|it| it["subject"].as_str().expect("a subject").to_owned())
        .collect()
}

#[test]
fn a_removed_workspace_answers_like_a_missing_one_until_it_is_restored() {
    let hub = ApiHubEnvironment::start();
    let (_, proposal) = EventWriter::new(1).propose("Charge only once");
    assert_eq!(
        hub.push(&hub.acme, &hub.acme.curator, &[proposal]).status,
        200
    );
    let unconfirmed = post(
        &hub,
        "/v1/workspaces/shop/remove",
        &json!({"confirm": "vault"}),
    );
    unconfirmed.problem("invalid");
    let removed = post(
        &hub,
        "/v1/workspaces/shop/remove",
        &json!({"confirm": "shop"}),
    );
    assert_eq!(removed.status, 200, "{}", removed.text());
    assert!(removed.json()["erase_at"].as_str() > removed.json()["removed_at"].as_str());
    let id = hub.acme.workspace.0.to_string();
    for (token, below) in [
        (&hub.acme.reader, "/entries"),
        (&hub.acme.reader, "/events"),
        (&hub.acme.admin, "/audit"),
        (&hub.acme.admin, ""),
    ] {
        let missing = hub.get(&format!("/v1/workspaces/nowhere{below}"), token);
        for name in ["shop", &id] {
            let answer = hub.get(&format!("/v1/workspaces/{name}{below}"), token);
            assert_eq!(
                (answer.status, answer.text()),
                (404, missing.text()),
                "{below}"
            );
        }
    }
    let taken = post(&hub, "/v1/workspaces", &json!({"name": "shop"}));
    let taken = taken.problem("conflict");
    assert!(
        taken["detail"]
            .as_str()
            .is_some_and(|it| it.contains("removed")),
        "{taken}"
    );
    let listed = hub.get("/v1/removed-workspaces", &hub.acme.admin).json();
    assert_eq!(listed["items"][0]["workspace"]["id"], id.as_str());
    // Another organization sees nothing of it.
    let foreign = hub.get("/v1/removed-workspaces", &hub.other.admin).json();
    assert_eq!(foreign["items"], json!([]));
    let path = format!("/v1/removed-workspaces/{id}/restore");
    hub.post(&path, &hub.other.admin, "{}").problem("not-found");
    let restored = post(&hub, "/v1/removed-workspaces/shop/restore", &json!({}));
    assert_eq!(restored.status, 200, "{}", restored.text());
    let entries = hub
        .get("/v1/workspaces/shop/entries", &hub.acme.reader)
        .json();
    assert_eq!(
        entries["items"].as_array().map(Vec::len),
        Some(1),
        "{entries}"
    );
    for act in ["workspace.removed", "workspace.restored"] {
        assert_eq!(audited(&hub, act), [format!("{id} (shop)")], "{act}");
    }
}

#[test]
fn a_purged_workspace_is_erased_soon_and_frees_its_name_and_its_place() {
    let hub = ApiHubEnvironment::start();
    let organization = hub.acme.organization.0;
    hub.database.sql(&format!(
        "update ken.organizations set workspaces_max = 1 where id = '{organization}'"
    ));
    hub.post("/v1/removed-workspaces/shop/purge", &hub.acme.admin, "{}")
        .problem("not-found");
    post(
        &hub,
        "/v1/workspaces/shop/remove",
        &json!({"confirm": "shop"}),
    );
    // Removing makes no room before the data is erased.
    post(&hub, "/v1/workspaces", &json!({"name": "second"})).problem("quota");
    let purged = post(&hub, "/v1/removed-workspaces/shop/purge", &json!({}));
    assert_eq!(purged.status, 202, "{}", purged.text());
    let count = "select count(*) from ken.workspaces where name = 'shop'";
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while hub.database.sql(count).trim() != "0" {
        assert!(std::time::Instant::now() < deadline, "it was not erased");
        std::thread::yield_now();
    }
    let made = post(&hub, "/v1/workspaces", &json!({"name": "shop"}));
    assert_eq!(made.status, 201, "{}", made.text());
}

#[test]
fn a_former_name_is_answered_with_the_new_one_to_those_with_access() {
    let hub = ApiHubEnvironment::start();
    let renamed = post(
        &hub,
        "/v1/workspaces/shop/rename",
        &json!({"name": "store"}),
    );
    assert_eq!(renamed.status, 200, "{}", renamed.text());
    assert_eq!(renamed.json()["id"], hub.acme.workspace.0.to_string());
    let told = hub.get("/v1/workspaces/shop/entries", &hub.acme.reader);
    assert_eq!(told.status, 404);
    assert_eq!(told.problem("renamed")["name"], "store");
    for name in ["store", &hub.acme.workspace.0.to_string()] {
        let path = format!("/v1/workspaces/{name}/entries");
        assert_eq!(hub.get(&path, &hub.acme.reader).status, 200, "{name}");
    }
    hub.get("/v1/workspaces/shop", &hub.other.admin)
        .problem("not-found");
    let made = post(&hub, "/v1/workspaces", &json!({"name": "second"})).json();
    let body = json!({"name": "narrow", "role": "agent", "workspaces": [made["id"]]});
    let narrow = post(&hub, "/v1/tokens", &body).json();
    let narrow = narrow["secret"].as_str().expect("a secret");
    hub.get("/v1/workspaces/shop", narrow).problem("not-found");
    post(&hub, "/v1/workspaces", &json!({"name": "shop"})).problem("conflict");
    post(
        &hub,
        "/v1/workspaces/second/rename",
        &json!({"name": "store"}),
    )
    .problem("conflict");
}

#[test]
fn a_restricted_admin_removes_and_renames_nothing() {
    let hub = ApiHubEnvironment::start();
    let workspaces = Some(vec![hub.acme.workspace]);
    let organization = hub.acme.organization;
    let made = crate::hub::create_token(&hub.app, organization, Role::Admin, workspaces, None);
    let (_, secret) = hub.runtime.block_on(made);
    for (path, body) in [
        ("/v1/workspaces/shop/remove", r#"{"confirm":"shop"}"#),
        ("/v1/workspaces/shop/rename", r#"{"name":"store"}"#),
    ] {
        hub.post(path, secret.reveal(), body).problem("forbidden");
    }
}

#[test]
fn a_rotated_token_ends_after_the_overlap_and_its_successor_is_the_same() {
    let hub = ApiHubEnvironment::start();
    let body = json!({"name": "night build", "role": "agent", "workspaces": ["shop"], "expires_in_days": 10});
    let made = post(&hub, "/v1/tokens", &body).json();
    let (old, id) = (
        made["secret"].as_str().expect("a secret"),
        &made["token"]["id"],
    );
    let path = format!("/v1/tokens/{}/rotate", id.as_str().expect("an id"));
    post(&hub, &path, &json!({"overlap_hours": 169})).problem("invalid");
    hub.post(&path, &hub.other.admin, "{}").problem("not-found");
    let rotated = post(&hub, &path, &json!({}));
    assert_eq!(rotated.status, 201, "{}", rotated.text());
    let rotated = rotated.json();
    let new = rotated["secret"].as_str().expect("a secret").to_owned();
    assert_ne!(new, old);
    for member in ["name", "actor", "role", "workspaces"] {
        assert_eq!(rotated["token"][member], made["token"][member], "{member}");
    }
    for secret in [old, &new] {
        assert_eq!(hub.get("/v1/workspaces/shop", secret).status, 200);
    }
    let hours = format!(
        "select round((expires_at - (select max(created_at) from ken.tokens)) / 3600000.0)
         from ken.tokens where id = {id}"
    );
    assert_eq!(hub.database.sql(&hours.replace('"', "'")).trim(), "24");
    // Without an overlap the token ends at once.
    let path = format!(
        "/v1/tokens/{}/rotate",
        rotated["token"]["id"].as_str().expect("an id")
    );
    let last = post(&hub, &path, &json!({"overlap_hours": 0})).json();
    hub.get("/v1/workspaces/shop", &new)
        .problem("unauthenticated");
    let last = last["secret"].as_str().expect("a secret");
    assert_eq!(hub.get("/v1/workspaces/shop", last).status, 200);
    post(&hub, &path, &json!({})).problem("conflict");
    assert_eq!(audited(&hub, "token.rotated").len(), 2);
}

#[test]
fn the_last_use_of_a_token_is_written_once_an_hour() {
    let hub = ApiHubEnvironment::start();
    let made = post(&hub, "/v1/tokens", &json!({"name": "x", "role": "agent"})).json();
    let secret = made["secret"].as_str().expect("a secret");
    assert!(made["token"].get("used_at").is_none(), "{made}");
    let id = made["token"]["id"].as_str().expect("an id");
    // The transaction that wrote the row changes with every write.
    let row = format!("select xmin, used_at from ken.tokens where id = '{id}'");
    let unused = hub.database.sql(&row);
    assert_eq!(hub.get("/v1/workspaces", secret).status, 200);
    let used = hub.database.sql(&row);
    assert_ne!(used, unused);
    for _ in 0..3 {
        assert_eq!(hub.get("/v1/workspaces", secret).status, 200);
    }
    assert_eq!(hub.database.sql(&row), used);
    let listed = hub.get("/v1/tokens?limit=1000", &hub.acme.admin).json();
    let listed = listed["items"].as_array().expect("items").iter();
    let token = listed
        .into_iter()
        .find(|it| it["id"] == id)
        .expect("listed");
    assert!(token["used_at"].is_string(), "{token}");
    hub.database.sql(&format!(
        "update ken.tokens set used_at = used_at - 3600000 where id = '{id}'"
    ));
    assert_eq!(hub.get("/v1/workspaces", secret).status, 200);
    let time = |text: &str| text.trim().split('|').nth(1).expect("a time").to_owned();
    assert!(time(&hub.database.sql(&row)) >= time(&used));
}

#[test]
fn all_tokens_of_an_actor_are_revoked_at_once() {
    let hub = ApiHubEnvironment::start();
    let [reader, member] =
        [Role::Reader, Role::Member].map(|it| hub.token_of(it, "human:eve@example.org"));
    let other = hub.token_of(Role::Reader, "human:eva@example.org");
    let body = json!({"actor": "human:eve@example.org"});
    let revoked = post(&hub, "/v1/tokens/revoke", &body).json();
    assert_eq!(
        revoked["items"].as_array().map(Vec::len),
        Some(2),
        "{revoked}"
    );
    for secret in [&reader, &member] {
        hub.get("/v1/workspaces", secret).problem("unauthenticated");
    }
    assert_eq!(hub.get("/v1/workspaces", &other).status, 200);
    assert_eq!(audited(&hub, "token.revoked").len(), 2);
    let again = post(&hub, "/v1/tokens/revoke", &body).json();
    assert_eq!(again["items"], json!([]));
    post(&hub, "/v1/tokens/revoke", &json!({"actor": "eve"})).problem("invalid");
}

#[test]
fn tokens_of_a_removed_organization_authenticate_nobody() {
    let hub = ApiHubEnvironment::start();
    let name = "acme".parse().expect("a name");
    let removing = async {
        let mut tx = hub
            .app
            .database
            .begin_organization(hub.acme.organization)
            .await?;
        let by = ken_hub::database::audit::AuditActor::Operator(None);
        tx.remove_organization(by, &name).await?;
        tx.commit().await
    };
    hub.runtime.block_on(removing).expect("removed");
    hub.get("/v1/workspaces", &hub.acme.admin)
        .problem("unauthenticated");
    assert_eq!(hub.get("/v1/workspaces", &hub.other.admin).status, 200);
}
