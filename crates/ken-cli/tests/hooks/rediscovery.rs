//! Rediscovery from the command line: the setting, the phrase, and the gate of hooks and briefings.

use serde_json::json;

use crate::hooks::HookTestEnvironment;

/// A claim of an agent that nobody vouches for.
const DRAWER: &str = "The cash drawer opens only after the receipt printer has answered twice";
const PROMPT: &str = "Why does the cash drawer open only after the receipt printer answered?";
/// Sessions that are asked whether the entry is shown.
const SESSIONS: usize = 8;
const AGENTS: [&str; 3] = ["agent:a", "agent:b", "agent:c"];

/// Briefs three agents in a run; those in `finders` report the claim.
fn run(house: &HookTestEnvironment, name: &str, finders: &[&str]) {
    let open = ["run", "open", name, "--witness", "orchestrator"];
    let agents = AGENTS.iter().flat_map(|agent| ["--agent", agent]);
    let _ = house.env.run(open.into_iter().chain(agents)).success();
    for agent in AGENTS {
        let _ = house
            .env
            .run(["brief", PROMPT, "--by", agent, "--run", name])
            .success();
        let observe = ["run", "observe", "--by", agent, "--run", name];
        if finders.contains(&agent) {
            let _ = house
                .env
                .run(observe.into_iter().chain(["--statement", DRAWER]))
                .success();
        }
    }
    let close = ["run", "close", name, "--outcome", "succeeded"];
    let _ = house.env.run(close).success();
}

/// Returns whether the prompt hook shows the entry to a new session. It may be withheld from some,
/// so several are asked.
fn is_pushed(house: &HookTestEnvironment, session: &str, id: &str) -> bool {
    let root = house.env.root().display().to_string();
    (0..SESSIONS).any(|number| {
        let session = format!("{session}-{number}");
        let input = json!({ "session_id": session, "cwd": root, "prompt": PROMPT });
        let said = house.run_hook_with("claude-code", "prompt", &input.to_string());
        said.stdout.contains(id)
    })
}

fn set_mode(house: &HookTestEnvironment, mode: &str) {
    let _ = house
        .env
        .run(["run", "policy", "--rediscovery", mode])
        .success();
}

#[test]
fn the_gate_holds_back_what_nobody_finds_again_until_somebody_does() {
    let house = HookTestEnvironment::new();
    let add = ["add", "--by", "agent:author", "--kind", "learning"];
    let add = add.into_iter().chain(["--cite", "pr:9", "--statement"]);
    let id = house.env.run(add.chain([DRAWER])).success().line();
    assert!(is_pushed(&house, "before", &id));
    set_mode(&house, "gate");
    for number in 0..6 {
        run(&house, &format!("miss-{number}"), &[]);
    }
    let shown = house.env.run(["show", &id]).success().stdout;
    let phrase = "found independently 0 times in 6 chances";
    assert!(shown.contains(phrase), "{shown}");
    let json = house.env.run(["show", &id, "--format", "json"]);
    let evidence = json.success().json()["rediscovery"].clone();
    assert_eq!(evidence["chances"], 6);
    let belief = evidence["belief"].as_f64().expect("a number");
    assert!(belief < 0.4, "{belief}");
    let explained = house.env.run(["show", &id, "--explain"]).success().stdout;
    assert!(explained.contains("(ranks and gates)"), "{explained}");
    assert!(!is_pushed(&house, "gated", &id));
    let found = house.env.run(["search", PROMPT, "--explain"]).success();
    assert!(found.stdout.contains(&id), "who asks is answered: {found}");
    assert!(found.stdout.contains(phrase), "{found}");
    assert!(found.stdout.contains("rediscovery"), "{found}");
    // The setting alone decides: observing changes nothing.
    set_mode(&house, "observe");
    assert!(is_pushed(&house, "observed", &id));
    set_mode(&house, "gate");
    for number in 0..2 {
        run(&house, &format!("find-{number}"), &AGENTS);
    }
    assert!(is_pushed(&house, "found", &id));
    let shown = house.env.run(["show", &id]).success().stdout;
    assert!(
        shown.contains("found independently 2 times in 8"),
        "{shown}"
    );
}

#[test]
fn the_gate_leaves_decisions_and_words_of_people_alone() {
    let house = HookTestEnvironment::new();
    set_mode(&house, "gate");
    let by_person = &house.retry;
    let shown = house.env.run(["show", by_person, "--explain"]).success();
    assert!(shown.stdout.contains("belief"), "{shown}");
    let said = house.hook("claude-code", "prompt", "prompt").stdout;
    assert!(said.contains(by_person), "{said}");
    let args = ["add", "--kind", "decision", "--cite", "pr:3", "--statement"];
    let decision = house.env.run(args.into_iter().chain([DRAWER])).success();
    let decision = decision.line();
    let shown = house.env.run(["show", &decision, "--explain"]).success();
    assert!(!shown.stdout.contains("belief"), "{shown}");
    assert!(is_pushed(&house, "decision", &decision));
}

#[test]
fn a_model_is_fitted_once_there_were_chances() {
    let house = HookTestEnvironment::new();
    let none = house.env.run(["run", "policy", "--fit"]);
    assert_eq!(none.exit, 2, "{none}");
    assert!(none.stderr.contains("no entry had a chance"), "{none}");
    let add = ["add", "--by", "agent:author", "--kind", "learning"];
    let add = add.into_iter().chain(["--cite", "pr:9", "--statement"]);
    let _ = house.env.run(add.chain([DRAWER])).success();
    run(&house, "one", &[]);
    let fitted = house.env.run(["run", "policy", "--fit"]).success().stdout;
    assert!(fitted.contains("rediscovery  observe (fitted)"), "{fitted}");
    let reset = house.env.run(["run", "policy", "--reset"]).success().stdout;
    assert!(!reset.contains("fitted"), "{reset}");
}
