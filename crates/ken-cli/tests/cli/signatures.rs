//! Signed approvals: created with the user's `ssh-keygen`, checked against `.ken/allowed_signers`.

use std::fs;
use std::path::Path;
use std::process::Command;

use ken_testkit::test_env::{CommandRun, TestEnvironment};

use crate::cli::support::{add_lesson, commit_all, repository_with_ledger};

const SIGNERS_PATH: &str = ".ken/allowed_signers";

/// Runs `ssh-keygen`, which is part of every OpenSSH client.
fn run_ssh_keygen(env: &TestEnvironment, args: &[&str]) {
    let mut keygen = Command::new("ssh-keygen");
    let output = keygen.current_dir(env.root()).args(args).output();
    let output = output.expect("ssh-keygen is installed");
    assert!(output.status.success(), "{args:?}: {output:?}");
}

/// Creates a key without a passphrase next to the repository and returns its public line.
pub(super) fn create_key(env: &TestEnvironment, name: &str, kind: &str) -> String {
    let path = format!("../{name}");
    run_ssh_keygen(env, &["-q", "-t", kind, "-N", "", "-C", name, "-f", &path]);
    fs::read_to_string(env.root().join(format!("../{name}.pub"))).expect("a public key")
}

/// Signs `file` with the key `name` for `namespace`; the signature is written next to it.
pub(super) fn sign_file(env: &TestEnvironment, name: &str, namespace: &str, file: &str) {
    let signature = env.root().join(format!("{file}.sig"));
    if Path::new(&signature).exists() {
        fs::remove_file(&signature).expect("an old signature");
    }
    let key = format!("../{name}");
    run_ssh_keygen(
        env,
        &["-q", "-Y", "sign", "-n", namespace, "-f", &key, file],
    );
}

/// Returns a repository with the signers of `line` and a norm proposed by an agent, with the norm's
/// id and the path of its artifact.
fn repository_with_pending_norm(
    line: impl FnOnce(&TestEnvironment) -> String,
) -> (TestEnvironment, String, String) {
    let env = repository_with_ledger();
    env.write(SIGNERS_PATH, &line(&env));
    commit_all(&env, "who may sign");
    let friction = [
        "health",
        "friction",
        "record",
        "--type",
        "redo",
        "--context",
        "{}",
    ];
    let source = env.run(friction).success().line();
    let args = ["entry", "promote", &source, "--to", "procedural", "--as"];
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

fn bobs_signer_line(env: &TestEnvironment) -> String {
    format!("bob@example.org {}", create_key(env, "bob", "ed25519"))
}

fn approve(env: &TestEnvironment, id: &str, signature: Option<&str>) -> CommandRun {
    let args = ["inbox", "approve", id, "--by", "human:bob@example.org"];
    let signature = signature.into_iter().flat_map(|it| ["--signature", it]);
    env.run(args.into_iter().chain(signature))
}

/// Signs with the key `name` for `namespace` and returns the message that refuses the approval.
fn refusal_of_signature(
    env: &TestEnvironment,
    (id, path): (&str, &str),
    name: &str,
    namespace: &str,
) -> String {
    sign_file(env, name, namespace, path);
    let run = approve(env, id, Some(&format!("{path}.sig")));
    assert_eq!(run.exit, 1, "{run}");
    run.stderr
}

#[test]
fn an_approval_without_a_signature_says_how_to_sign() {
    let (env, id, _) = repository_with_pending_norm(bobs_signer_line);
    insta::assert_snapshot!(approve(&env, &id, None), @"
    exit: 1
    ----- stderr -----
    error: this repository requires signed approvals

    hint: read .ken/.local/promotions/N-h9xr3ac9.json, sign it and approve:
      ssh-keygen -Y sign -n ken -f ~/.ssh/id_ed25519 .ken/.local/promotions/N-h9xr3ac9.json
      ken inbox approve N-h9xr3ac9 --signature .ken/.local/promotions/N-h9xr3ac9.json.sig
    ");
}

#[test]
fn a_good_signature_of_a_listed_person_approves_and_is_shown() {
    let (env, id, path) = repository_with_pending_norm(bobs_signer_line);
    sign_file(&env, "bob", "ken", &path);
    insta::assert_snapshot!(approve(&env, &id, Some(&format!("{path}.sig"))), @"
    exit: 0
    ----- stdout -----
    N-h9xr3ac9
    ----- stderr -----
    approved: agents see it from now on
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
    let (env, id, path) = repository_with_pending_norm(|env| {
        let rsa = create_key(env, "rsa", "rsa");
        let line = create_key(env, "bob", "ecdsa");
        format!("bob@example.org {line}bob@example.org {rsa}")
    });
    let why = refusal_of_signature(&env, (&id, &path), "rsa", "ken");
    assert!(
        why.contains("keys of type ssh-rsa are not supported"),
        "{why}"
    );
    sign_file(&env, "bob", "ken", &path);
    let _ = approve(&env, &id, Some(&format!("{path}.sig"))).success();
}

#[test]
fn a_signature_for_another_purpose_is_refused() {
    let (env, id, path) = repository_with_pending_norm(bobs_signer_line);
    let why = refusal_of_signature(&env, (&id, &path), "bob", "git");
    assert!(why.contains("the signature is for `git`"), "{why}");
}

#[test]
fn an_unknown_key_is_refused() {
    let (env, id, path) = repository_with_pending_norm(bobs_signer_line);
    let _ = create_key(&env, "eve", "ed25519");
    let why = refusal_of_signature(&env, (&id, &path), "eve", "ken");
    assert!(
        why.contains("this key is not in `.ken/allowed_signers`"),
        "{why}"
    );
}

#[test]
fn somebody_elses_key_is_refused() {
    let (env, id, path) = repository_with_pending_norm(|env| {
        let carol = create_key(env, "carol", "ed25519");
        format!("{}carol@example.org {carol}", bobs_signer_line(env))
    });
    let why = refusal_of_signature(&env, (&id, &path), "carol", "ken");
    assert!(
        why.contains("the key does not belong to bob@example.org"),
        "{why}"
    );
}

#[test]
fn an_expired_key_is_refused() {
    let (env, id, path) = repository_with_pending_norm(|env| {
        let line = create_key(env, "bob", "ed25519");
        format!("bob@example.org valid-before=\"20251231\" {line}")
    });
    let why = refusal_of_signature(&env, (&id, &path), "bob", "ken");
    assert!(why.contains("was not valid at that time"), "{why}");
}

#[test]
fn a_signature_over_something_else_is_refused() {
    let (env, id, path) = repository_with_pending_norm(bobs_signer_line);
    let altered = env.read(&path).replace("formatter", "deleter");
    env.write("altered.json", &altered);
    sign_file(&env, "bob", "ken", "altered.json");
    let run = approve(&env, &id, Some("altered.json.sig"));
    assert_eq!(run.exit, 1, "{run}");
    assert!(run.stderr.contains("does not match this artifact"), "{run}");
    env.write("no.sig", "-----BEGIN SSH SIGNATURE-----\nnonsense\n");
    let run = approve(&env, &id, Some("no.sig"));
    assert!(
        run.stderr.contains("this is not a valid SSH signature"),
        "{run}"
    );
    assert_eq!(run.exit, 1, "{run}");
}

#[test]
fn a_list_nobody_committed_is_not_in_force_and_deleting_it_changes_nothing() {
    let (env, id, _) = repository_with_pending_norm(bobs_signer_line);
    fs::remove_file(env.root().join(SIGNERS_PATH)).expect("the list");
    let run = approve(&env, &id, None);
    assert_eq!(run.exit, 1, "still wanted: {run}");
    let eve = create_key(&env, "eve", "ed25519");
    env.write(SIGNERS_PATH, &format!("bob@example.org {eve}"));
    let path = format!(".ken/.local/promotions/{id}.json");
    let why = refusal_of_signature(&env, (&id, &path), "eve", "ken");
    assert!(
        why.contains("this key is not in `.ken/allowed_signers`"),
        "{why}"
    );
}

#[test]
fn where_the_list_is_not_committed_no_signature_is_asked_for_and_that_is_told() {
    let env = repository_with_ledger();
    let friction = [
        "health",
        "friction",
        "record",
        "--type",
        "redo",
        "--context",
        "{}",
    ];
    let source = env.run(friction).success().line();
    let args = ["entry", "promote", &source, "--to", "procedural", "--as"];
    let args = args.into_iter().chain(["commit-norm", "--statement"]);
    let args = args.chain([
        "Run the formatter before committing.",
        "--by",
        "agent:codex",
    ]);
    let id = env.run(args).success().line();
    env.write(SIGNERS_PATH, &bobs_signer_line(&env));
    let run = approve(&env, &id, None).success();
    assert!(
        run.stderr.contains("not committed and so not in effect"),
        "{run}"
    );
    commit_all(&env, "who may sign from now on");
    let verify = env.run(["verify"]);
    assert_eq!(verify.exit, 1, "{verify}");
    assert!(
        verify
            .stdout
            .contains("this repository requires signed approvals"),
        "{verify}"
    );
    let shown = env.run(["show", &id]).stdout;
    assert!(shown.contains("NOT VALID"), "{shown}");
    let path = format!(".ken/.local/promotions/{id}.json");
    sign_file(&env, "bob", "ken", &path);
    let _ = approve(&env, &id, Some(&format!("{path}.sig"))).success();
    let _ = env.run(["verify"]).success();
    let again = approve(&env, &id, Some(&format!("{path}.sig")));
    assert!(again.stderr.contains("is not pending approval"), "{again}");
}

#[test]
fn a_branch_that_adds_its_own_signer_is_judged_by_the_base() {
    let (env, id, path) = repository_with_pending_norm(bobs_signer_line);
    commit_all(&env, "put forward");
    let _ = env.git(["checkout", "-q", "-b", "topic"]);
    let eve = create_key(&env, "eve", "ed25519");
    env.write(SIGNERS_PATH, &format!("bob@example.org {eve}"));
    commit_all(&env, "eve may sign");
    sign_file(&env, "eve", "ken", &path);
    let _ = approve(&env, &id, Some(&format!("{path}.sig"))).success();
    commit_all(&env, "approved");
    let run = env.run(["verify", "--base", "main"]);
    assert_eq!(run.exit, 1, "{run}");
    assert!(
        run.stdout.contains("the approval by human:bob@example.org"),
        "{run}"
    );
}

#[test]
fn where_approvals_are_signed_a_norm_is_not_let_out_without_one() {
    let (env, _, _) = repository_with_pending_norm(bobs_signer_line);
    let args = ["add", "--kind", "commit-norm", "--cite", "pr:1", "--by"];
    let args = args.into_iter().chain(["agent:codex", "--statement"]);
    let id = env
        .run(args.chain(["Squash every commit."]))
        .success()
        .line();
    let run = env.run(["guard", "quarantine", "release", &id, "--reason", "fine"]);
    assert_eq!(run.exit, 1, "{run}");
    let run = approve(&env, &id, None);
    assert!(run.stderr.contains("ssh-keygen -Y sign -n ken"), "{run}");
}

#[test]
fn an_agent_approves_for_a_person_only_with_a_verified_signature() {
    let (env, id, path) = repository_with_pending_norm(bobs_signer_line);
    let env = env.env("CLAUDECODE", "1");
    let unsigned = approve(&env, &id, None);
    assert!(
        unsigned
            .stderr
            .contains("agent:claude-code runs this command and cannot act as human:bob"),
        "{unsigned}"
    );
    let shown = env.run(["inbox", "approve", &id, "--show"]).success();
    env.write(&path, &shown.stdout);
    sign_file(&env, "bob", "ken", &path);
    let signature = format!("{path}.sig");
    let _ = approve(&env, &id, Some(&signature)).success();
    // Without signers, nothing verifies a signature.
    let env = repository_with_ledger();
    env.write("any.sig", "x");
    let env = env.env("CLAUDECODE", "1");
    let added = env.run(["add", "A norm", "--kind", "commit-norm", "--cite", "pr:1"]);
    let refused = approve(&env, &added.success().line(), Some("any.sig"));
    assert!(refused.stderr.contains("cannot act as"), "{refused}");
}

#[test]
fn decisions_are_signed_where_git_signs_with_ssh_and_contributions_are_not() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Refunds are booked before the receipt is printed.");
    create_key(&env, "ada", "ed25519");
    let key = env.root().join("../ada");
    let key = key.to_str().expect("UTF-8");
    let _ = env.run(["confirm", &id]).success();
    assert!(
        !all_segments(&env).contains("SSH SIGNATURE"),
        "nothing asks for a signature"
    );
    let _ = env.git(["config", "user.signingkey", key]);
    let _ = env.git(["config", "gpg.format", "ssh"]);
    let _ = env.git(["config", "commit.gpgsign", "true"]);
    let _ = env.run(["edit", &id, "--tag", "money"]).success();
    assert!(
        !all_segments(&env).contains("SSH SIGNATURE"),
        "an edit decides nothing"
    );
    let _ = env.run(["retract", &id, "--reason", "obsolete"]).success();
    assert!(all_segments(&env).contains("BEGIN SSH SIGNATURE"));
    let _ = env.git(["config", "ken.sign", "false"]);
    let before = all_segments(&env).matches("BEGIN SSH").count();
    let _ = env.run(["restore", &id]).success();
    assert_eq!(all_segments(&env).matches("BEGIN SSH").count(), before);
    // A key that cannot sign leaves a valid decision and says so.
    let _ = env.git(["config", "ken.sign", "true"]);
    let _ = env.git(["config", "user.signingkey", "/nonexistent/key"]);
    let run = env.run(["confirm", &id]).success();
    assert!(
        run.stderr.contains("the decision is not signed"),
        "{}",
        run.stderr
    );
}

/// Returns all lines of the ledger.
fn all_segments(env: &TestEnvironment) -> String {
    let mut folders = vec![env.root().join(".ken")];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for found in fs::read_dir(folder).expect("a folder") {
            let path = found.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "jsonl") {
                text.push_str(&fs::read_to_string(path).unwrap_or_default());
            }
        }
    }
    text
}
