//! `ken self verify` and `ken self update` against releases on a loopback server.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::env::consts::{ARCH, OS};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use ken_testkit::path_server::{not_found, ok_response, redirect_to, serve_paths};
use ken_testkit::test_env::{CommandRun, TestEnvironment};
use sha2::{Digest as _, Sha256};

use super::signatures::{create_key, sign_file};

const OWN: &str = env!("CARGO_PKG_VERSION");
const NEWER: &str = "9.9.9";
const OLDER: &str = "0.0.1";

/// Releases below `releases`, their server, and a `ken` that `install.sh` would have installed.
struct ReleaseSite {
    env: TestEnvironment,
    url: String,
}

impl ReleaseSite {
    fn new() -> Self {
        let mut env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken"));
        create_key(&env, "release", "ed25519");
        create_key(&env, "other", "ed25519");
        let releases = env.root().join("releases");
        let url = serve_paths(move |path| response(&releases, path));
        let program = env.root().join("prefix/bin/ken");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        // A link, because a debug build is large; another file system needs a copy.
        if fs::hard_link(env!("CARGO_BIN_EXE_ken"), &program).is_err() {
            fs::copy(env!("CARGO_BIN_EXE_ken"), &program).unwrap();
        }
        env.write("prefix/share/ken/receipt", "# Files of ken\nbin/ken\n");
        env.use_binary(program);
        Self { env, url }
    }

    /// Writes a signed release whose program prints its version. It is also the latest one.
    fn release(&self, version: &str) -> String {
        let (folder, stem) = (format!("releases/download/v{version}"), stem(version));
        let program = format!("#!/bin/sh\necho ken {version}\n");
        let path = self.env.root().join(format!("tree/{stem}/bin/ken"));
        self.env.write(&format!("tree/{stem}/bin/ken"), &program);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let archive = format!("{folder}/{stem}.tar.gz");
        self.env.write(&archive, "");
        let tar = Command::new("tar")
            .args(["-czf", &archive, "-C", "tree", &stem])
            .current_dir(self.env.root())
            .status();
        assert!(tar.unwrap().success());
        let contents = format!(
            "{}  bin/ken\n",
            sha256(&self.env.root().join("prefix/bin/ken"))
        );
        self.env
            .write(&format!("{folder}/{stem}.contents.sha256"), &contents);
        let installer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/install.sh");
        self.env.write(
            &format!("{folder}/install.sh"),
            &fs::read_to_string(installer).unwrap(),
        );
        self.sign(&folder, "release", "ken-release");
        self.set_latest(version);
        folder
    }

    /// Lists the checksums of a folder and signs the list.
    fn sign(&self, folder: &str, key: &str, namespace: &str) {
        let mut sums = String::new();
        for name in self.env.names(folder) {
            if !name.starts_with("SHA256SUMS") {
                let digest = sha256(&self.env.root().join(folder).join(&name));
                writeln!(sums, "{digest}  {name}").unwrap();
            }
        }
        self.env.write(&format!("{folder}/SHA256SUMS"), &sums);
        sign_file(&self.env, key, namespace, &format!("{folder}/SHA256SUMS"));
    }

    fn set_latest(&self, version: &str) {
        let latest = self.env.root().join("releases/latest");
        fs::create_dir_all(&latest).unwrap();
        let _ = fs::remove_file(latest.join("download"));
        let to = format!("../download/v{version}");
        std::os::unix::fs::symlink(to, latest.join("download")).unwrap();
    }

    fn run(&self, args: &[&str]) -> CommandRun {
        let from = ["--from", &self.url, "--key", "../release.pub"];
        self.env.run(["self"].iter().chain(args).chain(&from))
    }

    /// Expects a refusal with `why` and an unchanged program.
    #[track_caller]
    fn expect_refused(&self, args: &[&str], why: &str) {
        let before = sha256(&self.program());
        let refused = self.run(args);
        assert_eq!(refused.exit, 1, "{refused}");
        assert!(refused.stderr.contains(why), "`{why}`: {refused}");
        assert_eq!(sha256(&self.program()), before, "{refused}");
    }

    fn program(&self) -> PathBuf {
        self.env.root().join("prefix/bin/ken")
    }
}

fn stem(version: &str) -> String {
    let system = match OS {
        "macos" => "apple-darwin",
        _ => "unknown-linux-gnu",
    };
    format!("ken-{version}-{ARCH}-{system}")
}

fn sha256(path: &Path) -> String {
    let digest = Sha256::digest(fs::read(path).unwrap());
    let mut text = String::new();
    for byte in digest {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

/// Returns the response for a path: the file of this name, or what the file beside it asks for
/// (`NAME.moved` has the target of a redirect, `NAME.cut` ends the connection after half).
fn response(folder: &Path, path: &str) -> Vec<u8> {
    let file = folder.join(path.trim_start_matches('/'));
    let beside = |suffix: &str| PathBuf::from(format!("{}.{suffix}", file.display()));
    if let Ok(to) = fs::read_to_string(beside("moved")) {
        return redirect_to(&to);
    }
    let Ok(bytes) = fs::read(&file) else {
        return not_found();
    };
    let mut response = ok_response(&bytes);
    if beside("cut").exists() {
        response.truncate(response.len() - bytes.len().div_ceil(2));
    }
    response
}

#[test]
fn an_update_installs_the_signed_release_and_says_so() {
    let site = ReleaseSite::new();
    site.release(NEWER);
    let updated = site.run(&["update"]).success();
    assert_eq!(updated.stdout, format!("updated ken {OWN} to {NEWER}\n"));
    let said = Command::new(site.program()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "ken 9.9.9\n");
    let receipt = site.env.read("prefix/share/ken/receipt");
    assert!(receipt.contains("# version 9.9.9\nbin/ken\n"), "{receipt}");
    assert_eq!(site.env.names("prefix/bin"), ["ken"]);
}

#[test]
fn an_update_follows_redirects_to_the_same_machine_only() {
    let site = ReleaseSite::new();
    let folder = site.release(NEWER);
    let archive = format!("{}.tar.gz", stem(NEWER));
    site.env.write(
        &format!("{folder}/{archive}.moved"),
        "http://other.example/x",
    );
    site.expect_refused(&["update"], "does not follow");
    site.env
        .write(&format!("{folder}/{archive}.moved"), "/stored");
    let kept = site.env.root().join("releases/stored");
    fs::copy(site.env.root().join(&folder).join(&archive), kept).unwrap();
    let _ = site.run(&["update"]).success();
}

#[test]
fn a_damaged_release_changes_nothing() {
    let site = ReleaseSite::new();
    let folder = site.release(NEWER);
    let archive = format!("{folder}/{}.tar.gz", stem(NEWER));
    let good = fs::read(site.env.root().join(&archive)).unwrap();

    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    fs::write(site.env.root().join(&archive), &bad).unwrap();
    site.expect_refused(&["update"], "does not match the signed checksums");

    fs::write(site.env.root().join(&archive), &good).unwrap();
    site.env.write(&format!("{archive}.cut"), "");
    site.expect_refused(&["update"], "cannot download");
    fs::remove_file(site.env.root().join(format!("{archive}.cut"))).unwrap();

    site.sign(&folder, "other", "ken-release");
    site.expect_refused(&["update"], "is not valid for the release key");
    site.sign(&folder, "release", "ken-approval");
    site.expect_refused(&["update"], "is not valid for the release key");
    site.sign(&folder, "release", "ken-release");
    let sums = site.env.read(&format!("{folder}/SHA256SUMS"));
    site.env
        .write(&format!("{folder}/SHA256SUMS"), &format!("{sums}\n"));
    site.expect_refused(&["update"], "is not valid for the release key");
    fs::remove_file(site.env.root().join(format!("{folder}/SHA256SUMS.sig"))).unwrap();
    site.expect_refused(&["update"], "has no file `SHA256SUMS.sig`");

    // Repaired, the same release installs: only the damage was refused.
    site.env.write(&format!("{folder}/SHA256SUMS"), &sums);
    sign_file(
        &site.env,
        "release",
        "ken-release",
        &format!("{folder}/SHA256SUMS"),
    );
    let _ = site.run(&["update"]).success();
}

#[test]
fn an_older_version_is_installed_only_when_asked() {
    let site = ReleaseSite::new();
    site.release(OLDER);
    site.expect_refused(&["update"], "is older than the installed");
    site.expect_refused(&["update", "--version", OLDER], "--allow-downgrade");
    let asked = site.run(&["update", "--version", OLDER, "--allow-downgrade"]);
    assert_eq!(
        asked.success().stdout,
        format!("updated ken {OWN} to {OLDER}\n")
    );
}

#[test]
fn a_mirror_cannot_answer_with_another_signed_version() {
    let site = ReleaseSite::new();
    site.release(NEWER);
    let releases = site.env.root().join("releases/download");
    fs::rename(releases.join("v9.9.9"), releases.join("v9.9.8")).unwrap();
    site.expect_refused(&["update", "--version", "9.9.8"], "is version 9.9.9");
}

#[test]
fn the_installed_version_is_not_installed_again() {
    let site = ReleaseSite::new();
    site.release(OWN);
    let before = sha256(&site.program());
    let same = site.run(&["update", "--format", "json"]).success().json();
    assert_eq!(same["changed"], false);
    assert_eq!(same["to"], OWN);
    assert_eq!(sha256(&site.program()), before);
}

#[test]
fn a_program_without_receipt_is_not_updated() {
    let site = ReleaseSite::new();
    site.release(NEWER);
    fs::remove_file(site.env.root().join("prefix/share/ken/receipt")).unwrap();
    site.expect_refused(&["update"], "was not installed by install.sh");
    site.env.write("prefix/.crates.toml", "");
    site.expect_refused(&["update"], "was installed by Cargo");
}

#[test]
fn verify_tells_the_released_program_from_another_one() {
    let site = ReleaseSite::new();
    let folder = site.release(OWN);
    let fine = site.run(&["verify"]).success();
    assert!(fine.stdout.contains("is the released ken"), "{fine}");
    let contents = format!("{folder}/{}.contents.sha256", stem(OWN));
    site.env
        .write(&contents, &format!("{}  bin/ken\n", "0".repeat(64)));
    site.expect_refused(&["verify"], "does not match the signed checksums");
    site.sign(&folder, "release", "ken-release");
    site.expect_refused(&["verify"], "is not ken");
}

#[test]
fn a_build_without_release_key_asks_for_one() {
    let site = ReleaseSite::new();
    let refused = site.env.run(["self", "verify", "--from", &site.url]);
    assert_eq!(refused.exit, 1, "{refused}");
    assert!(refused.stderr.contains("--key"), "{refused}");
    let args = ["self", "verify", "--from", "http://mirror.example.org"];
    let plain = site
        .env
        .run(args.iter().chain(&["--key", "../release.pub"]));
    assert_eq!(plain.exit, 2, "{plain}");
    assert!(plain.stderr.contains("https"), "{plain}");
}
