//! Responses that are too large, too slow, damaged or of the wrong kind.

use std::io::Write as _;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use ken_fetch::{FetchRefusal, FetchedPage, PageFormat};

use crate::world::{PUBLIC, Seen, World, ample, no_robots, respond};

const TEXT: &str = "Content-Type: text/plain";
const GZIP: &str = "Content-Encoding: gzip";

fn fetch(
    answer: impl Fn(&Seen, &mut TcpStream) + Send + 'static,
) -> Result<FetchedPage, FetchRefusal> {
    let world = World::new();
    world.serve("docs.site.org", PUBLIC, move |seen, stream| {
        if !no_robots(seen, stream) {
            answer(seen, stream);
        }
    });
    let mut gateway = world.gateway(&["docs.site.org"], ample());
    let result = gateway.fetch("http://docs.site.org/page");
    world.assert_no_dial_outside();
    result
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_page_is_read_with_its_format_and_characters() {
    let page = fetch(|_, stream| {
        let headers = ["Content-Type: text/html; charset=ISO-8859-1"];
        respond(stream, "200 OK", &headers, b"<p>caf\xe9 \x96 ok</p>");
    });
    let page = page.unwrap();
    assert_eq!(
        (page.format, page.text.as_str()),
        (PageFormat::Html, "<p>café – ok</p>")
    );
    assert_eq!(page.url, "http://docs.site.org/page");
    let page = fetch(|_, stream| {
        respond(
            stream,
            "200 OK",
            &["Content-Type: text/markdown", GZIP],
            &gzip(b"# Hi"),
        );
    });
    assert_eq!(page.unwrap().text, "# Hi");
}

#[test]
fn requests_say_who_asks_and_nothing_else() {
    let world = World::new();
    let seen = world.serve("docs.site.org", PUBLIC, |seen, stream| {
        if !no_robots(seen, stream) {
            respond(stream, "200 OK", &[TEXT, "Set-Cookie: a=b"], b"x");
        }
    });
    let mut gateway = world.gateway(&["docs.site.org"], ample());
    gateway.fetch("http://docs.site.org/a").unwrap();
    gateway.fetch("http://docs.site.org/b").unwrap();
    for request in seen.lock().unwrap().iter() {
        let head = request.head.to_lowercase();
        assert!(head.contains("user-agent: ken-forager/"), "{head}");
        assert!(head.contains("(+https://bot.example.org)"), "{head}");
        for header in ["cookie", "referer", "authorization", "origin"] {
            assert!(!head.contains(&format!("\n{header}:")), "{head}");
        }
    }
}

#[test]
fn large_responses_are_refused_without_reading_them() {
    // A gigabyte, announced and not.
    let announced = fetch(|_, stream| {
        respond(
            stream,
            "200 OK",
            &[TEXT, "Content-Length: 1073741824"],
            b"x",
        );
    });
    assert_eq!(announced.unwrap_err().name(), "too_large");
    let started = Instant::now();
    let endless = fetch(|_, stream| {
        let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
        let piece = vec![b'a'; 64 << 10];
        for _ in 0..(1 << 14) {
            if stream.write_all(&piece).is_err() {
                return;
            }
        }
    });
    assert_eq!(endless.unwrap_err().name(), "too_large");
    assert!(started.elapsed() < Duration::from_secs(10));
    let chunks = fetch(|_, stream| {
        let head =
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
        let _gone = stream.write_all(head);
        let chunk = format!("{:x}\r\n{}\r\n", 32 << 10, "b".repeat(32 << 10));
        while stream.write_all(chunk.as_bytes()).is_ok() {}
    });
    assert_eq!(chunks.unwrap_err().name(), "too_large");
}

#[test]
fn decompression_bombs_are_refused() {
    // 64 MiB of zeros are 64 KiB packed; the ratio is noticed long before they are unpacked.
    let bomb = gzip(&vec![b' '; 64 << 20]);
    let nested = gzip(&bomb);
    let cases: [(Vec<u8>, &str, &str); 6] = [
        (bomb, GZIP, "bomb"),
        (nested, "Content-Encoding: gzip, gzip", "encoding"),
        (b"x".to_vec(), "Content-Encoding: br", "encoding"),
        (b"x".to_vec(), "Content-Encoding: zstd", "encoding"),
        (b"not gzip at all".to_vec(), GZIP, "damaged"),
        (
            gzip(b"cut off in the middle")[..12].to_vec(),
            GZIP,
            "damaged",
        ),
    ];
    for (body, encoding, expected) in cases {
        let refused = fetch(move |_, stream| {
            respond(stream, "200 OK", &[TEXT, encoding], &body);
        });
        assert_eq!(refused.unwrap_err().name(), expected, "{encoding}");
    }
    // Text that compresses well, but is small, is no bomb.
    let fine = gzip("the same sentence again. ".repeat(2_000).as_bytes());
    assert!(fetch(move |_, stream| respond(stream, "200 OK", &[TEXT, GZIP], &fine)).is_ok());
}

#[test]
fn only_text_is_read() {
    let cases = [
        ("Content-Type: application/pdf", "content_type"),
        ("Content-Type: application/json", "content_type"),
        ("Content-Type: image/png", "content_type"),
        ("X-None: 1", "content_type"),
        ("Content-Type: text/html; charset=utf-16", "charset"),
        ("Content-Type: text/html; charset=utf-7", "charset"),
    ];
    for (header, expected) in cases {
        let refused = fetch(move |_, stream| respond(stream, "200 OK", &[header], b"x"));
        assert_eq!(refused.unwrap_err().name(), expected, "{header}");
    }
    let binary = fetch(|_, stream| respond(stream, "200 OK", &[TEXT], b"a\0b"));
    assert_eq!(binary.unwrap_err().name(), "charset");
    let missing = fetch(|_, stream| respond(stream, "404 Not Found", &[TEXT], b"x"));
    assert_eq!(missing.unwrap_err(), FetchRefusal::Status(404));
}

#[test]
fn pages_that_do_not_want_to_be_used_are_left_alone() {
    for header in [
        "X-Robots-Tag: noai",
        "X-Robots-Tag: ken-forager: nosnippet",
        "X-Robots-Tag: noindex, noarchive",
        "Content-Signal: search=yes, ai-input=no",
    ] {
        let refused = fetch(move |_, stream| respond(stream, "200 OK", &[TEXT, header], b"x"));
        assert_eq!(refused.unwrap_err(), FetchRefusal::OptedOut, "{header}");
    }
    let fine = ["X-Robots-Tag: noindex", "Content-Signal: ai-train=no"];
    for header in fine {
        let read = fetch(move |_, stream| respond(stream, "200 OK", &[TEXT, header], b"x"));
        assert!(read.is_ok(), "{header}");
    }
}

#[test]
fn headers_are_bounded() {
    let refused = fetch(|_, stream| {
        let many: Vec<String> = (0..10_000).map(|at| format!("X-{at}: {at}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        respond(stream, "200 OK", &many, b"x");
    });
    assert_eq!(refused.unwrap_err().name(), "unreachable");
    let refused = fetch(|_, stream| {
        let long = format!("X-Long: {}", "a".repeat(1 << 20));
        respond(stream, "200 OK", &[&long], b"x");
    });
    assert_eq!(refused.unwrap_err().name(), "unreachable");
}

#[test]
fn slow_servers_end_in_time() {
    // One byte per second in the header, in the body, and silence after the header.
    let slow_header = || {
        fetch(|_, stream| {
            for byte in b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" {
                if stream.write_all(&[*byte]).is_err() {
                    return;
                }
                thread::sleep(Duration::from_secs(1));
            }
        })
    };
    let slow_body = || {
        fetch(|_, stream| {
            let head =
                b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n";
            let _gone = stream.write_all(head);
            while stream.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_secs(1));
            }
        })
    };
    let silence = || {
        fetch(|_, stream| {
            let head =
                b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n";
            let _gone = stream.write_all(head);
            thread::sleep(Duration::from_secs(20));
        })
    };
    let run = |act: fn() -> Result<FetchedPage, FetchRefusal>| {
        thread::spawn(move || {
            let started = Instant::now();
            (act().map(|it| it.text), started.elapsed())
        })
    };
    for running in [run(slow_header), run(slow_body), run(silence)] {
        let (result, took) = running.join().unwrap();
        assert_eq!(result.unwrap_err().name(), "unreachable");
        assert!(took < Duration::from_millis(16_500), "{took:?}");
    }
}

#[test]
fn a_body_that_is_shorter_than_announced_is_refused() {
    let refused = fetch(|_, stream| {
        respond(stream, "200 OK", &[TEXT, "Content-Length: 100"], b"short");
    });
    assert_eq!(refused.unwrap_err().name(), "unreachable");
}
