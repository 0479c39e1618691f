//! Manners: `robots.txt`, rates, `Retry-After` and budgets, with a clock that does not wait.

use std::sync::Mutex;
use std::time::Duration;

use ken_fetch::{FetchBudget, FetchRefusal, FetchState};

use crate::world::{PUBLIC, World, ample, no_robots, respond};

const TEXT: &str = "Content-Type: text/plain";

/// Serves `robots` as raw status and body, and pages.
fn with_robots(
    status: &'static str,
    body: Vec<u8>,
) -> (World, Result<String, FetchRefusal>, usize) {
    let world = World::new();
    let seen = world.serve("docs.site.org", PUBLIC, move |seen, stream| {
        if seen.path == "/robots.txt" {
            respond(stream, status, &[TEXT], &body);
        } else {
            respond(stream, "200 OK", &[TEXT], b"page");
        }
    });
    let mut gateway = world.gateway(&["docs.site.org"], ample());
    let result = gateway
        .fetch("http://docs.site.org/private/a")
        .map(|it| it.text);
    let count = seen.lock().unwrap().len();
    (world, result, count)
}

#[test]
fn robots_txt_is_obeyed() {
    let disallow = b"User-agent: *\nDisallow: /private".to_vec();
    let mut long = b"User-agent: *\nDisallow: /private\n# ".to_vec();
    long.resize(600 << 10, b'x');
    let table: [(&str, Vec<u8>, Result<&str, FetchRefusal>); 8] = [
        ("200 OK", disallow, Err(FetchRefusal::Robots)),
        ("200 OK", long, Err(FetchRefusal::Robots)),
        (
            "200 OK",
            b"User-agent: other\nDisallow: /".to_vec(),
            Ok("page"),
        ),
        (
            "200 OK",
            b"User-agent: *\nContent-Signal: ai-input=no".to_vec(),
            Err(FetchRefusal::OptedOut),
        ),
        ("404 Not Found", Vec::new(), Ok("page")),
        ("403 Forbidden", Vec::new(), Ok("page")),
        ("500 Oops", Vec::new(), Err(FetchRefusal::Robots)),
        ("503 Busy", Vec::new(), Err(FetchRefusal::Robots)),
    ];
    for (status, body, expected) in table {
        let (world, result, requests) = with_robots(status, body);
        assert_eq!(
            result.as_deref(),
            expected.as_ref().map(|it| *it),
            "{status}"
        );
        assert_eq!(requests, if expected.is_ok() { 2 } else { 1 }, "{status}");
        world.assert_no_dial_outside();
    }
}

#[test]
fn robots_txt_is_read_once_a_day_also_by_another_process() {
    let world = World::new();
    let seen = world.serve("docs.site.org", PUBLIC, |seen, stream| {
        if !no_robots(seen, stream) {
            respond(stream, "200 OK", &[TEXT], b"page");
        }
    });
    let robots = || {
        seen.lock()
            .unwrap()
            .iter()
            .filter(|it| it.path == "/robots.txt")
            .count()
    };
    let mut gateway = world.gateway(&["docs.site.org"], ample());
    gateway.fetch("http://docs.site.org/1").unwrap();
    gateway.fetch("http://docs.site.org/2").unwrap();
    assert_eq!(robots(), 1);
    let state: FetchState = gateway.state().clone();
    let mut next = world.gateway(&["docs.site.org"], ample()).with_state(state);
    next.fetch("http://docs.site.org/3").unwrap();
    assert_eq!(robots(), 1);
    world.clock.advance(Duration::from_secs(24 * 60 * 60 + 1));
    next.fetch("http://docs.site.org/4").unwrap();
    assert_eq!(robots(), 2);
}

#[test]
fn a_host_is_asked_once_a_second_after_two_requests() {
    let world = World::new();
    world.serve("docs.site.org", PUBLIC, |seen, stream| {
        if !no_robots(seen, stream) {
            respond(stream, "200 OK", &[TEXT], b"page");
        }
    });
    let mut gateway = world.gateway(&["docs.site.org"], ample());
    for page in 0..5 {
        gateway
            .fetch(&format!("http://docs.site.org/{page}"))
            .unwrap();
    }
    // Six requests with robots.txt: two at once, then one per second.
    let slept: Duration = world.clock.slept.lock().unwrap().iter().sum();
    assert_eq!(slept, Duration::from_secs(4));
}

#[test]
fn a_crawl_delay_is_honored_up_to_ten_seconds() {
    let serve = |delay: &'static str| {
        let world = World::new();
        world.serve("docs.site.org", PUBLIC, move |seen, stream| {
            if seen.path == "/robots.txt" {
                let body = format!("User-agent: *\nCrawl-delay: {delay}");
                respond(stream, "200 OK", &[TEXT], body.as_bytes());
            } else {
                respond(stream, "200 OK", &[TEXT], b"page");
            }
        });
        world
    };
    let world = serve("7");
    let mut gateway = world.gateway(&["docs.site.org"], ample());
    gateway.fetch("http://docs.site.org/1").unwrap();
    gateway.fetch("http://docs.site.org/2").unwrap();
    let slept: Duration = world.clock.slept.lock().unwrap().iter().sum();
    assert!(slept >= Duration::from_secs(7), "{slept:?}");
    let world = serve("3600");
    let mut gateway = world.gateway(&["docs.site.org"], ample());
    let refused = gateway.fetch("http://docs.site.org/1").unwrap_err();
    assert_eq!(refused.name(), "retry_later");
    assert!(world.clock.slept.lock().unwrap().is_empty());
}

#[test]
fn retry_after_is_waited_for_once_or_remembered() {
    let table = [
        ("Retry-After: 2", true),
        ("Retry-After: 60", true),
        ("Retry-After: 3600", false),
        ("Retry-After: Wed, 21 Oct 2099 07:28:00 GMT", false),
        ("Retry-After: Wed, 21 Oct 2015 07:28:00 GMT", true),
        ("Retry-After: soon", false),
        ("X-None: 1", false),
    ];
    for (header, waits) in table {
        for status in ["429 Too Many", "503 Busy"] {
            let world = World::new();
            let first = Mutex::new(true);
            let seen = world.serve("docs.site.org", PUBLIC, move |seen, stream| {
                if no_robots(seen, stream) {
                    return;
                }
                if std::mem::take(&mut *first.lock().unwrap()) {
                    respond(stream, status, &[header], b"");
                } else {
                    respond(stream, "200 OK", &[TEXT], b"page");
                }
            });
            let mut gateway = world.gateway(&["docs.site.org"], ample());
            let result = gateway.fetch("http://docs.site.org/1");
            assert_eq!(result.is_ok(), waits, "{status} {header}");
            if waits {
                continue;
            }
            // Not asked again, also by a later process.
            let count = seen.lock().unwrap().len();
            let state = gateway.state().clone();
            let mut next = world.gateway(&["docs.site.org"], ample()).with_state(state);
            let refused = next.fetch("http://docs.site.org/2").unwrap_err();
            assert_eq!(refused.name(), "retry_later");
            assert_eq!(seen.lock().unwrap().len(), count);
        }
    }
}

#[test]
fn a_host_that_asks_to_wait_twice_is_left_alone() {
    let world = World::new();
    let seen = world.serve("docs.site.org", PUBLIC, |seen, stream| {
        if !no_robots(seen, stream) {
            respond(stream, "429 Too Many", &["Retry-After: 1"], b"");
        }
    });
    let mut gateway = world.gateway(&["docs.site.org"], ample());
    assert_eq!(
        gateway.fetch("http://docs.site.org/1").unwrap_err().name(),
        "retry_later"
    );
    assert_eq!(seen.lock().unwrap().len(), 3);
}

#[test]
fn budgets_are_taken_before_the_request_and_last_for_the_day() {
    let world = World::new();
    let seen = world.serve("docs.site.org", PUBLIC, |seen, stream| {
        if !no_robots(seen, stream) {
            respond(stream, "200 OK", &[TEXT], &[b'x'; 1000]);
        }
    });
    let budget = FetchBudget {
        pages_per_run: 2,
        pages_per_day: 3,
        ..ample()
    };
    let mut gateway = world.gateway(&["docs.site.org"], budget);
    gateway.fetch("http://docs.site.org/1").unwrap();
    gateway.fetch("http://docs.site.org/2").unwrap();
    assert_eq!(
        gateway.fetch("http://docs.site.org/3").unwrap_err(),
        FetchRefusal::PageBudget
    );
    let count = seen.lock().unwrap().len();
    // The next run of the day has one page left.
    let state = gateway.state().clone();
    let mut next = world.gateway(&["docs.site.org"], budget).with_state(state);
    next.fetch("http://docs.site.org/4").unwrap();
    assert_eq!(
        next.fetch("http://docs.site.org/5").unwrap_err(),
        FetchRefusal::PageBudget
    );
    assert_eq!(seen.lock().unwrap().len(), count + 1);
    // A day later there is a new budget; a clock that goes back grants none.
    let state = next.state().clone();
    world.clock.advance(Duration::from_secs(24 * 60 * 60));
    let mut later = world.gateway(&["docs.site.org"], budget).with_state(state);
    later.fetch("http://docs.site.org/6").unwrap();

    let bytes = FetchBudget {
        bytes_per_run: 1500,
        ..ample()
    };
    let mut gateway = world.gateway(&["docs.site.org"], bytes);
    gateway.fetch("http://docs.site.org/7").unwrap();
    let refused = gateway.fetch("http://docs.site.org/8").unwrap_err();
    assert!(
        matches!(refused.name(), "too_large" | "byte_budget"),
        "{refused}"
    );
    let time = FetchBudget {
        time_per_run: Duration::ZERO,
        ..ample()
    };
    let mut gateway = world.gateway(&["docs.site.org"], time);
    assert_eq!(
        gateway.fetch("http://docs.site.org/9").unwrap_err(),
        FetchRefusal::TimeBudget
    );
}

#[test]
fn attempts_are_logged_without_path_and_query() {
    let world = World::new();
    world.serve("docs.site.org", PUBLIC, |seen, stream| {
        if !no_robots(seen, stream) {
            respond(stream, "200 OK", &[TEXT], b"page");
        }
    });
    let mut gateway = world.gateway(&["docs.site.org"], ample());
    gateway
        .fetch("http://docs.site.org/secret-path?q=secret")
        .unwrap();
    let attempts = gateway.take_attempts();
    assert_eq!(attempts.len(), 1);
    assert_eq!(
        (attempts[0].host.as_str(), attempts[0].verdict),
        ("docs.site.org", "ok")
    );
    assert!(!format!("{attempts:?}").contains("secret"));
}
