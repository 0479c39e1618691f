//! Malformed pages: generated and mutated HTML, Markdown and text. Nothing panics, and time, number
//! and length stay within limits.
//!
//! `KEN_FUZZ_SECONDS=600` mutates for that long, in processor time, and prints the figures.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use ken_forage::{
    BLOCKS_MAX, DocumentFormat, PASSAGE_CHARS_MAX, PassageIndex, PassageSource, is_page_opted_out,
    read_blocks, split_passages,
};

/// Pages of a normal test run.
const PAGES: u64 = 1_500;
/// Maximum size of a page, as of a response.
const PAGE_BYTES_MAX: usize = 2 << 20;
/// Time that a page may take, generous for a busy machine and a build without optimization.
const PAGE_TIME_MAX: Duration = Duration::from_secs(20);
/// Time that a page may take in an optimized build.
const PAGE_TIME_OPTIMIZED_MAX: Duration = Duration::from_secs(2);

const FORMATS: [DocumentFormat; 3] = [
    DocumentFormat::Html,
    DocumentFormat::Markdown,
    DocumentFormat::Text,
];

const SEEDS: [&str; 6] = [
    "<!doctype html><html><head><title>T</title><meta name=robots content=noai></head><body><main>\
     <h1>Timeouts</h1><p>Call <code>set_timeout</code> to set the timeout of a request.</p>\
     <pre><code>client.timeout(5);</code></pre><div style='display:none'>hidden</div></main></body>",
    "<article><h2>Pools &amp; limits</h2><ul><li>One is <b>open</b>.<li>Two are <a href=x>closed</a>.\
     </ul><table><tr><td>a</td><td>b</td></tr></table><script>var a = '</p>';</script></article>",
    "<div><![CDATA[ x ]]><!-- <p>no</p> --><p title=\"a > b\" hidden>no</p><p>yes &#x41;&#65;&bogus;\
     <br/>more <img alt='x'></p></div><svg><text>t</text></svg><template><p>no</p></template>",
    "# Title\n\nA paragraph with `code` and [a link](https://example.org \"t\").\n\n```rust\nlet a = 1;\n\
     ```\n\n- one\n- two\n  - three\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<details><summary>s</summary>\n\n\
     text\n\n</details>\n",
    "Setext\n======\n\n> quote\n> more\n\n1. first\n2. second\n\n***\n\n[ref]: https://example.org\n\
     ![image][ref] and <b style=\"opacity:0\">hidden</b> text.\n",
    "NAME\n    ken - knowledge\n\nDESCRIPTION\n    It answers questions. It cites sources.\n\n\
     Usage\n-----\n\n    ken search x\n",
];

/// Pieces that are inserted: markup that is left open, nested, doubled or cut.
const PIECES: [&str; 44] = [
    "<",
    ">",
    "</",
    "/>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<!",
    "<?",
    "&",
    "&#",
    "&#x",
    "&#99999999;",
    "&amp",
    "\"",
    "'",
    "=",
    "<div",
    "</div>",
    "<p>",
    "</p>",
    "<main>",
    "</main>",
    "<script>",
    "</script>",
    "<style>",
    "<textarea>",
    "<svg>",
    "<template>",
    "<pre>",
    "<table><tr><td>",
    "<li>",
    " hidden",
    " style='display:none'",
    " aria-hidden=true",
    "\0",
    "\u{feff}",
    "\u{200b}",
    "\u{202e}",
    "\r\n",
    "```",
    "[",
    "\n\n    ",
];

/// A small generator: xorshift, so that every run sees the same pages.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end.max(1) as u64).unwrap()
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Returns a page: a seed with up to 40 mutations, of any size up to the limit.
fn page(numbers: &mut Numbers) -> String {
    let mut bytes = numbers.pick(&SEEDS).as_bytes().to_vec();
    for _ in 0..=numbers.below(40) {
        let at = numbers.below(bytes.len() + 1);
        match numbers.below(9) {
            0..=2 => {
                let piece = numbers.pick(&PIECES).bytes();
                bytes.splice(at..at, piece);
            }
            3 => {
                let end = (at + numbers.below(30)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let other = numbers.pick(&SEEDS);
                bytes.splice(at..at, other.bytes());
            }
            // Many copies of one piece: deep nesting, endless attributes.
            5 => {
                let power = if numbers.below(50) == 0 { 17 } else { 9 };
                let count = 1 << numbers.below(power);
                let piece = numbers.pick(&PIECES).repeat(count);
                bytes.splice(at..at, piece.bytes());
            }
            6 => {
                let start = numbers.below(at + 1);
                let part = bytes[start..at].to_vec();
                bytes.splice(at..at, part);
            }
            7 if at < bytes.len() => bytes[at] = u8::try_from(numbers.below(256)).unwrap(),
            _ => bytes.truncate(at.max(1)),
        }
        bytes.truncate(PAGE_BYTES_MAX);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads a page as the forager does, and checks what follows from any input.
fn check(format: DocumentFormat, text: &str) {
    let _ = is_page_opted_out(text);
    let blocks = read_blocks(format, text);
    assert!(blocks.len() <= BLOCKS_MAX);
    let lines = text.split('\n').count();
    let path: Arc<str> = "https://example.org/page".into();
    let passages = split_passages(&path, PassageSource::Guide, blocks);
    for passage in &passages {
        assert!(passage.text.chars().count() <= PASSAGE_CHARS_MAX + 2);
        let line = usize::try_from(passage.line).unwrap();
        assert!(line <= lines.max(1), "line {line} of {lines}");
    }
    let index = PassageIndex::new(passages);
    let question = "How do I set the timeout of a request?";
    let ranked = index.rank(question, &[], &mut |texts| vec![0.0; texts.len()], 3);
    assert!(ranked.len() <= 3);
}

/// Returns the peak memory of this process in KiB, where the system tells it.
fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|it| it.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the processor time of this thread, so that a busy machine does not count; where the
/// system does not tell it, the time since `started`.
fn busy_time(started: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|it| it.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| started.elapsed(), Duration::from_nanos)
}

#[test]
fn malformed_pages_end_within_the_limits() {
    let seconds = std::env::var("KEN_FUZZ_SECONDS").ok();
    let limit = seconds
        .and_then(|it| it.parse().ok())
        .map(Duration::from_secs);
    let allowed = if cfg!(debug_assertions) {
        PAGE_TIME_MAX
    } else {
        PAGE_TIME_OPTIMIZED_MAX
    };
    let mut numbers = Numbers(0x0123_4567_89ab_cdef);
    let started = Instant::now();
    let (mut pages, mut bytes, mut worst) = (0_u64, 0_u64, (Duration::ZERO, 0));
    loop {
        let is_done = match limit {
            Some(limit) => busy_time(started) >= limit,
            None => pages >= PAGES,
        };
        if is_done {
            break;
        }
        let text = page(&mut numbers);
        for format in FORMATS {
            let began = busy_time(started);
            check(format, &text);
            let took = busy_time(started).saturating_sub(began);
            assert!(
                took < allowed,
                "{took:?} for {} bytes as {format:?}",
                text.len()
            );
            if took > worst.0 {
                worst = (took, text.len());
            }
        }
        pages += 1;
        bytes += text.len() as u64;
    }
    println!(
        "{pages} pages ({bytes} bytes) as {} formats in {:?} of processor time; worst {:?} for {} bytes; peak memory {:?} KiB",
        FORMATS.len(),
        busy_time(started),
        worst.0,
        worst.1,
        peak_memory_kib()
    );
}
