//! The verbs of the command line over REST and MCP, and search in several workspaces.

use ken_core::ledger::event::{Confirmed, ContradictionFlagged, EventBody, Origin, Provenance};
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_hub::ids::{Role, WorkspaceId};
use ken_testkit::build::EventWriter;
use serde_json::{Value, json};

use crate::hub::{ApiHubEnvironment, ApiResponse, TenantFixture, create_token};
use crate::mcp_client::call_tool;

const RETRY: &str = "Retry a failed card payment once, because the gateway answers twice";

/// Pushes an entry and returns its id and the id of its event.
fn add(
    hub: &ApiHubEnvironment,
    scribe: &mut EventWriter,
    by: &str,
    said: &str,
) -> (EntryId, String) {
    scribe.now = hub.app.clock.now();
    scribe.by(by);
    let origin = if by.starts_with("human:") {
        Origin::Human
    } else {
        Origin::Agent
    };
    let (id, copy) = scribe.propose_with(EntryKind::Learning, said, |it| it.origin = origin);
    let event = copy.event.id.to_string();
    let told = hub.push(&hub.acme, &hub.acme.admin, &[copy]);
    assert!(told.text().contains("admitted"), "{}", told.text());
    (id, event)
}

fn call(hub: &ApiHubEnvironment, token: &str, path: &str, body: &Value) -> ApiResponse {
    let path = format!("/v1/workspaces/shop/{path}");
    hub.post(&path, token, &body.to_string())
}

fn entry(hub: &ApiHubEnvironment, id: EntryId) -> Value {
    let path = format!("/v1/workspaces/shop/entries/{id}");
    hub.get(&path, &hub.acme.curator).json()
}

fn search(hub: &ApiHubEnvironment, token: &str, query: &str) -> Value {
    let body = json!({"query": query, "entries": true});
    let told = call(hub, token, "search", &body);
    assert_eq!(told.status, 200, "{}", told.text());
    told.json()
}

fn hit_ids(told: &Value) -> Vec<String> {
    let results = told["results"].as_array().expect("results").iter();
    let id = |it: &Value| it["id"].as_str().expect("an id").to_owned();
    results.map(id).collect()
}

#[test]
fn a_person_confirms_cites_edits_and_retracts_over_rest_and_clones_see_it() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(1);
    let (id, _) = add(&hub, &mut scribe, "agent:other", RETRY);
    let member = &hub.acme.member;
    let told = call(&hub, member, &format!("entries/{id}/confirm"), &json!({}));
    assert_eq!(told.status, 200, "{}", told.text());
    assert_eq!(told.json()["verdict"], "admitted");
    let cites = json!({"cites": ["commit:4f2a9c1", "pr:7"]});
    let told = call(&hub, member, &format!("entries/{id}/cite"), &cites);
    assert_eq!(told.json()["events"].as_array().map(Vec::len), Some(2));
    let edit = json!({"tags": ["payments"], "verify": ["make retry"], "note": "measured"});
    let told = call(&hub, member, &format!("entries/{id}/edit"), &edit);
    assert_eq!(told.status, 200, "{}", told.text());
    let now = entry(&hub, id);
    assert_eq!(now["content"]["tags"], json!(["payments"]), "{now}");
    assert_eq!(now["content"]["verify"], json!(["make retry"]), "{now}");
    assert_eq!(now["citations"].as_array().map(Vec::len), Some(2), "{now}");
    // Nothing would change, as the command says.
    let again = call(&hub, member, &format!("entries/{id}/edit"), &edit);
    assert_eq!(again.problem("refused")["detail"], "nothing would change");
    let untag = json!({"untag": ["payments"], "verify": []});
    let told = call(&hub, member, &format!("entries/{id}/edit"), &untag);
    assert_eq!(told.status, 200, "{}", told.text());
    let because = json!({"reason": "false", "note": "Measured again"});
    let told = call(&hub, member, &format!("entries/{id}/retract"), &because);
    assert_eq!(told.status, 200, "{}", told.text());
    let pulled = hub.get("/v1/workspaces/shop/events", &hub.acme.reader);
    let pulled = pulled.text();
    for name in [
        "entry.confirmed",
        "entry.cited",
        "entry.revised",
        "entry.retracted",
    ] {
        assert!(pulled.contains(name), "{name}: {pulled}");
    }
    let history = format!("/v1/workspaces/shop/entries/{id}/history");
    let history = hub.get(&history, &hub.acme.curator).json();
    let last = history["items"].as_array().and_then(|it| it.last());
    let last = last.expect("events");
    assert_eq!(last["by"], "human:mel@example.org", "{last}");
    assert_eq!(last["pushed_by"], "human:mel@example.org", "{last}");
    let audit = hub.get(
        "/v1/workspaces/shop/audit?act=events.recorded",
        &hub.acme.admin,
    );
    let audit = audit.json();
    let by = |it: &Value| it["by"] == "human:mel@example.org" && it["entries"][0] == id.to_string();
    let records = audit["items"].as_array().expect("records");
    assert_eq!(records.iter().filter(|it| by(it)).count(), 5, "{audit}");
}

#[test]
fn an_agents_edit_of_what_a_person_wrote_waits_over_rest_and_mcp() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(2);
    let (id, _) = add(&hub, &mut scribe, "human:ada@example.org", RETRY);
    let edit = json!({"verify": ["make restore-drill-fast"]});
    let told = call(&hub, &hub.acme.agent, &format!("entries/{id}/edit"), &edit);
    assert_eq!(told.status, 202, "{}", told.text());
    assert_eq!(told.json()["verdict"], "quarantined");
    let mut edit = edit;
    edit["id"] = json!(id.to_string());
    // Whoever speaks MCP is an agent, with the token of the author, too.
    for token in [&hub.acme.agent, &hub.acme.admin] {
        let told = call_tool(&hub, token, "ken_edit", &edit);
        assert_eq!(told["isError"], false, "{told}");
        let text = told["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains("waits for a person"), "{text}");
    }
    assert_eq!(entry(&hub, id)["content"]["verify"], Value::Null);
    let waiting = hub.get("/v1/workspaces/shop/quarantined-events", &hub.acme.curator);
    assert_eq!(waiting.json()["items"].as_array().map(Vec::len), Some(3));
    // A released edit counts, and the entry's origin is the agent's.
    let event = told.json()["events"][0]["id"].clone();
    let event = event.as_str().expect("an id");
    let release = format!("quarantined-events/{event}/release");
    let told = call(&hub, &hub.acme.curator, &release, &json!({}));
    assert!(told.status < 300, "{}", told.text());
    let now = entry(&hub, id);
    assert_eq!(now["content"]["verify"][0], edit["verify"][0], "{now}");
}

#[test]
fn a_secret_in_an_edit_is_stored_nowhere() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(3);
    let (id, _) = add(&hub, &mut scribe, "agent:tester", RETRY);
    let secret = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    let edit = json!({"statement": format!("Use the token {secret} for the gateway")});
    let told = call(&hub, &hub.acme.agent, &format!("entries/{id}/edit"), &edit);
    told.problem("refused");
    assert!(!told.text().contains(&secret));
    assert_eq!(hub.tables_holding(&secret), Vec::<String>::new());
}

#[test]
fn a_redaction_reaches_every_table_and_needs_the_right_person() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(4);
    let said = "The canary zebrafinch sings in the refund worker every night";
    let (_, event) = add(&hub, &mut scribe, "agent:other", said);
    assert!(!hub.tables_holding("zebrafinch").is_empty());
    let path = format!("events/{event}/redact");
    let because = json!({"reason": "personal"});
    for token in [&hub.acme.reader, &hub.acme.agent, &hub.acme.member] {
        call(&hub, token, &path, &because).problem("forbidden");
    }
    let told = call(&hub, &hub.acme.curator, &path, &because);
    assert_eq!(told.status, 200, "{}", told.text());
    assert_eq!(hub.tables_holding("zebrafinch"), Vec::<String>::new());
    let again = call(&hub, &hub.acme.curator, &path, &because);
    assert!(
        again.problem("refused")["detail"]
            .as_str()
            .is_some_and(|it| it.contains("already"))
    );
    let missing = "events/01JCPQ3W6M7Y2K8T4D5F6G7H8J/redact";
    call(&hub, &hub.acme.curator, missing, &because).problem("not-found");
}

fn second_workspace(hub: &ApiHubEnvironment, name: &str) -> TenantFixture {
    let body = json!({"name": name}).to_string();
    let made = hub.post("/v1/workspaces", &hub.acme.admin, &body);
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.json()["id"].as_str().expect("an id").parse();
    TenantFixture {
        name: name.to_owned(),
        workspace: WorkspaceId(id.expect("a uuid")),
        ..hub.acme.clone()
    }
}

#[test]
fn one_request_revokes_an_author_in_every_workspace_of_the_organization() {
    let hub = ApiHubEnvironment::start();
    let second = second_workspace(&hub, "second");
    let mut scribe = EventWriter::new(5);
    scribe.now = hub.app.clock.now();
    scribe.by("agent:scraper");
    let (_, copy) = scribe.propose_with(EntryKind::Learning, RETRY, |it| it.origin = Origin::Agent);
    for tenant in [&hub.acme, &second, &hub.other] {
        let told = hub.push(tenant, &tenant.admin, std::slice::from_ref(&copy));
        assert!(told.text().contains("admitted"), "{}", told.text());
    }
    let shown = |tenant: &TenantFixture| {
        let path = format!("/v1/workspaces/{}/search", tenant.name);
        let body = json!({"query": "retry a failed card payment"}).to_string();
        hit_ids(&hub.post(&path, &tenant.reader, &body).json()).len()
    };
    assert_eq!([&hub.acme, &second, &hub.other].map(shown), [1, 1, 1]);
    let body = json!({"author": "agent:scraper"}).to_string();
    for token in [&hub.acme.reader, &hub.acme.agent, &hub.acme.member] {
        hub.post("/v1/revoke", token, &body).problem("forbidden");
    }
    let program = hub.token_of(Role::Admin, "ci:main");
    hub.post("/v1/revoke", &program, &body).problem("forbidden");
    let told = hub.post("/v1/revoke", &hub.acme.curator, &body);
    assert_eq!(told.status, 200, "{}", told.text());
    let expected = json!([{"workspace": "second", "outcome": "changed"},
        {"workspace": "shop", "outcome": "changed"}]);
    assert_eq!(told.json()["workspaces"], expected);
    // Another organization is not touched.
    assert_eq!([&hub.acme, &second, &hub.other].map(shown), [0, 0, 1]);
    let again = hub.post("/v1/revoke", &hub.acme.curator, &body).json();
    assert_eq!(again["workspaces"][0]["outcome"], "unchanged", "{again}");
    // A restricted token reaches its workspaces only.
    let workspaces = Some(vec![second.workspace]);
    let made = create_token(
        &hub.app,
        hub.acme.organization,
        Role::Curator,
        workspaces,
        None,
    );
    let (_, narrow) = hub.runtime.block_on(made);
    let undo = json!({"author": "agent:scraper", "undo": true}).to_string();
    let told = hub.post("/v1/revoke", narrow.reveal(), &undo).json();
    let expected = json!([{"workspace": "second", "outcome": "changed"}]);
    assert_eq!(told["workspaces"], expected, "{told}");
    assert_eq!([&hub.acme, &second].map(shown), [0, 1]);
    // And in one workspace.
    let told = call(
        &hub,
        &hub.acme.curator,
        "revoke",
        &json!({"author": "agent:scraper", "undo": true}),
    );
    assert_eq!(told.status, 200, "{}", told.text());
    assert_eq!(shown(&hub.acme), 1);
    for wrong in [json!({}), json!({"author": "agent:x", "origin": "web"})] {
        call(&hub, &hub.acme.curator, "revoke", &wrong).problem("invalid");
    }
}

#[test]
fn pins_and_mutes_change_what_one_person_sees() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(6);
    let (id, _) = add(&hub, &mut scribe, "agent:other", RETRY);
    let query = "retry a failed card payment";
    let mute = format!("entries/{id}/mute");
    let told = call(&hub, &hub.acme.member, &mute, &json!({}));
    assert_eq!(told.status, 200, "{}", told.text());
    assert_eq!(told.json()["set"], true);
    assert_eq!(hit_ids(&search(&hub, &hub.acme.member, query)).len(), 0);
    for other in [&hub.acme.reader, &hub.acme.curator] {
        assert_eq!(hit_ids(&search(&hub, other, query)).len(), 1);
    }
    // Clients of the person see it as the person does.
    let asked = json!({"query": query});
    let told = call_tool(&hub, &hub.acme.member, "ken_search", &asked);
    let text = told["content"][0]["text"].as_str().expect("a text");
    assert!(!text.contains("Retry a failed"), "{text}");
    let again = call(&hub, &hub.acme.member, &mute, &json!({}));
    again.problem("refused");
    let told = call(&hub, &hub.acme.member, &mute, &json!({"off": true}));
    assert_eq!(told.json()["set"], false);
    assert_eq!(hit_ids(&search(&hub, &hub.acme.member, query)).len(), 1);
    let pin = format!("entries/{id}/pin");
    let score = |token: &str| search(&hub, token, query)["results"][0]["score"].clone();
    let before = score(&hub.acme.member).as_f64().expect("a score");
    let reader = hub.token_of(Role::Reader, "human:mel@example.org");
    assert_eq!(call(&hub, &reader, &pin, &json!({})).status, 200);
    let after = score(&hub.acme.member).as_f64().expect("a score");
    assert!(after > before, "{before} {after}");
    let of_others = score(&hub.acme.curator).as_f64().expect("a score");
    assert!(of_others < after, "{of_others} {after}");
    // It is no event: clones do not see it.
    let pulled = hub.get("/v1/workspaces/shop/events", &hub.acme.reader);
    assert!(!pulled.text().contains("overlay.set"));
    // A token that a team may share has no overlays.
    for token in [&hub.acme.reader, &hub.acme.agent] {
        call(&hub, token, &pin, &json!({})).problem("forbidden");
    }
}

#[test]
fn a_contradiction_is_resolved_over_rest() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(7);
    let (one, _) = add(&hub, &mut scribe, "agent:other", RETRY);
    let never = "Never retry a failed card payment in the checkout of the shop";
    let (other, _) = add(&hub, &mut scribe, "agent:other", never);
    let flag = ContradictionFlagged {
        first: one.min(other),
        second: one.max(other),
        why: "they disagree".parse().expect("a note"),
    };
    let about = vec![one.into(), other.into()];
    let flagged = scribe.write(about, EventBody::ContradictionFlagged(flag));
    hub.push(&hub.acme, &hub.acme.admin, &[flagged]);
    assert_eq!(entry(&hub, one)["conflicts"], json!([other.to_string()]));
    let pair = json!({"one": one.to_string(), "other": other.to_string()});
    let member = &hub.acme.member;
    call(&hub, member, "resolve", &pair).problem("invalid");
    let mut keep = pair.clone();
    keep["keep"] = json!("L-00000000");
    call(&hub, member, "resolve", &keep).problem("invalid");
    keep["keep"] = pair["one"].clone();
    call(&hub, &hub.acme.agent, "resolve", &keep).problem("forbidden");
    let told = call(&hub, member, "resolve", &keep);
    assert_eq!(told.status, 200, "{}", told.text());
    assert_eq!(entry(&hub, one)["conflicts"], Value::Null);
    assert_eq!(entry(&hub, other)["superseded_by"], one.to_string());
    call(&hub, member, "resolve", &keep).problem("refused");
}

#[test]
fn one_search_finds_the_best_of_all_workspaces_and_names_them() {
    let hub = ApiHubEnvironment::start();
    let second = second_workspace(&hub, "second");
    let mut scribe = EventWriter::new(8);
    let (best, _) = add(&hub, &mut scribe, "agent:other", RETRY);
    // The large workspace has many weak matches; the small one has the answer, and the other way
    // round: the same text scores the same wherever it stands.
    for n in 0..30 {
        let said = format!("Invoice number {n} of the archive is printed on gray paper");
        add(&hub, &mut scribe, "agent:other", &said);
    }
    scribe.by("agent:other");
    let copies = [
        "Retry a failed card payment with a new key",
        "Paper invoices are gray",
    ];
    let copies = copies.map(|said| {
        scribe
            .propose_with(EntryKind::Learning, said, |it| it.origin = Origin::Agent)
            .1
    });
    let told = hub.push(&second, &second.admin, &copies);
    assert_eq!(told.status, 200, "{}", told.text());
    let canary = "Retry a failed card payment only in the vault of globex";
    let foreign = scribe.propose(canary).1;
    hub.push(&hub.other, &hub.other.admin, &[foreign]);
    let ask = |token: &str, body: &Value| hub.post("/v1/search", token, &body.to_string());
    let question = json!({"query": "retry a failed card payment", "limit": 10});
    let told = ask(&hub.acme.reader, &question);
    assert_eq!(told.status, 200, "{}", told.text());
    assert!(!told.text().contains("globex"), "{}", told.text());
    let told = told.json();
    let results = told["results"].as_array().expect("results");
    let places: Vec<&str> = results
        .iter()
        .filter_map(|it| it["workspace"].as_str())
        .collect();
    assert!(
        places.contains(&"shop") && places.contains(&"second"),
        "{told}"
    );
    assert_eq!(places.len(), results.len(), "{told}");
    assert_eq!(told["searched"].as_array().map(Vec::len), Some(2), "{told}");
    let scores: Vec<f64> = results
        .iter()
        .filter_map(|it| it["score"].as_f64())
        .collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(hit_ids(&told).contains(&best.to_string()));
    // An entry that two workspaces have counts once.
    let both = scribe
        .propose("Card payments settle on the second working day")
        .1;
    for tenant in [&hub.acme, &second] {
        hub.push(tenant, &tenant.admin, std::slice::from_ref(&both));
    }
    let settle = json!({"query": "when do card payments settle"});
    let told = ask(&hub.acme.reader, &settle).json();
    let ids = hit_ids(&told);
    let id = both.event.entries().next().expect("an entry").to_string();
    assert_eq!(ids.iter().filter(|it| **it == id).count(), 1, "{told}");
    check_named_workspaces(&hub, second.workspace, &question);
    // Over MCP, with the workspace of each hit.
    let asked = json!({"query": "retry a failed card payment", "all_workspaces": true});
    let told = call_tool(&hub, &hub.acme.agent, "ken_search", &asked);
    let text = told["content"][0]["text"].as_str().expect("a text");
    assert!(
        text.contains("new key") && text.contains("] second"),
        "{text}"
    );
    // What an agent was shown there is recorded there: it can rate the entry.
    let rated = hit_ids(&ask(&hub.acme.agent, &named_in(&question, "second")).json());
    let path = format!("/v1/workspaces/second/entries/{}/feedback", rated[0]);
    let told = hub.post(&path, &hub.acme.agent, r#"{"helpful":true}"#);
    assert_eq!(told.status, 200, "{}", told.text());
}

/// Checks searches in named workspaces, and those with a token of the workspace `second`.
fn check_named_workspaces(hub: &ApiHubEnvironment, second: WorkspaceId, question: &Value) {
    let ask = |token: &str, body: &Value| hub.post("/v1/search", token, &body.to_string());
    let mut named = question.clone();
    named["workspaces"] = json!(["second"]);
    let told = ask(&hub.acme.reader, &named).json();
    assert_eq!(told["searched"], json!(["second"]), "{told}");
    named["workspaces"] = json!(["vault"]);
    let foreign = ask(&hub.acme.reader, &named);
    named["workspaces"] = json!(["nowhere"]);
    assert_eq!(ask(&hub.acme.reader, &named).body, foreign.body);
    foreign.problem("not-found");
    let workspaces = Some(vec![second]);
    let made = create_token(
        &hub.app,
        hub.acme.organization,
        Role::Reader,
        workspaces,
        None,
    );
    let (_, narrow) = hub.runtime.block_on(made);
    let told = ask(narrow.reveal(), question).json();
    assert_eq!(told["searched"], json!(["second"]), "{told}");
    named["workspaces"] = json!(["shop"]);
    ask(narrow.reveal(), &named).problem("not-found");
}

fn named_in(question: &Value, workspace: &str) -> Value {
    let mut question = question.clone();
    question["workspaces"] = json!([workspace]);
    question
}

#[test]
fn the_same_claim_scores_the_same_in_a_small_and_in_a_large_workspace() {
    let hub = ApiHubEnvironment::start();
    let small = second_workspace(&hub, "small");
    let mut scribe = EventWriter::new(9);
    scribe.now = hub.app.clock.now();
    scribe.by("agent:other");
    let mut propose = |said: &str| {
        let made = scribe.propose_with(EntryKind::Learning, said, |it| it.origin = Origin::Agent);
        made.1
    };
    let weak = propose("A card is blue");
    hub.push(&small, &small.admin, &[weak]);
    let mut copies = vec![propose(RETRY)];
    copies.extend((0..20).map(|n| propose(&format!("Retry a failed card payment of series {n}"))));
    hub.push(&hub.acme, &hub.acme.admin, &copies);
    // Alone in its workspace, "A card is blue" is the best match there. It must not win here.
    let body = json!({"query": "retry a failed card payment because the gateway answers twice",
        "floor": "none", "limit": 20});
    let told = hub
        .post("/v1/search", &hub.acme.reader, &body.to_string())
        .json();
    let results = told["results"].as_array().expect("results");
    assert_eq!(results[0]["workspace"], "shop", "{told}");
    let weak = results.iter().position(|it| it["workspace"] == "small");
    assert!(weak.is_none_or(|at| at > 5), "{told}");
}

#[test]
fn a_confirmation_of_an_agent_counts_nowhere() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(10);
    let (id, _) = add(&hub, &mut scribe, "agent:other", RETRY);
    let confirm = format!("entries/{id}/confirm");
    call(&hub, &hub.acme.agent, &confirm, &json!({})).problem("forbidden");
    scribe.by("agent:tester");
    let body = EventBody::Confirmed(Confirmed {
        provenance: Provenance::Manual,
        on: "2026-01-02".parse().expect("a date"),
        run: None,
        withdraws: Vec::new(),
    });
    let pushed = scribe.about(id, body);
    hub.push(&hub.acme, &hub.acme.agent, &[pushed])
        .problem("refused");
}

/// Asserts that a value has the type of its schema, member by member.
#[track_caller]
fn check_schema(document: &Value, schema: &Value, value: &Value, at: &str) {
    // Of alternatives, null is one and the other is checked.
    let any = schema["anyOf"].as_array();
    if any.is_some() && value.is_null() {
        return;
    }
    let schema = any.map_or(schema, |any| &any[0]);
    let named = schema["$ref"].as_str().and_then(|it| it.rsplit('/').next());
    let schema = named.map_or(schema, |name| &document["components"]["schemas"][name]);
    assert!(schema.is_object(), "{at} has no schema");
    let types = schema["type"].as_array().cloned();
    let types = types.unwrap_or_else(|| vec![schema["type"].clone()]);
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(it) if it.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = |it: &Value| it == found || (it == "number" && found == "integer");
    assert!(
        types.iter().any(fits),
        "{at} is {found}, not {types:?}: {value}"
    );
    if let Some(words) = schema["enum"].as_array() {
        assert!(words.contains(value), "{at}: {value}");
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        let name = required.as_str().expect("a name");
        assert!(value.get(name).is_some(), "{at} lacks {name}: {value}");
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(value) = value.get(name) {
            check_schema(document, schema, value, &format!("{at}.{name}"));
        }
    }
    for value in value.as_array().into_iter().flatten() {
        check_schema(document, &schema["items"], value, &format!("{at}[]"));
    }
}

#[test]
fn entries_events_and_hits_are_as_the_document_says() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(11);
    let (id, _) = add(&hub, &mut scribe, "human:ada@example.org", RETRY);
    let edit = json!({"tags": ["payments"], "verify": ["make retry"], "anchors": ["src/pay.rs"]});
    call(&hub, &hub.acme.member, &format!("entries/{id}/edit"), &edit);
    let document = hub.send("GET", "/v1/openapi.json", &[], None).json();
    let schema = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    check_schema(&document, &schema("Entry"), &entry(&hub, id), "entry");
    let history = format!("/v1/workspaces/shop/entries/{id}/history");
    let history = hub.get(&history, &hub.acme.reader).json();
    let events = history["items"].as_array().expect("events");
    assert_eq!(events.len(), 2, "{history}");
    for event in events {
        check_schema(&document, &schema("Event"), event, "event");
    }
    let query = "retry a failed card payment";
    let found = search(&hub, &hub.acme.reader, query);
    assert_eq!(hit_ids(&found).len(), 1, "{found}");
    check_schema(&document, &schema("SearchResponse"), &found, "search");
    let body = json!({"query": query}).to_string();
    let found = hub.post("/v1/search", &hub.acme.reader, &body).json();
    assert_eq!(hit_ids(&found).len(), 1, "{found}");
    check_schema(&document, &schema("EverywhereResponse"), &found, "search");
    // Words of the domain are enums.
    for (schema, member) in [("SearchBody", "status"), ("AddEntryBody", "kind")] {
        let words = &document["components"]["schemas"][schema]["properties"][member]["enum"];
        assert!(
            words.as_array().is_some_and(|it| it.len() > 2),
            "{schema} {member}"
        );
    }
}
