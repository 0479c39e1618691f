//! Nothing escapes: names and addresses that must never be dialed.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ken_fetch::{EgressPolicy, FetchRefusal, is_public_address};
use proptest::prelude::*;

use crate::world::{PUBLIC, World, ample, no_robots, respond};

/// Addresses and whether they are public: the special registries and disguises of private ones.
const ADDRESSES: [(&str, bool); 58] = [
    ("0.0.0.0", false),
    ("0.1.2.3", false),
    ("10.0.0.1", false),
    ("10.255.255.255", false),
    ("100.64.0.1", false),
    ("100.127.255.254", false),
    ("100.128.0.1", true),
    ("127.0.0.1", false),
    ("127.1.2.3", false),
    ("169.254.169.254", false),
    ("169.254.0.1", false),
    ("172.16.0.1", false),
    ("172.31.255.255", false),
    ("172.32.0.1", true),
    ("192.0.0.1", false),
    ("192.0.0.170", false),
    ("192.0.2.1", false),
    ("192.31.196.1", false),
    ("192.52.193.1", false),
    ("192.88.99.1", false),
    ("192.168.0.1", false),
    ("192.175.48.1", false),
    ("198.18.0.1", false),
    ("198.19.255.255", false),
    ("198.20.0.1", true),
    ("198.51.100.7", false),
    ("203.0.113.9", false),
    ("224.0.0.1", false),
    ("239.255.255.250", false),
    ("240.0.0.1", false),
    ("255.255.255.255", false),
    ("8.8.8.8", true),
    ("93.184.216.34", true),
    ("::", false),
    ("::1", false),
    ("::127.0.0.1", false),
    ("::ffff:127.0.0.1", false),
    ("::ffff:10.0.0.1", false),
    ("::ffff:169.254.169.254", false),
    ("::ffff:8.8.8.8", false),
    ("::ffff:0:127.0.0.1", false),
    ("64:ff9b::127.0.0.1", false),
    ("64:ff9b::a00:1", false),
    ("64:ff9b:1::1", false),
    ("100::1", false),
    ("2001::1", false),
    ("2001:0:4136:e378:8000:63bf:3fff:fdd2", false),
    ("2001:2::1", false),
    ("2001:10::1", false),
    ("2001:db8::1", false),
    ("2002:7f00:1::1", false),
    ("2002:c0a8:1::1", false),
    ("3fff::1", false),
    ("5f00::1", false),
    ("fc00::1", false),
    ("fe80::1", false),
    ("ff02::1", false),
    ("2606:2800:220:1:248:1893:25c8:1946", true),
];

/// URLs that are refused before any name is looked up.
const URLS: [(&str, &str); 44] = [
    ("", "malformed"),
    ("docs.site.org/page", "malformed"),
    ("//docs.site.org/", "malformed"),
    ("https://", "malformed"),
    ("https:///", "malformed"),
    ("file:///etc/passwd", "scheme"),
    ("file://docs.site.org/etc/passwd", "scheme"),
    ("gopher://docs.site.org/1", "scheme"),
    ("ftp://docs.site.org/a", "scheme"),
    ("dict://docs.site.org:11211/", "scheme"),
    ("data:text/html,hi", "scheme"),
    ("javascript:alert(1)", "scheme"),
    ("ws://docs.site.org/", "scheme"),
    ("http://docs.site.org/", "scheme"),
    ("https://user@docs.site.org/", "credentials"),
    ("https://user:secret@docs.site.org/", "credentials"),
    ("https://docs.site.org@127.0.0.1/", "credentials"),
    ("https://docs.site.org:pw@evil.org/", "credentials"),
    ("https://127.0.0.1/", "address_literal"),
    ("https://127.1/", "address_literal"),
    ("https://2130706433/", "address_literal"),
    ("https://0x7f000001/", "address_literal"),
    ("https://0x7f.1/", "address_literal"),
    ("https://0177.0.0.1/", "address_literal"),
    ("https://017700000001/", "address_literal"),
    ("https://127.0.0.1./", "address_literal"),
    ("https://%31%32%37.0.0.1/", "address_literal"),
    ("https://１２７.０.０.１/", "address_literal"),
    ("https://[::1]/", "address_literal"),
    ("https://[::ffff:127.0.0.1]/", "address_literal"),
    ("https://[::ffff:7f00:1]/", "address_literal"),
    ("https://93.184.216.34/", "address_literal"),
    ("https://localhost/", "local_name"),
    ("https://LOCALHOST./", "local_name"),
    ("https://docs.localhost/", "local_name"),
    ("https://printer.local/", "local_name"),
    ("https://metadata.google.internal/", "local_name"),
    ("https://router.home.arpa/", "local_name"),
    ("https://intranet/", "local_name"),
    ("https://docs.site.org:8443/", "port"),
    ("https://docs.site.org.evil.org/", "not_allowed"),
    ("https://evildocs.site.org.uk/", "not_allowed"),
    ("https://dоcs.site.org/", "not_allowed"),
    ("https://private.docs.site.org/", "denied"),
];

fn policy() -> EgressPolicy {
    EgressPolicy::new(
        ["docs.site.org".to_owned()],
        ["private.docs.site.org".to_owned()],
    )
}

#[test]
fn the_table_has_enough_forms() {
    let forms: BTreeSet<&str> = ADDRESSES.iter().map(|it| it.0).collect();
    assert!(forms.len() + URLS.len() >= 60);
    assert_eq!(forms.len(), ADDRESSES.len());
}

#[test]
fn only_public_addresses_are_dialed() {
    for (address, is_public) in ADDRESSES {
        let parsed: IpAddr = address.parse().unwrap();
        assert_eq!(is_public_address(parsed), is_public, "{address}");
        // The same through the whole gateway: no dial for any address that is not public.
        let world = World::new();
        world.name("docs.site.org", &[&[address]]);
        let mut gateway = world.gateway(&["docs.site.org"], ample());
        let refused = gateway.fetch("http://docs.site.org/").unwrap_err();
        if is_public {
            assert_eq!(refused.name(), "robots", "{address}");
        } else {
            assert_eq!(refused.name(), "not_public", "{address}");
            world.assert_no_dial();
        }
    }
}

#[test]
fn urls_are_refused_before_a_name_is_looked_up() {
    for (url, expected) in URLS {
        let world = World::new();
        for host in ["docs.site.org", "evil.org", "localhost"] {
            world.name(host, &[&[PUBLIC]]);
        }
        let mut gateway = world.gateway_with(policy(), ample());
        let refused = gateway.fetch(url).unwrap_err();
        assert_eq!(refused.name(), expected, "{url}: {refused}");
        assert!(world.names.asked.lock().unwrap().is_empty(), "{url}");
        world.assert_no_dial();
    }
}

#[test]
fn an_answer_that_mixes_public_and_private_addresses_is_refused() {
    for answer in [
        &[PUBLIC, "127.0.0.1"][..],
        &["127.0.0.1", PUBLIC],
        &[PUBLIC, "::1"],
        &[PUBLIC, "::ffff:10.0.0.1"],
        &[],
    ] {
        let world = World::new();
        world.serve("docs.site.org", PUBLIC, |_, stream| {
            respond(stream, "200 OK", &[], b"");
        });
        world.name("docs.site.org", &[answer]);
        let mut gateway = world.gateway(&["docs.site.org"], ample());
        let refused = gateway.fetch("http://docs.site.org/").unwrap_err();
        assert!(
            matches!(refused.name(), "not_public" | "unresolved"),
            "{answer:?}"
        );
        world.assert_no_dial();
    }
}

#[test]
fn a_name_that_changes_after_the_check_is_refused_at_the_next_request() {
    // robots.txt is read at the public address; the page's own lookup says loopback.
    let world = World::new();
    let seen = world.serve("docs.site.org", PUBLIC, |seen, stream| {
        if !no_robots(seen, stream) {
            respond(stream, "200 OK", &["Content-Type: text/plain"], b"never");
        }
    });
    world.name("docs.site.org", &[&[PUBLIC], &["127.0.0.1"]]);
    let mut gateway = world.gateway(&["docs.site.org"], ample());
    let refused = gateway.fetch("http://docs.site.org/").unwrap_err();
    assert_eq!(refused.name(), "not_public");
    assert_eq!(seen.lock().unwrap().len(), 1, "only robots.txt");
    // One lookup per request, and none by the client itself.
    assert_eq!(world.names.asked.lock().unwrap().len(), 2);
    world.assert_no_dial_outside();
}

#[test]
fn redirects_are_checked_like_the_first_url() {
    let table = [
        ("http://127.0.0.1/", "address_literal"),
        ("http://169.254.169.254/latest/meta-data", "address_literal"),
        ("http://0x7f.1/", "address_literal"),
        ("http://2130706433/", "address_literal"),
        ("http://[::1]/", "address_literal"),
        ("//127.0.0.1/", "address_literal"),
        ("http://localhost/", "local_name"),
        ("http://metadata.internal/", "local_name"),
        ("file:///etc/passwd", "scheme"),
        ("gopher://docs.site.org/", "scheme"),
        ("http://user:pw@docs.site.org/", "credentials"),
        ("http://other.org/", "not_allowed"),
        ("http://docs.site.org:22/", "port"),
        ("http://inner.docs.site.org/", "not_public"),
        ("http://mixed.docs.site.org/", "not_public"),
        ("http://", "redirect_target"),
    ];
    for (target, expected) in table {
        let world = World::new();
        let location = format!("Location: {target}");
        world.serve("docs.site.org", PUBLIC, move |seen, stream| {
            if !no_robots(seen, stream) {
                respond(stream, "302 Found", &[&location], b"");
            }
        });
        world.name("inner.docs.site.org", &[&["10.0.0.7"]]);
        world.name("mixed.docs.site.org", &[&[PUBLIC, "10.0.0.7"]]);
        let mut gateway = world.gateway(&["docs.site.org"], ample());
        // Hosts below an allowed one are allowed; plain http needs the exact name.
        let policy = EgressPolicy::new(["docs.site.org".to_owned()], []).with_plain_http([
            "docs.site.org".to_owned(),
            "inner.docs.site.org".to_owned(),
            "mixed.docs.site.org".to_owned(),
        ]);
        if target.contains("inner.") || target.contains("mixed.") {
            gateway = world.gateway_with(policy, ample());
        }
        let refused = gateway.fetch("http://docs.site.org/start").unwrap_err();
        assert_eq!(refused.name(), expected, "{target}");
        world.assert_no_dial_outside();
    }
}

#[test]
fn redirect_loops_and_long_chains_end() {
    let world = World::new();
    let seen = world.serve("docs.site.org", PUBLIC, |seen, stream| {
        if no_robots(seen, stream) {
            return;
        }
        let next = match seen.path.as_str() {
            "/a" => "/b".to_owned(),
            "/b" => "/a".to_owned(),
            path => format!("{path}x"),
        };
        respond(stream, "301 Moved", &[&format!("Location: {next}")], b"");
    });
    let mut gateway = world.gateway(&["docs.site.org"], ample());
    assert_eq!(
        gateway.fetch("http://docs.site.org/a").unwrap_err(),
        FetchRefusal::RedirectLoop
    );
    assert_eq!(
        gateway.fetch("http://docs.site.org/long").unwrap_err(),
        FetchRefusal::RedirectLimit
    );
    assert!(seen.lock().unwrap().len() <= 1 + 2 + 6);
}

#[test]
fn a_redirect_never_leads_from_encryption_to_plain_text() {
    let policy = EgressPolicy::new(["docs.site.org".to_owned()], [])
        .with_plain_http(["docs.site.org".to_owned()]);
    let world = World::new();
    // A server without TLS at port 443: the handshake fails, and no plain request is sent.
    let seen = world.serve("docs.site.org", PUBLIC, |_, stream| {
        respond(stream, "200 OK", &["Content-Type: text/plain"], b"plain");
    });
    let mut gateway = world.gateway_with(policy, ample());
    let refused = gateway.fetch("https://docs.site.org/").unwrap_err();
    assert!(
        matches!(refused.name(), "robots" | "unreachable" | "tls"),
        "{refused}"
    );
    let heads = seen.lock().unwrap();
    assert!(
        heads.iter().all(|it| !it.head.contains("user-agent")),
        "{heads:?}"
    );
    world.assert_no_dial_outside();
}

#[test]
fn proxies_of_the_environment_are_not_used() {
    // The client's configuration names no proxy whatever the environment says; with one, the
    // connector would see the proxy's address, which is not in the table.
    let world = World::new();
    world.serve("docs.site.org", PUBLIC, |seen, stream| {
        if !no_robots(seen, stream) {
            respond(stream, "200 OK", &["Content-Type: text/plain"], b"page");
        }
    });
    let mut gateway = world.gateway(&["docs.site.org"], ample());
    assert_eq!(gateway.fetch("http://docs.site.org/").unwrap().text, "page");
    let dialed = world.dialer.inside.lock().unwrap().clone();
    assert!(
        dialed
            .iter()
            .all(|it| it.to_string() == format!("{PUBLIC}:80"))
    );
    world.assert_no_dial_outside();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn an_address_is_public_only_outside_of_every_special_network(v4 in any::<u32>(), v6 in any::<u128>()) {
        let v4 = Ipv4Addr::from(v4);
        // The standard library knows some of the networks; none of those may pass.
        let is_special = v4.is_private() || v4.is_loopback() || v4.is_link_local()
            || v4.is_broadcast() || v4.is_documentation() || v4.is_multicast() || v4.is_unspecified();
        prop_assert!(!(is_special && is_public_address(v4.into())));
        prop_assert!(!is_public_address(v4.to_ipv6_mapped().into()));
        prop_assert!(!is_public_address(v4.to_ipv6_compatible().into()));
        let v6 = Ipv6Addr::from(v6);
        let in_range = v6.segments()[0] >> 13 == 1;
        prop_assert!(in_range || !is_public_address(v6.into()));
    }

    #[test]
    fn no_generated_url_reaches_a_host_outside_the_policy(
        scheme in "(https?|file|gopher|ftp)",
        user in "([a-z]{1,3}(:[a-z]{1,3})?@)?",
        host in "([a-z0-9.-]{1,12}|[0-9]{1,10}|0x[0-9a-f]{1,8}|\\[::[0-9a-f]{1,4}\\]|docs\\.site\\.org|docs\\.site\\.org\\.)",
        port in "(:[0-9]{1,5})?",
        path in "(/[a-z@:]{0,5}){0,2}",
    ) {
        let url = format!("{scheme}://{user}{host}{port}{path}");
        if let Ok(url) = policy().check(&url) {
            prop_assert!(url.host() == "docs.site.org" || url.host().ends_with(".docs.site.org"));
            prop_assert!(url.as_str().starts_with("https://"));
            prop_assert!(!url.as_str().contains("@docs"));
        }
    }
}
