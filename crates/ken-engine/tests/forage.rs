//! The forager with hosts: `llms.txt` and the pages it lists, on loopback behind a table of names.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use ken_core::ledger::event::ForageMode;
use ken_core::values::actor::Actor;
use ken_engine::forage::{ForageHome, ForageQuestion, ForageSetup, PackageFolders};
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
            let page = pages.iter().find(|(it, _)| *it == path);
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
    let folder = tempfile::tempdir().unwrap();
    let home = ForageHome {
        folder: folder.path().to_owned(),
    };
    let text =
        format!("sources = [\"hosts\"]\n[egress]\nallow = [\"{HOST}\"]\nplain_http = [\"{HOST}\"]");
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
