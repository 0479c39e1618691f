//! Remote configuration: it belongs to the user and applies to this clone only.

use std::fs;

use ken_engine::remote::{
    HubAddress, HubToken, PlaintextPolicy, RemoteError, TokenLocation, TokenSource,
};
use ken_engine::{Engine, EngineError, GitEnv, init};

use crate::clone::{RemoteTestClone, URL};

const TOKEN: &str = "ken_a_token_nobody_sees";

fn address(url: &str) -> HubAddress {
    HubAddress::parse(url, PlaintextPolicy::Loopback).unwrap()
}

fn stored_token() -> TokenSource {
    TokenSource::Store(HubToken::parse(TOKEN).unwrap())
}

#[test]
fn a_stored_token_is_its_owners_and_outside_the_work_tree() {
    let one = RemoteTestClone::new(1);
    let name = "hub".parse().unwrap();
    let remote = one
        .engine()
        .add_remote(&name, &address(URL), &stored_token())
        .unwrap();
    assert_eq!(remote.token, TokenLocation::Stored);
    let kept = one.engine().remote_token(&remote).unwrap().unwrap();
    assert_eq!(kept.secret(), TOKEN);
    let file = one.root().join(".git/ken/remote-hub.token");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let list = fs::read_to_string(one.root().join(".git/ken/remotes.toml")).unwrap();
    assert!(list.contains(URL) && !list.contains(TOKEN), "{list}");
    // Removing the remote removes its token file.
    one.engine().remove_remote(&name).unwrap();
    assert!(!file.exists());
    assert_eq!(one.engine().remotes().unwrap(), []);
}

#[test]
fn a_token_is_sent_to_no_machine_it_was_not_given_for() {
    let one = RemoteTestClone::new(1);
    let name = "hub".parse().unwrap();
    one.engine()
        .add_remote(&name, &address(URL), &stored_token())
        .unwrap();
    let list = one.root().join(".git/ken/remotes.toml");
    let text = fs::read_to_string(&list).unwrap();
    fs::write(&list, text.replace("hub.example.org", "evil.example.org")).unwrap();
    let engine = one.engine();
    let remote = engine.remote(None).unwrap();
    let refused = engine.remote_token(&remote).unwrap_err();
    assert!(
        matches!(
            refused,
            EngineError::Remote(RemoteError::OtherMachine { .. })
        ),
        "{refused}"
    );
}

#[test]
fn what_a_copied_git_folder_brings_is_not_used() {
    let one = RemoteTestClone::new(1);
    one.remote();
    let git = one.root().join(".git/ken");
    let list = fs::read(git.join("remotes.toml")).unwrap();
    let other = RemoteTestClone::new(2);
    other.add("Charging twice is safe");
    fs::write(other.root().join(".git/ken/remotes.toml"), list).unwrap();
    let refused = other.engine().remote(None).unwrap_err();
    assert!(
        matches!(refused, EngineError::Remote(RemoteError::AddedElsewhere)),
        "{refused}"
    );
    // Adding a remote in this clone replaces the copied configuration.
    let name = "hub".parse().unwrap();
    let own = address("https://own.example.org/w");
    other
        .engine()
        .add_remote(&name, &own, &TokenSource::PerCall)
        .unwrap();
    assert_eq!(other.engine().remotes().unwrap().len(), 1);
}

#[test]
fn outside_git_there_is_no_place_for_a_remote() {
    let dir = tempfile::tempdir().unwrap();
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let world = ken_engine::runtime::SystemRuntime;
    let mut engine = Engine::open(dir.path(), &GitEnv::default(), None, Box::new(world)).unwrap();
    let name = "hub".parse().unwrap();
    let refused = engine
        .add_remote(&name, &address(URL), &TokenSource::PerCall)
        .unwrap_err();
    assert!(
        matches!(refused, EngineError::Remote(RemoteError::OutsideGit)),
        "{refused}"
    );
}

#[test]
fn a_name_belongs_to_one_address_and_what_was_known_goes_with_it() {
    let one = RemoteTestClone::new(1);
    one.add("Charging twice is safe");
    let mut hub = ken_testkit::memory_hub::MemoryHub::default();
    one.push(&mut hub);
    let name = "hub".parse().unwrap();
    let other = address("https://other.example.org/pay");
    let taken = one
        .engine()
        .add_remote(&name, &other, &TokenSource::PerCall)
        .unwrap_err();
    assert!(
        matches!(taken, EngineError::Remote(RemoteError::NameTaken { .. })),
        "{taken}"
    );
    // Adding the same address again only changes the token.
    one.engine()
        .add_remote(&name, &address(URL), &stored_token())
        .unwrap();
    assert_eq!(one.engine().remote_status(&one.remote()).unwrap().on_hub, 1);
    one.engine().remove_remote(&name).unwrap();
    one.engine()
        .add_remote(&name, &other, &TokenSource::PerCall)
        .unwrap();
    let standing = one.engine().remote_status(&one.remote()).unwrap();
    assert_eq!(
        (standing.on_hub, standing.to_push, standing.cursor.as_str()),
        (0, 1, "0")
    );
}

#[test]
fn without_a_name_the_default_or_the_only_remote_is_meant() {
    let one = RemoteTestClone::new(1);
    let add = |name: &str| {
        let url = format!("https://h.example.org/{name}");
        let name = name.parse().unwrap();
        one.engine()
            .add_remote(&name, &address(&url), &TokenSource::PerCall)
            .unwrap();
    };
    let meant = |name: Option<&str>| one.engine().remote(name).map(|it| it.name.to_string());
    assert!(matches!(
        meant(None),
        Err(EngineError::Remote(RemoteError::NoRemote))
    ));
    add("team");
    assert_eq!(meant(None).unwrap(), "team");
    add("other");
    assert!(matches!(
        meant(None),
        Err(EngineError::Remote(RemoteError::Unknown { .. }))
    ));
    add("hub");
    assert_eq!(meant(None).unwrap(), "hub");
    assert_eq!(meant(Some("other")).unwrap(), "other");
}
