//! Hosts, origins and cookies that the access checks let through.

use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method};

use super::*;
use crate::address::PageAddress;

const OWN: &str = "ken-abc.localhost:4000";

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut all = HeaderMap::new();
    for (name, value) in pairs {
        all.append(*name, HeaderValue::from_str(value).expect("a header"));
    }
    all
}

#[test]
fn only_our_own_names_are_answered() {
    let hosts = AllowedHosts::local("ken-abc.localhost", 4000);
    for host in [
        OWN,
        "KEN-ABC.localhost:4000",
        "127.0.0.1:4000",
        "localhost:4000",
        "[::1]:4000",
    ] {
        assert!(
            hosts.requested(&headers(&[("host", host)])).is_some(),
            "{host}"
        );
    }
    for host in [
        "",
        "127.0.0.1",
        "127.0.0.1:4001",
        "evil.example:4000",
        "ken-abd.localhost:4000",
    ] {
        assert!(
            hosts.requested(&headers(&[("host", host)])).is_none(),
            "{host}"
        );
    }
    let twice = headers(&[("host", OWN), ("host", "evil.example")]);
    assert_eq!(twice.get_all(HOST).iter().count(), 2);
    assert!(hosts.requested(&twice).is_none());
    assert!(hosts.requested(&HeaderMap::new()).is_none());
}

/// Every combination of origin headers and kind of request, with its verdict.
#[test]
fn requests_of_other_sites_are_refused_except_links() {
    let sites = [
        None,
        Some("same-origin"),
        Some("none"),
        Some("same-site"),
        Some("cross-site"),
        Some("x"),
    ];
    let origins = [
        None,
        Some("http://ken-abc.localhost:4000"),
        Some("http://evil.example"),
        Some("null"),
    ];
    for site in sites {
        for origin in origins {
            for (kind, method, mode, dest) in [
                ("link", Method::GET, "navigate", "document"),
                ("fetch", Method::GET, "cors", "empty"),
                ("frame", Method::GET, "navigate", "iframe"),
                ("form", Method::POST, "navigate", "document"),
            ] {
                let mut sent = headers(&[("sec-fetch-mode", mode), ("sec-fetch-dest", dest)]);
                if let Some(site) = site {
                    sent.insert("sec-fetch-site", HeaderValue::from_static(site));
                }
                if let Some(origin) = origin {
                    sent.insert(ORIGIN, HeaderValue::from_static(origin));
                }
                let is_ours = origin == Some("http://ken-abc.localhost:4000");
                let expected = match (kind, site) {
                    ("form", Some("same-origin")) if origin.is_none() || is_ours => {
                        FetchVerdict::Own
                    }
                    ("form", None) if is_ours => FetchVerdict::Own,
                    ("form", _) => FetchVerdict::Refused,
                    (_, None | Some("same-origin" | "none")) => FetchVerdict::Own,
                    ("link", Some("same-site" | "cross-site")) => FetchVerdict::ForeignLink,
                    (_, Some(_)) => FetchVerdict::Refused,
                };
                let verdict = check_fetch(&method, &sent, OWN);
                assert_eq!(verdict, expected, "{kind} {site:?} {origin:?}");
            }
        }
    }
}

#[test]
fn other_methods_are_not_allowed() {
    for method in [
        Method::OPTIONS,
        Method::PUT,
        Method::DELETE,
        Method::PATCH,
        Method::TRACE,
    ] {
        let verdict = check_fetch(&method, &HeaderMap::new(), OWN);
        assert_eq!(verdict, FetchVerdict::MethodNotAllowed, "{method}");
    }
}

#[test]
fn a_link_works_once_and_leads_to_the_cookie() {
    let sign_in = LocalSignIn::new(4000, "secret".to_owned());
    assert_eq!(
        sign_in.issue("code".to_owned(), PageAddress::Health),
        "/enter/code"
    );
    assert_eq!(sign_in.redeem("other"), None);
    assert_eq!(sign_in.redeem("code"), Some(PageAddress::Health));
    assert_eq!(sign_in.redeem("code"), None);
    let cookie = sign_in.set_cookie();
    let sent = cookie.split(';').next().expect("a cookie");
    let with = |cookie: &str| {
        let mut sent = HeaderMap::new();
        sent.insert(COOKIE, HeaderValue::from_str(cookie).expect("a header"));
        sign_in.is_signed_in(&sent)
    };
    assert!(with(sent) && with(&format!("a=b; {sent}")));
    for wrong in [
        "",
        "ken_4000=",
        "ken_4000=secreu",
        "ken_4001=secret",
        "secret",
    ] {
        assert!(!with(wrong), "{wrong}");
    }
    assert_eq!(format!("{sign_in:?}"), "LocalSignIn");
}
