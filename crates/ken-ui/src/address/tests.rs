//! Laws of addresses: what is written is read back, and nothing else is an address.

use ken_core::ledger::page::EntrySort;
use ken_core::ledger::store::LifecycleFilter;
use proptest::option;
use proptest::prelude::*;

use super::*;

fn list_query() -> impl Strategy<Value = EntryListQuery> {
    let texts = (
        "\\PC{0,12}",
        option::of("\\PC{1,12}"),
        option::of("[a-z/]{1,12}"),
    );
    let orders = prop::sample::select(EntrySort::ALL.to_vec());
    let kinds = option::of(prop::sample::select(
        ken_core::values::kind::EntryKind::ALL.to_vec(),
    ));
    let lifecycles = prop::sample::select(vec![LifecycleFilter::Live, LifecycleFilter::All]);
    (texts, orders, kinds, lifecycles).prop_map(|((words, by, after), order, kind, lifecycle)| {
        EntryListQuery {
            words,
            by,
            after,
            order,
            kind,
            lifecycle,
            ..EntryListQuery::default()
        }
    })
}

fn address() -> impl Strategy<Value = PageAddress> {
    let name = || "[^./\\x00-\\x1f\\x7f-\\x9f][^/\\x00-\\x1f\\x7f-\\x9f]{0,12}";
    let path = prop::collection::vec("[a-zäß #?%.]{1,8}x", 0..4)
        .prop_map(|segments| segments.join("/").parse::<RepoPath>().expect("a path"));
    let span = option::of((1..50_u32, 0..50_u32).prop_map(|(first, more)| LineSpan {
        first,
        last: first + more,
    }));
    prop_oneof![
        Just(PageAddress::Home),
        Just(PageAddress::Forage),
        option::of(prop::sample::select(InboxLane::ALL))
            .prop_map(|lane| PageAddress::Inbox { lane }),
        list_query().prop_map(PageAddress::Entries),
        name().prop_map(|entry| PageAddress::Entry { entry }),
        name().prop_map(|entry| PageAddress::History { entry }),
        name().prop_map(|run| PageAddress::Run { run }),
        (
            name(),
            prop::sample::select(PeerLane::ALL),
            option::of("\\PC{1,12}")
        )
            .prop_map(|(peer, lane, after)| PageAddress::Peer {
                peer,
                query: PeerQuery { lane, after },
            }),
        ("\\PC{1,9}", "\\PC{1,9}")
            .prop_map(|(first, second)| PageAddress::CompareRuns { first, second }),
        (path, span, option::of("[a-z~^:/]{1,12}")).prop_map(|(path, lines, revision)| {
            PageAddress::Path {
                path,
                lines,
                revision,
            }
        }),
        "\\PC{0,12}".prop_map(|anchor| PageAddress::Add { anchor }),
    ]
}

#[test]
fn a_revision_that_git_takes_for_an_option_is_ignored() {
    for address in ["/at/a?rev=--output%3Dx", "/at/a?rev=a%0Ab"] {
        let plain = PageAddress::parse_href("/at/a");
        assert_eq!(PageAddress::parse_href(address), plain, "{address}");
    }
}

proptest! {
    #[test]
    fn an_address_parses_back_to_itself(page in address()) {
        let href = page.href();
        prop_assert!(href.is_ascii());
        prop_assert_eq!(PageAddress::parse_href(&href), Some(page));
    }

    #[test]
    fn no_path_leads_out_of_the_repository(text in "[./%2eE\\\\a]{0,20}") {
        if let Some(PageAddress::Path { path, .. }) = PageAddress::parse(&format!("/at/{text}"), None) {
            prop_assert!(!path.as_str().starts_with('/'));
            prop_assert!(path.as_str().split('/').all(|it| it != ".." && it != "."));
        }
    }
}

#[test]
fn unknown_addresses_are_no_pages() {
    for path in [
        "",
        "entries",
        "/nothing",
        "/e",
        "/e/..",
        "/e/%2e%2e/history",
        "/at/../x",
        "/at/a%2fb",
        "/at/a%00b",
        "/at/%ff",
        "//entries",
    ] {
        assert_eq!(PageAddress::parse(path, None), None, "{path}");
    }
}

#[test]
fn values_that_do_not_parse_are_ignored() {
    let page = PageAddress::parse("/entries", Some("kind=nonsense&status=verified&sort=x"));
    let Some(PageAddress::Entries(query)) = page else {
        panic!("a list");
    };
    assert_eq!(query.kind, None);
    assert_eq!(query.status.map(|it| it.name()), Some("verified"));
    assert_eq!(query.order, EntrySort::Newest);
}
