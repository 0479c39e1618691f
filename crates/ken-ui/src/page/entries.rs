//! List and search of entries, with facets.

use ken_core::ledger::page::EntrySort;
use ken_core::retrieval::surface::NOTHING_FOUND;
use maud::{Markup, html};

use crate::address::{EntryListQuery, PageAddress};
use crate::component::{count, counted, empty, entry_link, entry_row};
use crate::frame::{PageContent, PageContext, live_topics};
use crate::live::ChangeTopic;
use crate::untrusted::UntrustedText;
use crate::view::{EntryListView, Facet, FacetName, ListSource};

/// Values of a facet that are shown at once.
const FACET_VALUES_MAX: usize = 8;

pub(crate) fn entries_page(
    context: &PageContext<'_>,
    query: &EntryListQuery,
    view: &EntryListView,
) -> PageContent {
    let body = html! {
        div.page-head {
            h1 { @if query.words.is_empty() { "Entries" } @else { "Search" } }
            span.muted #total aria-live="polite" { (total(view)) }
            span.spacer {}
            (selection(context, query))
            a.button href=(context.link(&PageAddress::Add { anchor: String::new() })) data-key="a" { "Add entry " kbd { "a" } }
        }
        div.split {
            aside.facets aria-label="Filters" #facets { (facets(context, query, view)) }
            div #results data-live=(live_topics(&[ChangeTopic::Ledger])) {
                @match view.source {
                    ListSource::Nearest if !view.rows.is_empty() => p.notice.plain { "Nothing relevant. Nearest first:" },
                    ListSource::Listed | ListSource::Relevant | ListSource::Nearest => {},
                }
                @if view.rows.is_empty() { (nothing(context, query)) }
                ol.rows { @for row in &view.rows { (entry_row(context, row)) } }
                (withheld(context, view))
                (pager(context, query, view))
            }
        }
    };
    let page = PageContent::new("Entries", body);
    if query.words.is_empty() {
        page.with_command("ken list")
    } else {
        page.with_command_on("ken search", &query.words)
    }
}

fn total(view: &EntryListView) -> String {
    match (view.source, view.total) {
        (ListSource::Listed, Some(total)) => counted(total, "entry", "entries"),
        (ListSource::Listed, None) => String::new(),
        (ListSource::Relevant | ListSource::Nearest, _) => {
            counted(view.rows.len() as u64, "hit", "hits")
        }
    }
}

/// Renders lifecycle and order as links.
fn selection(context: &PageContext<'_>, query: &EntryListQuery) -> Markup {
    html! {
        nav.pick aria-label="Lifecycle" {
            @for (lifecycle, name) in EntryListQuery::lifecycles() {
                @let list = EntryListQuery { lifecycle, ..query.first_page() };
                a href=(context.link(&PageAddress::Entries(list))) aria-current=[(query.lifecycle == lifecycle).then_some("true")] { (name) }
            }
        }
        @if query.words.is_empty() {
            nav.pick aria-label="Order" {
                @for order in EntrySort::ALL {
                    @let is_current = query.order == order;
                    @let list = EntryListQuery { order, ..query.first_page() };
                    a href=(context.link(&PageAddress::Entries(list))) aria-current=[is_current.then_some("true")] { (order.name()) }
                }
            }
        }
    }
}

fn facets(context: &PageContext<'_>, query: &EntryListQuery, view: &EntryListView) -> Markup {
    let chosen = chosen(query);
    html! {
        @if !chosen.is_empty() {
            ul.chosen {
                @for (label, value, without) in &chosen {
                    li { a href=(context.link(&PageAddress::Entries(Clone::clone(without)))) title="Remove this filter" {
                        (label) ": " (UntrustedText(value)) " ×"
                    } }
                }
            }
        }
        @for facet in &view.facets { (facet_list(context, query, facet)) }
    }
}

/// Returns the active filters, each with the query that drops it.
fn chosen(query: &EntryListQuery) -> Vec<(&'static str, String, EntryListQuery)> {
    let mut all = Vec::new();
    let base = query.first_page();
    let mut add = |label, value: Option<String>, drop: fn(&mut EntryListQuery)| {
        if let Some(value) = value {
            let mut without = base.clone();
            drop(&mut without);
            all.push((label, value, without));
        }
    };
    add("kind", query.kind.map(|it| it.name().to_owned()), |it| {
        it.kind = None;
    });
    add(
        "status",
        query.status.map(|it| it.name().to_owned()),
        |it| it.status = None,
    );
    add("tag", query.tag.as_ref().map(ToString::to_string), |it| {
        it.tag = None;
    });
    add("lens", query.lens.as_ref().map(ToString::to_string), |it| {
        it.lens = None;
    });
    add("by", query.by.clone(), |it| it.by = None);
    add("path", query.path.clone(), |it| it.path = None);
    all
}

fn facet_list(context: &PageContext<'_>, query: &EntryListQuery, facet: &Facet) -> Markup {
    let name = match facet.name {
        FacetName::Kind => "Kind",
        FacetName::Status => "Status",
        FacetName::Tag => "Tag",
        FacetName::By => "Author",
        FacetName::Path => "Path",
    };
    let link = |value: &str| {
        let mut list = query.first_page();
        match facet.name {
            FacetName::Kind => list.kind = value.parse().ok(),
            FacetName::Status => list.status = value.parse().ok(),
            FacetName::Tag => list.tag = value.parse().ok(),
            FacetName::By => list.by = Some(value.to_owned()),
            FacetName::Path => list.path = Some(value.to_owned()),
        }
        context.link(&PageAddress::Entries(list))
    };
    html! {
        @if !facet.values.is_empty() {
            section.facet {
                h2 { (name) }
                ul {
                    @for (value, number) in facet.values.iter().take(FACET_VALUES_MAX) {
                        li { a href=(link(value)) { (UntrustedText(value)) } span.num { (count(*number)) } }
                    }
                }
            }
        }
    }
}

fn nothing(context: &PageContext<'_>, query: &EntryListQuery) -> Markup {
    if !query.words.is_empty() {
        return empty(&html! { (NOTHING_FOUND) });
    }
    let filters = chosen(query);
    html! {
        @if filters.is_empty() {
            (empty(&html! {
                "No entries yet. "
                a href=(context.link(&PageAddress::Documents)) { "Check your CLAUDE.md and AGENTS.md" }
                ", or " a href=(context.link(&PageAddress::Add { anchor: String::new() })) { "add the first entry" } "."
            }))
        } @else {
            (empty(&html! {
                "No entry matches. Remove a filter: "
                @for (label, value, without) in &filters {
                    a href=(context.link(&PageAddress::Entries(Clone::clone(without)))) { (label) ": " (UntrustedText(value)) } " "
                }
            }))
        }
    }
}

fn withheld(context: &PageContext<'_>, view: &EntryListView) -> Markup {
    html! {
        @if !view.withheld.is_empty() {
            details.withheld {
                summary { (counted(view.withheld.len() as u64, "entry", "entries")) " withheld from agents" }
                ul { @for (id, reason) in &view.withheld {
                    li { (entry_link(context, id)) " " span.muted { (ken_core::values::text::enum_label(reason)) } }
                } }
            }
        }
    }
}

fn pager(context: &PageContext<'_>, query: &EntryListQuery, view: &EntryListView) -> Markup {
    html! {
        nav.pager aria-label="Pages" {
            @if query.after.is_some() { a href=(context.link(&PageAddress::Entries(query.first_page()))) { "First page" } }
            @if let Some(next) = &view.next {
                @let list = EntryListQuery { after: Some(Clone::clone(next)), ..query.clone() };
                a rel="next" href=(context.link(&PageAddress::Entries(list))) data-key="]" { "Next page " kbd { "]" } }
            }
        }
    }
}
