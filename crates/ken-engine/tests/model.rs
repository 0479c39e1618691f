//! Models a person chose: an endpoint, which is a server of this test, and the real all-MiniLM-L6-v2.
//!
//! The weights are not in the repository: `KEN_MINILM_DIR` names their folder, and CI sets it.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use ken_core::citation::Evidence;
use ken_core::content::Content;
use ken_core::decide::Proposal;
use ken_core::event::Origin;
use ken_core::kind::Kind;
use ken_engine::model::{Endpoint, Fetch, Rung};
use ken_engine::notice::Notice;
use ken_engine::search::{Floor, Search};
use ken_engine::world::FixedWorld;
use ken_engine::{Engine, GitEnv, init};
use tempfile::TempDir;

const STATEMENTS: [&str; 3] = [
    "A retried payment is charged twice unless the key of the request is kept.",
    "handleRequest takes the session lock before it writes the cache.",
    "Colour themes are read once, when the window opens.",
];

fn repository() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let git = Command::new("git")
        .args(["init", "-q"])
        .current_dir(&dir)
        .status();
    assert!(git.unwrap().success());
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let mut ken = open(dir.path());
    for statement in STATEMENTS {
        add(&mut ken, statement);
    }
    dir
}

fn add(ken: &mut Engine, statement: &str) {
    let by = "agent:tester".parse().unwrap();
    let evidence: Evidence = "pr:142".parse().unwrap();
    let content = Content::new(statement.parse().unwrap());
    let citations = vec![evidence.cite(&by, ken.now())];
    let proposal = Proposal::new(Kind::Learning, content, citations, Origin::Agent);
    ken.add(proposal, &by).unwrap();
}

fn open(root: &Path) -> Engine {
    let world = FixedWorld::new("2026-11-15T09:00:00Z".parse().unwrap(), 1);
    Engine::open(root, &GitEnv::default(), None, Box::new(world)).unwrap()
}

/// What a search found, with everything its order depends on, and the rung that served.
fn search(ken: &mut Engine, query: &str) -> (Rung, String) {
    let search = Search {
        query: query.to_owned(),
        floor: Floor::None,
        ..Search::default()
    };
    let answer = ken.search(&search, &mut |_, _| ()).unwrap();
    let hits = answer.hits.iter().map(|hit| {
        let text = &hit.entry.content.as_ref().unwrap().statement;
        format!("{text} {:?} {:?}\n", hit.cosine, hit.explained)
    });
    (answer.served_by, hits.collect())
}

/// An endpoint that embeds by counting letters, and can be out of order.
struct Server {
    url: String,
    is_down: Arc<AtomicBool>,
    texts: Arc<AtomicUsize>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            is_down: Arc::default(),
            texts: Arc::default(),
        };
        let (is_down, texts) = (Arc::clone(&server.is_down), Arc::clone(&server.texts));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if !is_down.load(Ordering::SeqCst) {
                    answer(stream.unwrap(), &texts);
                }
            }
        });
        server
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint {
            dialect: "ollama".to_owned(),
            url: self.url.clone(),
            model: "letters".to_owned(),
            key_variable: None,
            plain: false,
        }
    }

    /// Returns how many texts it embedded since last asked.
    fn take(&self) -> usize {
        self.texts.swap(0, Ordering::SeqCst)
    }
}

/// Answers one request, counted before the caller can have read the answer.
fn answer(mut stream: TcpStream, counter: &AtomicUsize) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let head = head.to_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap();
    let mut body = vec![0; length.lines().next().unwrap().parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let asked: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let count = |text: &str, c: char| text.chars().filter(|it| *it == c).count();
    let vector = |text: &str| ['a', 'e', 'o'].map(|c| count(text, c));
    let texts = asked["input"].as_array().unwrap();
    let vectors: Vec<_> = texts
        .iter()
        .map(|it| vector(it.as_str().unwrap()))
        .collect();
    let body = serde_json::json!({ "embeddings": vectors }).to_string();
    let length = body.len();
    counter.fetch_add(texts.len(), Ordering::SeqCst);
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
}

#[test]
fn another_model_embeds_everything_anew_and_changing_back_gives_the_same_answer() {
    let (dir, server) = (repository(), Server::start());
    let mut ken = open(dir.path());
    let (rung, before) = search(&mut ken, "paying two times");
    assert_eq!(rung, Rung::Static);
    ken.add_endpoint(&server.endpoint()).unwrap();
    assert_eq!(server.take(), 1, "the dimension is asked for");
    let report = ken.model().unwrap();
    assert_eq!((report.dimension, report.waiting), (Some(3), 3));
    let (rung, with_letters) = search(&mut ken, "paying two times");
    assert_eq!((rung, server.take()), (Rung::Http, 4));
    assert_eq!(ken.model().unwrap().waiting, 0);
    assert_eq!(
        search(&mut open(dir.path()), "paying two times").1,
        with_letters
    );
    assert_eq!(server.take(), 1, "what is embedded stays so");
    ken.use_model(Rung::Static).unwrap();
    assert_eq!(search(&mut ken, "paying two times"), (Rung::Static, before));
    assert_eq!(server.take(), 0);
    ken.use_model(Rung::Http).unwrap();
    assert_eq!(
        search(&mut ken, "paying two times"),
        (Rung::Http, with_letters)
    );
}

#[test]
fn ret_04_ret_23_ret_25_an_endpoint_that_is_gone_leaves_keywords_and_its_vectors() {
    let (dir, server) = (repository(), Server::start());
    let mut ken = open(dir.path());
    ken.add_endpoint(&server.endpoint()).unwrap();
    search(&mut ken, "session lock");
    server.is_down.store(true, Ordering::SeqCst);
    let mut ken = open(dir.path());
    add(&mut ken, "The session ends at midnight.");
    let (rung, found) = search(&mut ken, "session midnight");
    assert_eq!(rung, Rung::None);
    assert!(
        found.starts_with("The session ends at midnight."),
        "{found}"
    );
    let notices = ken.take_notices();
    let told = |it: &Notice| {
        matches!(
            it,
            Notice::ModelMissing {
                served_by: Rung::None,
                ..
            }
        )
    };
    assert_eq!(
        notices.iter().filter(|it| told(it)).count(),
        1,
        "{notices:?}"
    );
    server.is_down.store(false, Ordering::SeqCst);
    server.take();
    let (rung, _) = search(&mut open(dir.path()), "session midnight");
    assert_eq!(
        (rung, server.take()),
        (Rung::Http, 2),
        "the new entry and the query"
    );
}

#[test]
fn an_endpoint_that_never_served_leaves_what_is_built_in() {
    let (dir, server) = (repository(), Server::start());
    let mut ken = open(dir.path());
    let before = search(&mut ken, "session lock");
    ken.add_endpoint(&server.endpoint()).unwrap();
    server.is_down.store(true, Ordering::SeqCst);
    assert_eq!(search(&mut ken, "session lock"), before);
    assert!(ken.model().unwrap().trouble.is_some());
    assert!(ken.add_endpoint(&server.endpoint()).is_err());
}

#[test]
fn a_folder_is_tried_before_it_is_chosen() {
    let dir = repository();
    let mut ken = open(dir.path());
    assert!(ken.add_folder(dir.path()).is_err());
    assert_eq!(ken.model().unwrap().chosen, "static");
    let wanted = Fetch {
        name: "owner/name".to_owned(),
        hub: Some("http://127.0.0.1:9".to_owned()),
        cache: dir.path().join("cache"),
    };
    let error = ken.fetch_model(&wanted, &mut |_, _| ()).unwrap_err();
    assert!(error.hint().unwrap().contains("without a network"));
}

#[test]
fn outside_git_no_model_can_be_added() {
    let dir = tempfile::tempdir().unwrap();
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let mut ken = open(dir.path());
    let error = ken.add_endpoint(&Server::start().endpoint()).unwrap_err();
    assert!(
        error.to_string().contains("in a git repository only"),
        "{error}"
    );
}

#[test]
fn ret_22_a_transformer_finds_what_is_meant() {
    let Some(folder) = std::env::var_os("KEN_MINILM_DIR") else {
        eprintln!("not run: KEN_MINILM_DIR does not name the folder of the model");
        return;
    };
    let dir = repository();
    let mut ken = open(dir.path());
    let before = search(&mut ken, "paying two times");
    ken.add_folder(Path::new(&folder)).unwrap();
    let (rung, found) = search(&mut ken, "paying two times");
    assert_eq!(rung, Rung::Transformer);
    assert!(found.starts_with(STATEMENTS[0]), "{found}");
    assert_eq!(search(&mut open(dir.path()), "paying two times").1, found);
    ken.use_model(Rung::Static).unwrap();
    assert_eq!(search(&mut ken, "paying two times"), before);
    ken.remove_models().unwrap();
    assert!(ken.use_model(Rung::Transformer).is_err());
}
