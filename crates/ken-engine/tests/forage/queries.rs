//! Queries for search services: of private questions, only public words leave.

use std::collections::BTreeSet;
use std::fs;

use ken_engine::Engine;
use ken_engine::forage::ForageSetup;
use ken_engine::guard::Guard;
use ken_guard::GuardPolicy;
use ken_guard::sample::{RuleSample, samples_of_every_rule};

use crate::{open_engine, repository, setup_of};

/// Number of generated questions.
const QUESTIONS: usize = 1_000;

/// Questions that must keep a usable query. Measured: see `docs/explanation/forager.md`.
const USABLE_MIN: usize = 900;

/// Engineering questions. `{}` is replaced by something private.
const TEMPLATES: [&str; 40] = [
    "Why does {} close the database connection after a timeout?",
    "How do I set the request timeout of the client in {}?",
    "What is the maximum number of open connections per pool for {}?",
    "How can {} retry a failed request without sending it twice?",
    "Which header does {} need so that the browser accepts the cookie?",
    "Where does {} store the session token after login?",
    "How do I parse a date with a time zone in {}?",
    "Why is the response empty when {} sends an invalid body?",
    "How do I write a test for {} that mocks the clock?",
    "What happens in {} if the lock is already taken by another thread?",
    "How do I make {} read its settings from environment variables?",
    "Why does the build of {} fail with a missing symbol?",
    "How should {} handle a partial write to the file?",
    "How do I stream a large file from {} without loading it into memory?",
    "What is the default buffer size of the channel in {}?",
    "How do I cancel a running task of {} when the user closes the page?",
    "Does {} escape user input before it renders the template?",
    "How do I add an index to a large table of {} without blocking writes?",
    "Why are messages of {} delivered twice after a restart?",
    "How do I limit the number of requests per second to {}?",
    "What does the error about a closed pipe in {} mean?",
    "How do I compare two floating point numbers in {}?",
    "How can I see which query of {} is slow?",
    "Which order do the middleware layers of {} run in?",
    "How do I rotate the signing key of {} without logging out users?",
    "How do I validate nested JSON objects in {}?",
    "Why does the garbage collector pause {} for so long?",
    "How do I share state between handlers in {}?",
    "Can {} read a compressed response without extra memory?",
    "How do I sort a list of records by two keys in {}?",
    "What is the difference between a shared and an exclusive lock in {}?",
    "How do I pass a custom certificate to the HTTP client of {}?",
    "Why does the cache of {} return stale values?",
    "How do I roll back a migration of {} that failed halfway?",
    "How do I log a panic in {} with its stack trace?",
    "In {}, how do I wait for several futures at once?",
    "{} prints garbled characters: how do I set the encoding of the output?",
    "We moved {} to another region. How do we keep the queue in order?",
    "Our service {} leaks file handles. How do I find the leak?",
    "Is it safe to call the callback of {} from another thread?",
];

/// Words of general language that are also names of projects; the user lists them.
const LISTED: [&str; 12] = [
    "orion",
    "phoenix",
    "lighthouse",
    "falcon",
    "atlas",
    "mercury",
    "harvest",
    "compass",
    "granite",
    "horizon",
    "sparrow",
    "meridian",
];

/// Such words that nobody lists; a capital letter marks them.
const UNLISTED: [&str; 10] = [
    "Titan", "Apollo", "Neptune", "Eagle", "Summit", "Bridge", "Harbor", "Forge", "Anchor",
    "Beacon",
];

const PEOPLE: [&str; 6] = ["Smith", "Nguyen", "Kowalski", "Garcia", "Tanaka", "Okafor"];

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// Returns a made-up name of three syllables.
    fn made_up(&mut self) -> String {
        let syllables = [
            "zor", "vek", "qui", "lam", "tro", "nix", "bra", "xen", "dul", "kiv", "pho", "gry",
        ];
        (0..3).map(|_| self.pick(&syllables)).collect()
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// Something private in a sentence.
struct Planted {
    text: String,
    /// Text whose words must not leave: all of it, or of a guard's sample the generated parts.
    /// The sentence around them is general language.
    private: String,
}

/// Returns something private, in one of 16 forms.
fn plant(numbers: &mut Numbers, samples: &[RuleSample]) -> Planted {
    let Some(text) = private_text(numbers) else {
        let sample = &samples[numbers.below(samples.len())];
        let parts = sample.parts.iter().map(|it| &sample.text[it.clone()]);
        return Planted {
            text: sample.text.split_whitespace().collect::<Vec<_>>().join(" "),
            private: parts.collect::<Vec<_>>().join(" "),
        };
    };
    let private = text.clone();
    Planted { text, private }
}

/// Returns one of 15 forms; `None` in place of the last, a sample of the guard.
fn private_text(numbers: &mut Numbers) -> Option<String> {
    let name = numbers.made_up();
    let listed = numbers.pick(&LISTED).to_owned();
    let unlisted = numbers.pick(&UNLISTED).to_owned();
    let person = numbers.pick(&PEOPLE);
    let text = match numbers.below(16) {
        0 => name,
        1 => capitalized(&name),
        2 => name.to_uppercase(),
        3 => listed,
        4 => format!("the {listed} service"),
        5 => format!("project {}", capitalized(&listed)),
        6 => format!("our customer {unlisted}"),
        7 => format!("{}{unlisted}Client", capitalized(&name)),
        8 => format!("{name}_{listed}_worker"),
        9 => format!("services/{name}/src/{listed}_handler.rs"),
        10 => format!("{name}.{listed}.internal"),
        11 => format!("{}@{name}.com", person.to_lowercase()),
        12 => format!("{}-{}", name.to_uppercase(), 100 + numbers.below(900)),
        13 => format!("`{listed}.connect({name})`"),
        14 => format!("\"{unlisted} {person}\""),
        _ => return None,
    };
    Some(text)
}

fn words_of(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|it| it.len() >= 3);
    words.map(str::to_lowercase).collect()
}

#[test]
fn of_a_thousand_private_questions_no_planted_word_leaves() {
    let dir = repository("");
    let engine = open_engine(dir.path());
    let setup = setup_of(&format!("sources = [\"packages\"]\nnames = {LISTED:?}"));
    let samples = samples_of_every_rule(34);
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    let (mut usable, mut leaked, mut words) = (0, Vec::new(), 0);
    let mut planted_words = BTreeSet::new();
    for at in 0..QUESTIONS {
        let template = TEMPLATES[at % TEMPLATES.len()];
        let planted = plant(&mut numbers, &samples);
        let question = template.replace("{}", &planted.text);
        // Words that the template has anyway are not private.
        let own = words_of(template);
        let secret_words: BTreeSet<String> = words_of(&planted.private)
            .difference(&own)
            .cloned()
            .collect();
        planted_words.extend(secret_words.iter().cloned());
        let Some(query) = query_of(&engine, &setup, &question) else {
            continue;
        };
        usable += 1;
        words += query.split(' ').count();
        let sent = words_of(&query);
        let out: Vec<&String> = sent.intersection(&secret_words).collect();
        // What a form says in general language is not private: "our customer", "the service".
        let out: Vec<_> = out
            .into_iter()
            .filter(|it| !FORM_WORDS.contains(&it.as_str()))
            .collect();
        if !out.is_empty() {
            leaked.push(format!("{question} -> {query}: {out:?}"));
        }
        assert!(query.split(' ').all(is_allowed_form), "{query}");
    }
    println!(
        "{QUESTIONS} questions with {} planted words: {usable} usable queries of {words} words, {} with a planted word",
        planted_words.len(),
        leaked.len()
    );
    assert_eq!(leaked, [] as [String; 0]);
    assert!(usable >= USABLE_MIN, "{usable}");
}

/// Words of the planted forms that are no names.
const FORM_WORDS: [&str; 5] = ["service", "project", "customer", "our", "bug"];

/// Returns whether a word has no form of an identifier, path or number.
fn is_allowed_form(word: &str) -> bool {
    ["http2", "utf8"].contains(&word) || word.bytes().all(|it| it.is_ascii_lowercase())
}

fn query_of(engine: &Engine, setup: &ForageSetup, question: &str) -> Option<String> {
    engine.search_service_query(setup, question).unwrap()
}

#[test]
fn ordinary_words_public_terms_and_packages_of_the_public_registry_pass() {
    let dir = repository("");
    let lock = "version = 4\n\n[[package]]\nname = \"serde_json\"\nversion = \"1.0.0\"\n\
        source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\n\
        [[package]]\nname = \"payroll-tax\"\nversion = \"1.0.0\"\n\
        source = \"registry+https://cargo.corp.net/index\"\n";
    fs::write(dir.path().join("Cargo.lock"), lock).unwrap();
    let home = tempfile::tempdir().unwrap();
    let unpacked = home.path().join("registry/src/index/serde_json-1.0.0");
    fs::create_dir_all(&unpacked).unwrap();
    let manifest = "[package]\nname = \"serde_json\"\nversion = \"1.0.0\"\n";
    fs::write(unpacked.join("Cargo.toml"), manifest).unwrap();
    let readme = "# serde_json\n\nA fast deserializer. Acme uses the flumoxer of the parser.\n";
    fs::write(unpacked.join("README.md"), readme).unwrap();
    let engine = open_engine(dir.path());
    let mut setup = setup_of("sources = [\"packages\"]\nnames = [\"Umbrella Corp\"]");
    setup.folders.cargo_home = Some(home.path().to_owned());
    let table = [
        (
            "How do I set the timeout of an HTTP request?",
            Some("set timeout http request"),
        ),
        (
            "How does serde_json parse numbers with the flumoxer?",
            Some("serde_json parse numbers flumoxer"),
        ),
        // The words of a private package's name are private, although they are ordinary words.
        (
            "How does the parser round the payroll tax?",
            Some("parser round"),
        ),
        // Acme is in the documentation, but with a capital letter.
        ("Why does Acme lose umbrellas?", None),
        ("why does login fail with password: hunter2hunter2", None),
        ("", None),
    ];
    for (question, expected) in table {
        assert_eq!(
            query_of(&engine, &setup, question).as_deref(),
            expected,
            "{question}"
        );
    }
}

#[test]
fn names_of_the_guard_stop_a_query() {
    let dir = repository("");
    let mut engine = open_engine(dir.path());
    let setup = setup_of("sources = [\"packages\"]");
    let question = "why does the harvest service lose the connection pool?";
    assert!(query_of(&engine, &setup, question).is_some());
    let guard = Guard {
        policy: GuardPolicy::default().with_names(["harvest"]),
        ..Guard::default()
    };
    engine.set_guard(guard);
    assert_eq!(query_of(&engine, &setup, question), None);
}
