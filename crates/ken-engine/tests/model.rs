//! Embedding models chosen by the user: an HTTP endpoint, played by a test server, and the real
//! all-MiniLM-L6-v2.
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

use ken_core::decide::Proposal;
use ken_core::ledger::event::Origin;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::Content;
use ken_core::values::kind::EntryKind;
use ken_engine::model::{Backend, ModelDownload, ModelEndpoint};
use ken_engine::notice::EngineNotice;
use ken_engine::runtime::FixedRuntime;
use ken_engine::search::{RelevanceFloor, SearchQuery};
use ken_engine::{Engine, GitEnv, init};
use tempfile::TempDir;

const STATEMENTS: [&str; 3] = [
    "A retried payment is charged twice unless the key of the request is kept.",
    "handleRequest takes the session lock before it writes the cache.",
    "Color themes are read once, when the window opens.",
];

fn repository_with_entries() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let git = Command::new("git")
        .args(["init", "-q"])
        .current_dir(&dir)
        .status();
    assert!(git.unwrap().success());
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let mut ken = open_engine(dir.path());
    for statement in STATEMENTS {
        add_entry(&mut ken, statement);
    }
    dir
}

fn add_entry(ken: &mut Engine, statement: &str) {
    let by = "agent:tester".parse().unwrap();
    let evidence: CitationSource = "pr:142".parse().unwrap();
    let content = Content::new(statement.parse().unwrap());
    let citations = vec![evidence.cite(&by, ken.now())];
    let proposal = Proposal::new(EntryKind::Learning, content, citations, Origin::Agent);
    ken.add(proposal, &by).unwrap();
}

fn open_engine(root: &Path) -> Engine {
    let world = FixedRuntime::new("2026-11-15T09:00:00Z".parse().unwrap(), 1);
    Engine::open(root, &GitEnv::default(), None, Box::new(world)).unwrap()
}

/// Returns the backend that answered, and the hits with everything their order depends on.
fn search_debug(ken: &mut Engine, query: &str) -> (Backend, String) {
    let search = SearchQuery {
        query: query.to_owned(),
        floor: RelevanceFloor::None,
        ..SearchQuery::default()
    };
    let answer = ken.search(&search, &mut |_, _| ()).unwrap();
    let hits = answer.hits.iter().map(|hit| {
        let text = &hit.entry.content.as_ref().unwrap().statement;
        format!("{text} {:?} {:?}\n", hit.cosine, hit.explained)
    });
    (answer.served_by, hits.collect())
}

/// An endpoint that embeds by counting letters, and can be switched off.
struct EmbeddingTestServer {
    url: String,
    is_down: Arc<AtomicBool>,
    texts: Arc<AtomicUsize>,
}

impl EmbeddingTestServer {
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
                    answer_request(stream.unwrap(), &texts);
                }
            }
        });
        server
    }

    fn endpoint(&self) -> ModelEndpoint {
        ModelEndpoint {
            dialect: "ollama".to_owned(),
            url: self.url.clone(),
            model: "letters".to_owned(),
            key_variable: None,
            allow_plaintext: false,
        }
    }

    /// Returns the number of texts embedded since the last call.
    fn take(&self) -> usize {
        self.texts.swap(0, Ordering::SeqCst)
    }
}

/// Answers one request; counts its texts before the caller can read the response.
fn answer_request(mut stream: TcpStream, counter: &AtomicUsize) {
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
    let (dir, server) = (repository_with_entries(), EmbeddingTestServer::start());
    let mut ken = open_engine(dir.path());
    let (rung, before) = search_debug(&mut ken, "paying two times");
    assert_eq!(rung, Backend::Static);
    ken.add_model_endpoint(&server.endpoint()).unwrap();
    assert_eq!(server.take(), 1, "the dimension is asked for");
    let report = ken.model_report().unwrap();
    assert_eq!((report.dimension, report.outdated), (Some(3), 3));
    let (rung, with_letters) = search_debug(&mut ken, "paying two times");
    assert_eq!((rung, server.take()), (Backend::Http, 4));
    assert_eq!(ken.model_report().unwrap().outdated, 0);
    assert_eq!(
        search_debug(&mut open_engine(dir.path()), "paying two times").1,
        with_letters
    );
    assert_eq!(server.take(), 1, "what is embedded stays so");
    ken.select_model(Backend::Static).unwrap();
    assert_eq!(
        search_debug(&mut ken, "paying two times"),
        (Backend::Static, before)
    );
    assert_eq!(server.take(), 0);
    ken.select_model(Backend::Http).unwrap();
    assert_eq!(
        search_debug(&mut ken, "paying two times"),
        (Backend::Http, with_letters)
    );
}

#[test]
fn an_endpoint_that_is_gone_leaves_keywords_and_its_vectors() {
    let (dir, server) = (repository_with_entries(), EmbeddingTestServer::start());
    let mut ken = open_engine(dir.path());
    ken.add_model_endpoint(&server.endpoint()).unwrap();
    search_debug(&mut ken, "session lock");
    server.is_down.store(true, Ordering::SeqCst);
    let mut ken = open_engine(dir.path());
    add_entry(&mut ken, "The session ends at midnight.");
    let (rung, found) = search_debug(&mut ken, "session midnight");
    assert_eq!(rung, Backend::None);
    assert!(
        found.starts_with("The session ends at midnight."),
        "{found}"
    );
    let notices = ken.take_notices();
    let told = |it: &EngineNotice| {
        matches!(
            it,
            EngineNotice::ModelMissing {
                served_by: Backend::None,
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
    let (rung, _) = search_debug(&mut open_engine(dir.path()), "session midnight");
    assert_eq!(
        (rung, server.take()),
        (Backend::Http, 2),
        "the new entry and the query"
    );
}

#[test]
fn an_endpoint_that_never_served_leaves_what_is_built_in() {
    let (dir, server) = (repository_with_entries(), EmbeddingTestServer::start());
    let mut ken = open_engine(dir.path());
    let before = search_debug(&mut ken, "session lock");
    ken.add_model_endpoint(&server.endpoint()).unwrap();
    server.is_down.store(true, Ordering::SeqCst);
    assert_eq!(search_debug(&mut ken, "session lock"), before);
    assert!(ken.model_report().unwrap().fallback_reason.is_some());
    assert!(ken.add_model_endpoint(&server.endpoint()).is_err());
}

#[test]
fn a_folder_is_tried_before_it_is_chosen() {
    let dir = repository_with_entries();
    let mut ken = open_engine(dir.path());
    assert!(ken.add_model_folder(dir.path()).is_err());
    assert_eq!(ken.model_report().unwrap().configured, "static");
    let wanted = ModelDownload {
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
    let mut ken = open_engine(dir.path());
    let error = ken
        .add_model_endpoint(&EmbeddingTestServer::start().endpoint())
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("only be added in a git repository"),
        "{error}"
    );
}

#[test]
fn a_transformer_finds_what_is_meant() {
    let Some(folder) = std::env::var_os("KEN_MINILM_DIR") else {
        eprintln!("not run: KEN_MINILM_DIR does not name the folder of the model");
        return;
    };
    let dir = repository_with_entries();
    let mut ken = open_engine(dir.path());
    let before = search_debug(&mut ken, "paying two times");
    ken.add_model_folder(Path::new(&folder)).unwrap();
    let (rung, found) = search_debug(&mut ken, "paying two times");
    assert_eq!(rung, Backend::Transformer);
    assert!(found.starts_with(STATEMENTS[0]), "{found}");
    assert_eq!(
        search_debug(&mut open_engine(dir.path()), "paying two times").1,
        found
    );
    ken.select_model(Backend::Static).unwrap();
    assert_eq!(search_debug(&mut ken, "paying two times"), before);
    ken.remove_models().unwrap();
    assert!(ken.select_model(Backend::Transformer).is_err());
}
