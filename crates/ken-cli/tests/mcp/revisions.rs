//! Every tool, resource and prompt, and every refusal, in both protocol revisions.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::mcp::client::McpTestClient;
use crate::mcp::{McpTestEnvironment, STATEMENT, test_environment};

/// Calls every tool.
fn call_every_tool(shop: &McpTestEnvironment, client: &mut McpTestClient) {
    let McpTestEnvironment { env, lesson, norm } = shop;
    let found = client.said("ken_search", json!({"query": "split a refused charge"}));
    assert!(
        found.contains(&format!("[{lesson}] learning, candidate")),
        "{found}"
    );
    assert!(found.contains("Open one with ken_show"), "{found}");
    let nothing = client.said(
        "ken_search",
        json!({"query": "kubernetes ingress certificates"}),
    );
    assert!(
        nothing.contains("checked knowledge base, no relevant entries found"),
        "{nothing}"
    );

    let all = client.said("ken_show", json!({"id": lesson, "history": true}));
    for told in [
        format!("[{lesson}] learning, candidate, confidence 0.50, valid, from human: {STATEMENT}"),
        "  at: src/pay.rs#Ledger::charge\n".to_owned(),
        "  cites: pr:142 (human:ada@example.org, 2026-01-02)\n".to_owned(),
        "  history: 2026-01-02 human:ada@example.org proposed: A charge".to_owned(),
    ] {
        assert!(all.contains(&told), "{told}\n{all}");
    }
    let read = client.read(&format!("ken://entry/{lesson}"));
    assert!(read.contains("  cites: pr:142"), "{read}");
    assert!(!read.contains("  history: "), "{read}");

    let statement = "A refund empties the ledger before anybody locks it.";
    let record = json!({"statement": statement, "kind": "bug", "anchors": ["src/pay.rs"], "cites": ["test:refund_twice"], "tags": ["pay"]});
    let recorded = client.said("ken_add", record.clone());
    assert!(recorded.starts_with("recorded as [L-"), "{recorded}");
    assert_eq!(
        client.said("ken_add", record),
        recorded,
        "asked again, it answers the same"
    );
    let listed = env
        .run(["list", "--kind", "bug", "--format", "json"])
        .success();
    assert_eq!(listed.stdout.lines().count(), 1, "{listed}");

    let thanks = client.said("ken_feedback", json!({"id": lesson, "helpful": true}));
    assert!(
        thanks.starts_with(&format!("noted for [{lesson}]")),
        "{thanks}"
    );

    let checked = client.said("ken_check", json!({"paths": ["src/pay.rs"]}));
    assert!(
        checked.contains(&format!("[{norm}] commit-norm")),
        "{checked}"
    );
    assert!(
        checked.contains(&format!("[{lesson}] learning")),
        "{checked}"
    );
    read_resources_and_prompts(shop, client);
}

fn read_resources_and_prompts(
    McpTestEnvironment { env, lesson, norm }: &McpTestEnvironment,
    client: &mut McpTestClient,
) {
    let index = client.read("ken://index");
    assert!(
        index.contains(&format!("[{lesson}] learning, candidate: A charge")),
        "{index}"
    );
    env.write("src/new.rs", "fn new() {}\n");
    env.write("src/pay.rs", &format!("{}\n", env.read("src/pay.rs")));
    let (_, named) = index
        .split_once("## Entries of workspace p-")
        .expect("the project's id");
    let id = named.lines().next().expect("a line");
    let by_id = format!("ken://briefing/p-{id}");
    for uri in ["ken://briefing", "ken://briefing/root", &by_id] {
        let briefing = client.read(uri);
        assert!(briefing.contains(&format!("[{norm}]")), "{uri}: {briefing}");
        assert!(
            briefing.contains("## Knowledge Applied"),
            "{uri}: {briefing}"
        );
    }
    let research = client.prompt("research", json!({"task": "Pay in parts"}));
    assert!(research.contains("call `ken_search`") && research.contains("Pay in parts"));
    assert!(research.contains("\nSpikes avoided: N (IDs)"), "{research}");
    let review = client.prompt("review", json!({"task": "Look at charges"}));
    assert!(review.contains(&format!("[{norm}]")), "{review}");
    assert!(review.contains(&format!("[{lesson}]")), "{review}");
    assert!(
        review.contains("Cite entries as [ID] in your findings"),
        "{review}"
    );
    for prompt in [&research, &review] {
        for line in [
            "\n## Knowledge Applied\n- [ID]: the entry in your words",
            "\n- [ID] not followed: reason (only if it contradicts your approach)\n",
        ] {
            assert!(prompt.contains(line), "{line}: {prompt}");
        }
    }
    let capture = client.prompt("capture", json!({"task": "Charges are split"}));
    assert!(capture.contains("call `ken_add` once"), "{capture}");
    assert!(capture.ends_with(ken_core::retrieval::surface::KNOWLEDGE_APPLIED));
}

#[test]
fn the_older_revision_has_every_tool_resource_and_prompt() {
    let shop = test_environment();
    let mut client = McpTestClient::older(&shop.env, "claude-code");
    call_every_tool(&shop, &mut client);
    let answer = client.ask("resources/read", json!({"uri": "ken://briefing/elsewhere"}));
    assert_eq!(answer["error"]["code"], -32002);
    let ended = client.end();
    assert_eq!((ended.exit, ended.stderr.as_str()), (Some(0), ""));
}

#[test]
fn the_newer_revision_has_every_tool_resource_and_prompt() {
    let shop = test_environment();
    let mut client = McpTestClient::newer(&shop.env, "claude-code");
    let found = client.ask("server/discover", json!({}));
    let result = &found["result"];
    assert!(
        result["supportedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!("2026-07-28"))
    );
    assert!(
        result["instructions"]
            .as_str()
            .unwrap()
            .contains("ken_search")
    );
    for words in [
        "ken_search with your goal, technology and problem in your own words",
        "A search returns one line per entry; decide which matter",
    ] {
        let told = result["instructions"].as_str().unwrap();
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "ken"
    );
    assert_eq!(result["ttlMs"], 3_600_000);
    call_every_tool(&shop, &mut client);
    for uri in [
        "ken://briefing/elsewhere",
        "ken://entry/L-zzzzzzzz",
        "ken://entry/../x",
    ] {
        let answer = client.ask("resources/read", json!({"uri": uri}));
        assert_eq!(answer["error"]["code"], -32602, "{uri}: {answer}");
    }
    let ended = client.end();
    assert_eq!((ended.exit, ended.stderr.as_str()), (Some(0), ""));
}

#[test]
fn tools_are_listed_as_they_are() {
    let shop = test_environment();
    let mut client = McpTestClient::older(&shop.env, "claude-code");
    let listed = client.ask("tools/list", json!({}));
    let mut told = String::new();
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let word = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
        let _ = writeln!(
            told,
            "{}: {}. {}",
            word("name"),
            word("title"),
            word("description")
        );
        let required = &tool["inputSchema"]["required"];
        for (name, property) in tool["inputSchema"]["properties"].as_object().unwrap() {
            let must = required
                .as_array()
                .is_some_and(|it| it.contains(&json!(name)));
            let mark = if must { "!" } else { "" };
            let says = property["description"].as_str().unwrap_or_default();
            let kind = property["type"].as_str().unwrap_or_default();
            let _ = writeln!(told, "  {name}{mark} {kind} {says}");
        }
    }
    assert_eq!(
        told.lines()
            .map(str::trim_end)
            .collect::<Vec<_>>()
            .join("\n"),
        EXPECTED_TOOLS.trim()
    );
    let _ = client.end();
}

const EXPECTED_TOOLS: &str = "
ken_search: Search project knowledge. Find lessons, decisions, norms and pitfalls of this repository, checked against its code. Use before editing unfamiliar code and after an unexpected failure.
  detail string concise: one line per entry
  format string
  include_stale boolean Include entries whose code changed
  kinds array Only these kinds, such as bug, decision, incident, spike
  limit integer
  paths array Repository paths of the task
  query! string Goal, technology and problem in your words, or an error
  tags array Only these tags and tags below them
ken_show: Show one entry. Show an entry in full.
  format string
  history boolean Include its events
  id! string L-7k2f5qm3, or ken://entry/L-7k2f5qm3
ken_add: Record a finding. Record one durable finding about this project, with its sources.
  anchors array Code it is about: path#symbol, path:10-20 or path
  cites! array Sources that support it: commit:HASH, pr:NUMBER, doc:PATH, test:NAME, transcript:HASH
  format string
  kind string technique, pattern, anti-pattern, decision, convention, learning, bug, incident, false-positive
  statement! string One to three sentences, without secrets; further ones become the body
  supersedes array Ids it replaces
  tags array
  verify array Steps that verify it
ken_feedback: Rate an entry. Report whether an entry you were shown helped.
  format string
  helpful! boolean
  id! string
ken_check: Check a change. List norms and entries that apply to these paths or to the change since base (default: uncommitted work), and entries it would invalidate.
  base string Revision at which the change starts
  format string
  paths array
";

#[test]
fn a_search_is_narrowed_by_kinds_and_tags() {
    let shop = test_environment();
    let mut client = McpTestClient::older(&shop.env, "codex-mcp-client");
    let mut ids = |more: Value| -> Vec<String> {
        let mut ask = json!({"query": "split a refused charge", "format": "json"});
        ask.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let result = client.call("ken_search", ask);
        assert_eq!(result["content"], json!([]), "never both");
        assert_eq!(result["structuredContent"]["schema"], "ken.search.v1");
        let results = result["structuredContent"]["results"].as_array().unwrap();
        results
            .iter()
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let lesson = vec![shop.lesson];
    assert_eq!(ids(json!({"kinds": ["learning"]})), lesson);
    assert_eq!(ids(json!({"kinds": ["bug", "learning"]})), lesson);
    assert_eq!(
        ids(json!({"kinds": ["bug", "decision"]})),
        Vec::<String>::new()
    );
    assert_eq!(ids(json!({"tags": ["auth", "pay"]})), lesson);
    assert_eq!(ids(json!({"tags": ["auth"]})), Vec::<String>::new());
    assert_eq!(ids(json!({"query": "zebra"})), Vec::<String>::new());
    let about = ids(json!({"query": "zebra", "paths": ["src/pay.rs"]}));
    assert!(about.contains(&lesson[0]), "{about:?}");
    let wrong = client.refused("ken_search", json!({"query": "x", "kinds": ["lesson"]}));
    assert!(
        wrong.contains("`lesson` is not a valid kind; known: technique"),
        "{wrong}"
    );
    let _ = client.end();
}

#[test]
fn all_the_project_recorded_is_searched_however_old() {
    let shop = test_environment();
    shop.env.wait_days(900);
    let mut client = McpTestClient::older(&shop.env, "claude-code");
    let found = client.said("ken_search", json!({"query": "split a refused charge"}));
    assert!(found.contains(&shop.lesson), "{found}");
    let _ = client.end();
}

#[test]
fn lines_come_first_and_all_of_one_on_request() {
    let shop = test_environment();
    let mut client = McpTestClient::older(&shop.env, "cursor-vscode");
    let line = client.said("ken_search", json!({"query": "split a refused charge"}));
    assert!(!line.contains("  at: "), "{line}");
    let one = client.said("ken_show", json!({"id": shop.lesson}));
    assert!(one.contains("src/pay.rs#Ledger::charge"), "{one}");
    let full = client.said(
        "ken_search",
        json!({"query": "split a refused charge", "detail": "full"}),
    );
    assert!(full.contains("  at: src/pay.rs#Ledger::charge"), "{full}");
    let _ = client.end();
}

#[test]
fn a_change_is_told_what_it_invalidates() {
    let shop = test_environment();
    let code = shop.env.read("src/pay.rs");
    let mut client = McpTestClient::older(&shop.env, "zed");
    let clean = client.said("ken_check", json!({}));
    assert!(!clean.contains(&shop.lesson), "{clean}");
    let changed = code.replace("fn charge(&mut self", "fn charge(&mut self, twice: bool");
    assert_ne!(changed, code);
    shop.env.write("src/pay.rs", &changed);
    for ask in [
        json!({}),
        json!({"base": "HEAD"}),
        json!({"base": "main", "paths": ["src"]}),
    ] {
        let told = client.said("ken_check", ask.clone());
        assert!(told.contains("the change invalidates:"), "{ask}: {told}");
        assert!(
            told.contains(&format!("[{}] A charge", shop.lesson)),
            "{ask}: {told}"
        );
        assert!(
            told.contains("src/pay.rs#Ledger::charge changed"),
            "{ask}: {told}"
        );
        assert!(told.contains(&format!("[{}]", shop.norm)), "{ask}: {told}");
    }
    let object = client.call("ken_check", json!({"format": "json"}));
    let object = &object["structuredContent"];
    assert_eq!(object["schema"], "ken.applies.v1");
    assert_eq!(object["invalid"][0]["id"], shop.lesson);
    let gone = client.said("ken_search", json!({"query": "split a refused charge"}));
    assert!(
        gone.contains("1 entry withheld because the code changed"),
        "{gone}"
    );
    let stale = json!({"query": "split a refused charge", "include_stale": true});
    assert!(client.said("ken_search", stale).contains(&shop.lesson));
    for base in ["nowhere", "--output=/tmp/x", "a\u{0}b"] {
        let _ = client.refused("ken_check", json!({"base": base}));
    }
    let _ = client.end();
}

#[test]
fn what_cannot_be_recorded_says_what_to_change() {
    let shop = test_environment();
    let mut client = McpTestClient::older(&shop.env, "opencode");
    let sound = "Tests of payments need the clock to stand still.";
    for (ask, said) in [
        (
            json!({"statement": sound, "cites": []}),
            "next: give `cites`",
        ),
        (
            json!({"statement": sound, "cites": ["pr:1"], "kind": "lesson"}),
            "is not a valid kind",
        ),
        (
            json!({"statement": sound, "cites": ["pr:1"], "anchors": ["src/pay.rs#nothing"]}),
            "src/pay.rs#nothing",
        ),
        (
            json!({"statement": "", "cites": ["pr:1"]}),
            "statement is empty",
        ),
        (
            json!({"statement": "x ".repeat(15_000), "cites": ["pr:1"]}),
            "statement",
        ),
    ] {
        let told = client.refused("ken_add", ask.clone());
        assert!(told.contains(said), "{ask}: {told}");
    }
    let long = "Drain it. Stop it. Close it. Zebras are lost otherwise.";
    let long = client.said("ken_add", json!({"statement": long, "cites": ["pr:1"]}));
    assert!(long.contains("recorded as"), "{long}");
    let again = json!({"statement": "Zebras: drain it, stop it, close it.", "cites": ["pr:2"]});
    let again = client.said("ken_add", again);
    assert!(
        again.contains("recorded as") || again.contains("noted"),
        "{again}"
    );
    let norm = json!({"statement": sound, "cites": ["pr:1"], "kind": "commit-norm"});
    let norm = client.said("ken_add", norm);
    assert!(
        norm.contains("quarantined until a person reviews it"),
        "{norm}"
    );
    let missing = client.refused("ken_show", json!({"id": "L-zzzzzzzz"}));
    assert!(
        missing.contains("next: `ken_search` finds entries and their ids"),
        "{missing}"
    );
    let ended = client.end();
    assert_eq!(ended.stderr, "");
}

#[test]
fn without_a_ledger_the_agent_is_told_how_to_get_one() {
    let env = ken_testkit::test_env::TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
    let mut client = McpTestClient::older(&env, "claude-code");
    let told = client.refused("ken_search", json!({"query": "anything"}));
    assert_eq!(
        told,
        "this repository has no ledger\nnext: run `ken init` at the top of the repository"
    );
    assert_eq!(client.end().exit, Some(0));
}

#[test]
fn an_entity_is_shown_with_its_relationships() {
    let shop = test_environment();
    let add = |kind: &str, statement: &str, detail: &str| {
        let args = ["add", "--kind", kind, "--cite", "pr:1", "--detail", detail];
        let args = args.into_iter().chain(["--statement", statement]);
        shop.env.run(args).success().line()
    };
    let till = add("entity", "Takes the money", r#"{"name":"Till"}"#);
    let book = add("entity", "Keeps the receipts", r#"{"name":"Book"}"#);
    let detail = format!(r#"{{"from":"{till}","rel":"writes to","to":"{book}"}}"#);
    let id = add("relationship", "The till writes to the book", &detail);
    let mut client = McpTestClient::newer(&shop.env, "claude-code");
    for entity in [&till, &book] {
        let shown = client.said("ken_show", json!({"id": entity}));
        let related = format!("  related: {till} writes to {book} ({id})\n");
        assert!(shown.contains(&related), "{shown}");
    }
}
