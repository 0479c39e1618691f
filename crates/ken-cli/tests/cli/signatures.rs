//! Approvals that must be signed: made with the user's own `ssh-keygen`, checked against `.ken/allowed_signers`.

use std::fs;
use std::path::Path;
use std::process::Command;

use ken_testkit::test_env::{Run, TestEnv};

use crate::support::{commit, repository};

const SIGNERS: &str = ".ken/allowed_signers";

/// Runs `ssh-keygen`, which belongs to every OpenSSH client.
fn keygen(env: &TestEnv, args: &[&str]) {
    let mut keygen = Command::new("ssh-keygen");
    let output = keygen.current_dir(env.root()).args(args).output();
    let output = output.expect("ssh-keygen is installed");
    assert!(output.status.success(), "{args:?}: {output:?}");
}

/// Makes a key without a passphrase beside the repository and returns its public line.
fn key(env: &TestEnv, name: &str, kind: &str) -> String {
    let path = format!("../{name}");
    keygen(env, &["-q", "-t", kind, "-N", "", "-C", name, "-f", &path]);
    fs::read_to_string(env.root().join(format!("../{name}.pub"))).expect("a public key")
}

/// Signs `file` with the key `name` for `namespace`; the signature lies beside it.
fn sign(env: &TestEnv, name: &str, namespace: &str, file: &str) {
    let signature = env.root().join(format!("{file}.sig"));
    if Path::new(&signature).exists() {
        fs::remove_file(&signature).expect("an old signature");
    }
    let key = format!("../{name}");
    keygen(
        env,
        &["-q", "-Y", "sign", "-n", namespace, "-f", &key, file],
    );
}

/// A repository where bob may sign, with a norm that an agent put forward; returns its id and its artifact's path.
fn waiting(line: impl FnOnce(&TestEnv) -> String) -> (TestEnv, String, String) {
    let env = repository();
    env.write(SIGNERS, &line(&env));
    commit(&env, "who may sign");
    let friction = ["friction", "record", "--type", "redo", "--context", "{}"];
    let source = env.run(friction).success().line();
    let args = ["promote", &source, "--to", "procedural", "--as"];
    let args = args.into_iter().chain(["commit-norm", "--statement"]);
    let args = args.chain([
        "Run the formatter before committing.",
        "--by",
        "agent:codex",
    ]);
    let id = env.run(args).success().line();
    let path = format!(".ken/.local/promotions/{id}.json");
    (env, id, path)
}

fn bob(env: &TestEnv) -> String {
    format!("bob@example.org {}", key(env, "bob", "ed25519"))
}

fn approve(env: &TestEnv, id: &str, signature: Option<&str>) -> Run {
    let args = ["approve", id, "--by", "human:bob@example.org"];
    let signature = signature.into_iter().flat_map(|it| ["--signature", it]);
    env.run(args.into_iter().chain(signature))
}

/// Signs with the key `name` for `namespace` and returns why the approval is refused.
fn refused(env: &TestEnv, (id, path): (&str, &str), name: &str, namespace: &str) -> String {
    sign(env, name, namespace, path);
    let run = approve(env, id, Some(&format!("{path}.sig")));
    assert_eq!(run.exit, 1, "{run}");
    run.stderr
}

#[test]
fn an_approval_without_a_signature_says_how_to_sign() {
    let (env, id, _) = waiting(bob);
    insta::assert_snapshot!(approve(&env, &id, None), @"
    exit: 1
    ----- stderr -----
    error: this repository wants approvals signed

    hint: read .ken/.local/promotions/N-h9xr3ac9.json, sign it and approve:
      ssh-keygen -Y sign -n ken -f ~/.ssh/id_ed25519 .ken/.local/promotions/N-h9xr3ac9.json
      ken approve N-h9xr3ac9 --signature .ken/.local/promotions/N-h9xr3ac9.json.sig
    ");
}

#[test]
fn gat_09_a_good_signature_of_a_listed_person_approves_and_is_shown() {
    let (env, id, path) = waiting(bob);
    sign(&env, "bob", "ken", &path);
    insta::assert_snapshot!(approve(&env, &id, Some(&format!("{path}.sig"))), @"
    exit: 0
    ----- stdout -----
    N-h9xr3ac9
    ----- stderr -----
    approved: whoever it concerns is shown it from now on
    ");
    let shown = env.run(["show", &id]).stdout;
    assert!(
        shown.contains("by human:bob@example.org, signed"),
        "{shown}"
    );
    let log = env.run(["log", &id]).stdout;
    assert!(log.contains("approved and signed"), "{log}");
    let json = env.run(["show", &id, "--format", "json"]).json();
    assert_eq!(json["approval_standings"][0], "signed");
    assert_eq!(json["quarantine"].as_array().map(Vec::len), Some(0));
    let _ = env.run(["verify"]).success();
}

#[test]
fn an_ecdsa_key_signs_as_well_and_rsa_is_told_to_be_left_out() {
    let (env, id, path) = waiting(|env| {
        let rsa = key(env, "rsa", "rsa");
        let line = key(env, "bob", "ecdsa");
        format!("bob@example.org {line}bob@example.org {rsa}")
    });
    let why = refused(&env, (&id, &path), "rsa", "ken");
    assert!(why.contains("which ken cannot check"), "{why}");
    sign(&env, "bob", "ken", &path);
    let _ = approve(&env, &id, Some(&format!("{path}.sig"))).success();
}

#[test]
fn a_signature_for_another_purpose_is_refused() {
    let (env, id, path) = waiting(bob);
    let why = refused(&env, (&id, &path), "bob", "git");
    assert!(why.contains("the signature is for `git`"), "{why}");
}

#[test]
fn an_unknown_key_is_refused() {
    let (env, id, path) = waiting(bob);
    let _ = key(&env, "eve", "ed25519");
    let why = refused(&env, (&id, &path), "eve", "ken");
    assert!(
        why.contains("nobody in `.ken/allowed_signers` has this key"),
        "{why}"
    );
}

#[test]
fn somebody_elses_key_is_refused() {
    let (env, id, path) = waiting(|env| {
        let carol = key(env, "carol", "ed25519");
        format!("{}carol@example.org {carol}", bob(env))
    });
    let why = refused(&env, (&id, &path), "carol", "ken");
    assert!(why.contains("the key is not bob@example.org's"), "{why}");
}

#[test]
fn an_expired_key_is_refused() {
    let (env, id, path) = waiting(|env| {
        let line = key(env, "bob", "ed25519");
        format!("bob@example.org valid-before=\"20251231\" {line}")
    });
    let why = refused(&env, (&id, &path), "bob", "ken");
    assert!(why.contains("was not allowed at that time"), "{why}");
}

#[test]
fn a_signature_over_something_else_is_refused() {
    let (env, id, path) = waiting(bob);
    let altered = env.read(&path).replace("formatter", "deleter");
    env.write("altered.json", &altered);
    sign(&env, "bob", "ken", "altered.json");
    let run = approve(&env, &id, Some("altered.json.sig"));
    assert_eq!(run.exit, 1, "{run}");
    assert!(run.stderr.contains("is not over this artifact"), "{run}");
    env.write("no.sig", "-----BEGIN SSH SIGNATURE-----\nnonsense\n");
    let run = approve(&env, &id, Some("no.sig"));
    assert!(run.stderr.contains("this is no SSH signature"), "{run}");
    assert_eq!(run.exit, 1, "{run}");
}

#[test]
fn a_list_nobody_committed_is_not_in_force_and_deleting_it_changes_nothing() {
    let (env, id, _) = waiting(bob);
    fs::remove_file(env.root().join(SIGNERS)).expect("the list");
    let run = approve(&env, &id, None);
    assert_eq!(run.exit, 1, "still wanted: {run}");
    let eve = key(&env, "eve", "ed25519");
    env.write(SIGNERS, &format!("bob@example.org {eve}"));
    let path = format!(".ken/.local/promotions/{id}.json");
    let why = refused(&env, (&id, &path), "eve", "ken");
    assert!(why.contains("nobody in `.ken/allowed_signers`"), "{why}");
}

#[test]
fn where_the_list_is_not_committed_no_signature_is_asked_for_and_that_is_told() {
    let env = repository();
    let friction = ["friction", "record", "--type", "redo", "--context", "{}"];
    let source = env.run(friction).success().line();
    let args = ["promote", &source, "--to", "procedural", "--as"];
    let args = args.into_iter().chain(["commit-norm", "--statement"]);
    let args = args.chain([
        "Run the formatter before committing.",
        "--by",
        "agent:codex",
    ]);
    let id = env.run(args).success().line();
    env.write(SIGNERS, &bob(&env));
    let run = approve(&env, &id, None).success();
    assert!(
        run.stderr.contains("not committed and so not in force"),
        "{run}"
    );
    commit(&env, "who may sign from now on");
    let verify = env.run(["verify"]);
    assert_eq!(verify.exit, 1, "{verify}");
    assert!(
        verify
            .stdout
            .contains("this repository wants approvals signed"),
        "{verify}"
    );
    let shown = env.run(["show", &id]).stdout;
    assert!(shown.contains("NOT VALID"), "{shown}");
    let path = format!(".ken/.local/promotions/{id}.json");
    sign(&env, "bob", "ken", &path);
    let _ = approve(&env, &id, Some(&format!("{path}.sig"))).success();
    let _ = env.run(["verify"]).success();
    let again = approve(&env, &id, Some(&format!("{path}.sig")));
    assert!(again.stderr.contains("does not wait"), "{again}");
}

#[test]
fn a_branch_that_adds_its_own_signer_is_judged_by_the_base() {
    let (env, id, path) = waiting(bob);
    commit(&env, "put forward");
    let _ = env.git(["checkout", "-q", "-b", "topic"]);
    let eve = key(&env, "eve", "ed25519");
    env.write(SIGNERS, &format!("bob@example.org {eve}"));
    commit(&env, "eve may sign");
    sign(&env, "eve", "ken", &path);
    let _ = approve(&env, &id, Some(&format!("{path}.sig"))).success();
    commit(&env, "approved");
    let run = env.run(["verify", "--base", "main"]);
    assert_eq!(run.exit, 1, "{run}");
    assert!(
        run.stdout.contains("the approval by human:bob@example.org"),
        "{run}"
    );
}

#[test]
fn where_approvals_are_signed_a_norm_is_not_let_out_without_one() {
    let (env, _, _) = waiting(bob);
    let args = ["add", "--kind", "commit-norm", "--cite", "pr:1", "--by"];
    let args = args.into_iter().chain(["agent:codex", "--statement"]);
    let id = env
        .run(args.chain(["Squash every commit."]))
        .success()
        .line();
    let run = env.run(["quarantine", "lift", &id, "--reason", "fine"]);
    assert_eq!(run.exit, 1, "{run}");
    let run = approve(&env, &id, None);
    assert!(run.stderr.contains("ssh-keygen -Y sign -n ken"), "{run}");
}
