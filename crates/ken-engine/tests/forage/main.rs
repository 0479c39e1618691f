//! The forager with hosts: `llms.txt` and the pages it lists, on loopback behind a table of names.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod queries;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use ken_core::ledger::event::{DomainAction, FetchLevel, ForageMode};
use ken_core::ledger::workspace::FetchStrategy;
use ken_core::values::actor::Actor;
use ken_engine::forage::{ForageHome, ForageQuestion, ForageReport, ForageSetup, PackageFolders};
use ken_engine::runtime::FixedRuntime;
use ken_engine::{Engine, GitEnv, init};
use ken_fetch::{
    EgressPolicy, FetchBudget, FetchGateway, NameLookup, SocketDialer, SystemFetchClock,
};
use tempfile::TempDir;

const PUBLIC: &str = "93.184.216.34";
const HOST: &str = "docs.site.org";
const QUESTION: &str = "How do I set the timeout of a request?";
const INDEX: &str = "# Site\n\n- [Timeout of a request](/timeouts.md): set it\n\
    - [Colors](/colors.md): themes\n- [Set the timeout of a request elsewhere](https://other.org/x)\n";
const PAGE: &str = "# Timeouts\n\nCall `set_timeout` to set the timeout of a request in seconds.\n";

#[derive(Debug)]
struct OneName;

impl NameLookup for OneName {
    fn addresses(&self, host: &str) -> Option<Vec<IpAddr>> {
        (host == HOST).then(|| vec![PUBLIC.parse().unwrap()])
    }
}

#[derive(Debug)]
struct OneSocket(SocketAddr);

impl SocketDialer for OneSocket {
    fn target(&self, checked: SocketAddr) -> Option<SocketAddr> {
        assert_eq!(checked.to_string(), format!("{PUBLIC}:80"));
        Some(self.0)
    }
}

/// Serves Markdown pages; returns the address and the requested paths.
fn serve(pages: &'static [(&'static str, &'static str)]) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&seen);
    // Ends with the test process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            // A query is not part of a page's address here.
            let asked = path.split('?').next().unwrap_or_default();
            let page = pages.iter().find(|(it, _)| *it == asked);
            let answer = match page {
                Some((_, body)) => format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/markdown\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n{body}",
                    body.len()
                ),
                None => {
                    "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned()
                }
            };
            log.lock().unwrap().push(path);
            let _gone = stream.write_all(answer.as_bytes());
        }
    });
    (address, seen)
}

fn repository(config: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let git = Command::new("git")
        .args(["init", "-q"])
        .current_dir(&dir)
        .status();
    assert!(git.unwrap().success());
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let path = dir.path().join(".ken/config.toml");
    let known = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{known}\n{config}")).unwrap();
    dir
}

fn open_engine(root: &Path) -> Engine {
    let world = FixedRuntime::new("2026-11-18T09:00:00Z".parse().unwrap(), 1);
    Engine::open(root, &GitEnv::default(), None, Box::new(world)).unwrap()
}

fn setup() -> ForageSetup {
    setup_of(&format!(
        "sources = [\"hosts\"]\n[egress]\nallow = [\"{HOST}\"]\nplain_http = [\"{HOST}\"]"
    ))
}

fn setup_of(text: &str) -> ForageSetup {
    let folder = tempfile::tempdir().unwrap();
    let home = ForageHome {
        folder: folder.path().to_owned(),
    };
    fs::write(home.path(), text).unwrap();
    let config = home.load().unwrap().unwrap();
    ForageSetup {
        config,
        folders: PackageFolders::default(),
    }
}

fn gateway(address: SocketAddr) -> FetchGateway {
    let policy = EgressPolicy::new([HOST.to_owned()], []).with_plain_http([HOST.to_owned()]);
    FetchGateway::new(policy, FetchBudget::default(), None).with_ports(
        Arc::new(OneName),
        Arc::new(OneSocket(address)),
        Arc::new(SystemFetchClock),
    )
}

fn question() -> ForageQuestion {
    ForageQuestion {
        text: QUESTION.to_owned(),
        packages: Vec::new(),
        mode: ForageMode::Operator,
        limit: 3,
    }
}

#[test]
fn a_page_that_llms_txt_lists_becomes_a_quarantined_entry() {
    let (address, seen) = serve(&[("/llms.txt", INDEX), ("/timeouts.md", PAGE)]);
    let dir = repository("");
    let mut engine = open_engine(dir.path());
    let setup = setup();
    let mut gateway = gateway(address);
    let report = engine
        .find_passages_through(&mut gateway, &setup, &question())
        .unwrap();
    let best = &report.findings[0];
    assert_eq!(
        best.text,
        "Call `set_timeout` to set the timeout of a request in seconds."
    );
    assert_eq!(
        (best.address.as_str(), best.line),
        ("http://docs.site.org/timeouts.md", 3)
    );
    // The other host is refused, and the page about colors is not asked for.
    assert!(
        report
            .refusals
            .iter()
            .any(|it| it.contains("`other.org` is not an allowed host"))
    );
    assert_eq!(
        *seen.lock().unwrap(),
        ["/robots.txt", "/llms.txt", "/timeouts.md"]
    );
    let by: Actor = "human:ada".parse().unwrap();
    let outcome = engine
        .admit_passages(&setup, &question(), &report, &by)
        .unwrap();
    let quarantined = engine.quarantined_entries().unwrap();
    assert_eq!(quarantined.len(), outcome.entries.len());
    let entry = &quarantined[0].entry;
    let created = entry.created.as_ref().unwrap();
    assert_eq!(created.by.to_string(), format!("import:forage/{HOST}"));
    let log = engine.forage_log().unwrap();
    assert!(
        log.iter()
            .any(|it| it.source == HOST && it.verdict == "read" && it.bytes > 0)
    );
    assert!(!format!("{log:?}").contains("timeout"));
}

#[test]
fn a_repository_can_forbid_hosts() {
    let (address, seen) = serve(&[("/llms.txt", INDEX)]);
    let dir = repository("[forage]\nhosts = false\n");
    let mut engine = open_engine(dir.path());
    let setup = setup();
    let report = engine
        .find_passages_through(&mut gateway(address), &setup, &question())
        .unwrap();
    assert!(report.findings.is_empty() && seen.lock().unwrap().is_empty());
}

fn ada() -> Actor {
    "human:ada".parse().unwrap()
}

const RESULTS: &str = r#"{"query": "x", "results": [
    {"url": "http://evil.org/timeout", "title": "Set the timeout of a request", "content": "timeout"},
    {"url": "javascript:alert(1)", "title": "timeout request"},
    {"url": "http://127.0.0.1/timeout", "title": "timeout request"},
    {"title": "no address"},
    {"url": "http://docs.site.org/colors.md", "title": "Colors", "content": "themes"},
    {"url": "http://docs.site.org/timeouts.md", "title": "Timeouts", "content": "set the timeout of a request"}
]}"#;

#[test]
fn a_search_service_is_sent_public_words_and_its_pages_are_read_through_the_gateway() {
    let (service, asked) = serve(&[("/search", RESULTS)]);
    let (address, seen) = serve(&[("/timeouts.md", PAGE), ("/colors.md", "# Colors\n")]);
    let dir = repository("");
    let mut engine = open_engine(dir.path());
    let setup = setup_of(&format!(
        "sources = [\"searxng\"]\nnames = [\"harvest\"]\n[searxng]\nurl = \"http://{service}\"\n\
         [egress]\nallow = [\"{HOST}\"]\nplain_http = [\"{HOST}\"]"
    ));
    let question = ForageQuestion {
        text: "How does harvest set the timeout of a request to Umbrella?".to_owned(),
        ..question()
    };
    let report = engine
        .find_passages_through(&mut gateway(address), &setup, &question)
        .unwrap();
    let asked = asked.lock().unwrap().join("\n");
    assert_eq!(asked, "/search?q=set%20timeout%20request&format=json");
    assert_eq!(report.sent, ["searxng: set timeout request"]);
    // Only the page that fits, on the allowed host.
    assert_eq!(*seen.lock().unwrap(), ["/robots.txt", "/timeouts.md"]);
    assert!(
        report.refusals.iter().any(|it| it.contains("evil.org")),
        "{:?}",
        report.refusals
    );
    let outcome = engine
        .admit_passages(&setup, &question, &report, &ada())
        .unwrap();
    let entry = engine.entry(outcome.entries[0]).unwrap();
    let created = entry.created.unwrap();
    let foraged = created.foraged.unwrap();
    assert_eq!(
        foraged.source_url.as_str(),
        "http://docs.site.org/timeouts.md"
    );
    assert_eq!(
        foraged.forager_query.unwrap().as_str(),
        "set timeout request"
    );
    assert_eq!(foraged.fetch_level, FetchLevel::Markdown);
    assert_eq!(foraged.forager_trigger, ForageMode::Operator);
    assert!(foraged.quality_score_milli >= 550);
    let log = format!("{:?}", engine.forage_log().unwrap());
    assert!(!log.contains("timeout"), "{log}");
}

#[test]
fn a_search_service_that_fails_is_explained_and_a_private_question_is_not_sent() {
    let dir = repository("");
    let mut engine = open_engine(dir.path());
    // It has no page `/search`, like an instance without JSON.
    let (service, asked) = serve(&[("/search", "<html>results</html>")]);
    let (address, seen) = serve(&[]);
    let setup = setup_of(&format!(
        "sources = [\"searxng\"]\n[searxng]\nurl = \"http://{service}/\"\n\
         [egress]\nallow = [\"{HOST}\"]\n[budget]\nsearches_per_day = 1"
    ));
    let mut ask = |text: &str| {
        let question = ForageQuestion {
            text: text.to_owned(),
            ..question()
        };
        engine
            .find_passages_through(&mut gateway(address), &setup, &question)
            .unwrap()
            .refusals
            .join("; ")
    };
    let private = ask("Why does Umbrella lose ORION-1234?");
    assert!(private.contains("fewer than two words"), "{private}");
    let html = ask(QUESTION);
    assert!(html.contains("does not answer in JSON"), "{html}");
    let spent = ask(QUESTION);
    assert!(spent.contains("the limit of searches per day"), "{spent}");
    assert_eq!(asked.lock().unwrap().len(), 1);
    assert!(seen.lock().unwrap().is_empty());
}

#[test]
fn a_distrusted_domain_is_not_asked_and_trust_allows_no_host() {
    let (address, seen) = serve(&[("/llms.txt", INDEX), ("/timeouts.md", PAGE)]);
    let dir = repository("");
    let mut engine = open_engine(dir.path());
    engine
        .override_domain("site.org", DomainAction::Distrust, &ada())
        .unwrap();
    let find = |engine: &mut Engine| {
        engine
            .find_passages_through(&mut gateway(address), &setup(), &question())
            .unwrap()
    };
    let report = find(&mut engine);
    assert!(report.findings.is_empty() && seen.lock().unwrap().is_empty());
    assert!(
        report.refusals[0].contains("distrusts"),
        "{:?}",
        report.refusals
    );
    engine
        .override_domain("site.org", DomainAction::Reset, &ada())
        .unwrap();
    let plain = find(&mut engine).findings[0].quality_milli;
    engine
        .override_domain(HOST, DomainAction::Trust, &ada())
        .unwrap();
    let trusted = find(&mut engine).findings[0].quality_milli;
    assert_eq!(trusted, plain + 45, "trust lifts the score of the source");
    // A trusted host that the user does not allow is not asked.
    let before = seen.lock().unwrap().len();
    let other = setup_of("sources = [\"hosts\"]\n[egress]\nallow = [\"other.org\"]");
    let report = engine
        .find_passages_through(&mut gateway(address), &other, &question())
        .unwrap();
    assert!(report.findings.is_empty());
    assert_eq!(seen.lock().unwrap().len(), before);
}

#[test]
fn a_host_that_gives_nothing_is_paused_and_the_ledger_learns_it_with_a_proposal() {
    const EMPTY: &str = "# Site\n\nThis page has other words entirely, about cooking.\n";
    let (address, seen) = serve(&[("/llms.txt", EMPTY)]);
    let dir = repository("");
    let mut engine = open_engine(dir.path());
    let mut report = ForageReport::default();
    for _ in 0..4 {
        report = engine
            .find_passages_through(&mut gateway(address), &setup(), &question())
            .unwrap();
    }
    let pages = seen
        .lock()
        .unwrap()
        .iter()
        .filter(|it| *it == "/llms.txt")
        .count();
    assert_eq!(pages, 3, "the fourth time it is paused");
    assert!(
        report.refusals[0].contains("paused"),
        "{:?}",
        report.refusals
    );
    assert!(
        engine.domain_statuses().unwrap().is_empty(),
        "a reading list writes nothing"
    );
    engine
        .admit_passages(&setup(), &question(), &report, &ada())
        .unwrap();
    drop(engine);
    // Another process reads it from the events.
    let engine = open_engine(dir.path());
    let known = engine.domain_statuses().unwrap();
    let learned = known[0].learned.unwrap();
    assert_eq!((known.len(), known[0].domain.as_str()), (1, HOST));
    assert_eq!(learned.strategy, FetchStrategy::Nothing);
}

#[test]
fn hosts_that_locked_packages_declare_are_asked_only_if_the_user_allows_it() {
    let (address, seen) = serve(&[("/llms.txt", INDEX), ("/timeouts.md", PAGE)]);
    let dir = repository("");
    let lock = "version = 4\n\n[[package]]\nname = \"tiny\"\nversion = \"1.2.3\"\n\
        source = \"registry+https://example.org/index\"\n";
    fs::write(dir.path().join("Cargo.lock"), lock).unwrap();
    let manifest = format!(
        "[package]\nname = \"tiny\"\nversion = \"1.2.3\"\ndocumentation = \"https://{HOST}/tiny\"\n\
         repository = \"https://github.com/a/tiny\"\n"
    );
    let vendored = dir.path().join("vendor/tiny");
    fs::create_dir_all(&vendored).unwrap();
    fs::write(vendored.join("Cargo.toml"), &manifest).unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut engine = open_engine(dir.path());
    let mut find = |declared: bool| {
        let mut setup = setup_of(&format!(
            "sources = [\"packages\", \"hosts\"]\n[egress]\ndeclared = {declared}"
        ));
        setup.folders.cargo_home = Some(home.path().to_owned());
        let question = ForageQuestion {
            packages: vec!["tiny".to_owned()],
            ..question()
        };
        engine
            .find_passages_through(&mut gateway(address), &setup, &question)
            .unwrap()
    };
    // The manifest inside of the repository must not choose hosts.
    assert!(find(true).findings.is_empty());
    fs::remove_dir_all(&vendored).unwrap();
    let unpacked = home.path().join("registry/src/index/tiny-1.2.3");
    fs::create_dir_all(&unpacked).unwrap();
    fs::write(unpacked.join("Cargo.toml"), &manifest).unwrap();
    assert!(find(false).findings.is_empty());
    assert!(seen.lock().unwrap().is_empty());
    assert_eq!(find(true).findings[0].host.as_deref(), Some(HOST));
}
