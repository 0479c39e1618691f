//! The frame around every page: head, navigation, search field, notices, footer.

use ken_core::health::shell_quote;
use ken_core::values::id::EventId;
use maud::{DOCTYPE, Markup, html};

use crate::address::{EntryListQuery, PageAddress, RepoPath, RunListQuery};
use crate::assets::ASSETS;
use crate::component::{self, actor_name, count};
use crate::hub::{HubOverview, HubSection, hub_navigation};
use crate::live::ChangeTopic;
use crate::settings::{Editor, UiSettings};
use crate::source::{CodeHostKind, SourceOverview};
use crate::untrusted::UntrustedText;

/// What every page needs besides its own data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageContext<'a> {
    /// The prefix of every address: empty in `ken ui`, `/w/NAME` at a hub.
    pub(crate) base: &'a str,
    pub(crate) overview: &'a SourceOverview,
    pub(crate) address: &'a PageAddress,
    pub(crate) settings: UiSettings,
    pub(crate) notice: Option<&'a ActionNotice>,
}

/// The result of the last action, shown on the page that follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ActionNotice {
    pub(crate) message: String,
    pub(crate) undo: Option<EventId>,
}

/// A page before it is put into the frame.
#[derive(Debug)]
pub(crate) struct PageContent {
    pub(crate) title: String,
    pub(crate) body: Markup,
    /// The command that shows the same in a terminal.
    pub(crate) command: Option<String>,
    /// Set for pages that use the whole width, such as code.
    pub(crate) is_wide: bool,
}

impl PageContent {
    pub(crate) fn new(title: impl Into<String>, body: Markup) -> Self {
        Self {
            title: title.into(),
            body,
            command: None,
            is_wide: false,
        }
    }

    pub(crate) fn with_command(mut self, command: &'static str) -> Self {
        self.command = Some(command.to_owned());
        self
    }

    /// Names the command that shows the same about `argument`, which may be text of others.
    pub(crate) fn with_command_on(mut self, command: &'static str, argument: &str) -> Self {
        self.command = command_on(command, argument);
        self
    }

    pub(crate) fn wide(mut self) -> Self {
        self.is_wide = true;
        self
    }
}

/// Returns a command with one argument, quoted if it needs to be; `None` if it has control
/// characters, which a terminal could act on when it is pasted.
fn command_on(command: &str, argument: &str) -> Option<String> {
    if argument.chars().any(char::is_control) {
        return None;
    }
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:@".contains(it);
    let needs_quotes =
        argument.is_empty() || argument.starts_with('-') || !argument.chars().all(is_plain);
    let argument = if needs_quotes {
        shell_quote(argument)
    } else {
        argument.to_owned()
    };
    Some(format!("{command} {argument}"))
}

impl PageContext<'_> {
    /// Returns the link to a page.
    pub(crate) fn link(&self, page: &PageAddress) -> String {
        format!("{}{}", self.base, page.href())
    }

    /// Returns the link to the JSON of this page; `None` above the workspaces of a hub, whose data
    /// the REST API has.
    fn json_link(&self) -> Option<String> {
        let hub = self.overview.hub.as_ref();
        if hub.is_some_and(|it| it.workspace.is_none()) {
            return None;
        }
        let href = self.link(self.address);
        let separator = if href.contains('?') { '&' } else { '?' };
        Some(format!("{href}{separator}format=json"))
    }

    /// Returns the address of a form.
    pub(crate) fn action(&self, name: &str) -> String {
        format!("{}/do/{name}", self.base)
    }

    /// Returns whether the person may change anything.
    pub(crate) fn may_write(&self) -> bool {
        self.overview.person.is_some()
    }

    /// Returns whether the person may perform the action of this name here.
    pub(crate) fn may(&self, action: &str) -> bool {
        let hub = self.overview.hub.as_ref();
        self.may_write() && hub.is_none_or(|it| it.actions.contains(action))
    }

    /// Returns whether the pages have the code at hand, as those of a repository do.
    pub(crate) fn has_code(&self) -> bool {
        self.overview.hub.is_none()
    }

    /// Returns the link that opens a line in the chosen editor.
    pub(crate) fn editor_link(&self, path: &RepoPath, line: u32) -> Option<String> {
        let root = self.overview.links.root.as_deref()?;
        let file = format!("{}/{}", root.trim_end_matches('/'), path.encoded());
        Some(match self.settings.editor? {
            Editor::VsCode => format!("vscode://file{file}:{line}"),
            Editor::Cursor => format!("cursor://file{file}:{line}"),
            Editor::Zed => format!("zed://file{file}:{line}"),
            Editor::Idea => format!("idea://open?file={file}&line={line}"),
        })
    }

    /// Returns the link to lines at the code host.
    pub(crate) fn host_link(&self, path: &RepoPath, first: u32, last: u32) -> Option<String> {
        let host = self.overview.links.host.as_ref()?;
        let (url, commit, path) = (&host.url, &host.commit, path.encoded());
        Some(match host.kind {
            CodeHostKind::GitHub => format!("{url}/blob/{commit}/{path}#L{first}-L{last}"),
            CodeHostKind::GitLab => format!("{url}/-/blob/{commit}/{path}#L{first}-{last}"),
            CodeHostKind::Gitea => format!("{url}/src/commit/{commit}/{path}#L{first}-L{last}"),
            CodeHostKind::Bitbucket => format!("{url}/src/{commit}/{path}#lines-{first}:{last}"),
            CodeHostKind::Sourcehut => format!("{url}/tree/{commit}/item/{path}#L{first}-{last}"),
        })
    }
}

#[cfg(test)]
impl PageContext<'static> {
    pub(crate) fn for_tests() -> Self {
        use std::sync::LazyLock;
        static OVERVIEW: LazyLock<SourceOverview> = LazyLock::new(|| SourceOverview {
            name: "shop".to_owned(),
            person: "human:ada@example.org".parse().ok(),
            ..SourceOverview::default()
        });
        Self {
            base: "",
            overview: &OVERVIEW,
            address: &PageAddress::Home,
            settings: UiSettings::default(),
            notice: None,
        }
    }
}

/// A section of the navigation with its key after `g`.
struct NavSection {
    label: &'static str,
    key: &'static str,
    /// The pages of the section; the first is linked from the top.
    pages: Vec<(&'static str, PageAddress)>,
}

fn sections(context: &PageContext<'_>) -> Vec<NavSection> {
    let is_above = |hub: &HubOverview| hub.workspace.is_none();
    if context.overview.hub.as_ref().is_some_and(is_above) {
        return Vec::new();
    }
    let mut sections = Vec::from(all_sections());
    let optional = context.overview.optional;
    for section in &mut sections {
        section.pages.retain(|(_, page)| {
            (*page != PageAddress::Forage || optional.forage)
                && (*page != PageAddress::Peers || optional.peers)
        });
    }
    if !context.has_code() {
        sections.retain(|it| it.label != "Code");
        for section in &mut sections {
            section
                .pages
                .retain(|(_, page)| *page != PageAddress::Documents);
        }
    }
    sections
}

fn all_sections() -> [NavSection; 6] {
    let entries = PageAddress::Entries(EntryListQuery::default());
    let section = |label, key, pages| NavSection { label, key, pages };
    [
        section("Home", "g h", vec![("Home", PageAddress::Home)]),
        section(
            "Inbox",
            "g i",
            vec![("Inbox", PageAddress::Inbox { lane: None })],
        ),
        section(
            "Entries",
            "g e",
            vec![
                ("All entries", entries),
                ("Norms", PageAddress::Norms { path: None }),
                ("People and origins", PageAddress::People),
                ("Documents", PageAddress::Documents),
                ("Forager", PageAddress::Forage),
                ("Peers", PageAddress::Peers),
            ],
        ),
        section(
            "Code",
            "g c",
            vec![
                ("Files", PageAddress::path(RepoPath::default())),
                ("This branch", PageAddress::Change { base: None }),
            ],
        ),
        section(
            "Runs",
            "g r",
            vec![
                ("Runs", PageAddress::Runs(RunListQuery::default())),
                ("Impact", PageAddress::Impact),
                ("Briefing", PageAddress::Brief(Default::default())),
            ],
        ),
        section(
            "Health",
            "g l",
            vec![
                ("Health", PageAddress::Health),
                ("Statistics", PageAddress::Stats),
            ],
        ),
    ]
}

/// Returns whether a page belongs to the page of a tab.
fn is_same_tab(tab: &PageAddress, page: &PageAddress) -> bool {
    use PageAddress as P;
    match (tab, page) {
        (
            P::Entries(_),
            P::Entry { .. } | P::History { .. } | P::Neighbors { .. } | P::Add { .. },
        )
        | (P::Runs(_), P::Run { .. } | P::CompareRuns { .. })
        | (P::Peers, P::Peer { .. }) => true,
        (tab, page) => std::mem::discriminant(tab) == std::mem::discriminant(page),
    }
}

/// Puts a page into the frame.
pub(crate) fn render_frame(context: &PageContext<'_>, page: &PageContent) -> Markup {
    let theme = context.settings.theme_name();
    html! {
        (DOCTYPE)
        html lang="en" data-theme=(theme) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (UntrustedText(&page.title)) " · " (UntrustedText(&context.overview.name)) " · Ken" }
                // Without the base: the pages of all workspaces of a hub share them.
                link rel="icon" href=(ASSETS.icon.path) type="image/svg+xml";
                link rel="stylesheet" href=(ASSETS.style.path);
                script src=(ASSETS.early_script.path) {}
                script src=(ASSETS.script.path) defer {}
            }
            body data-base=(context.base) data-keys=[context.settings.has_keys.then_some("on")] class=[page.is_wide.then_some("wide")] {
                a.skip href="#main" { "Skip to content" }
                (header(context))
                (notices(context))
                main #main tabindex="-1" { (page.body) }
                (footer(context, page))
            }
        }
    }
}

fn header(context: &PageContext<'_>) -> Markup {
    let sections = sections(context);
    let current = sections.iter().find(|section| {
        let mut pages = section.pages.iter();
        pages.any(|(_, tab)| is_same_tab(tab, context.address))
    });
    html! {
        header.top {
            div.bar {
                a.brand href=(if context.has_code() { context.link(&PageAddress::Home) } else { "/".to_owned() }) { "Ken" }
                @if let Some(hub) = &context.overview.hub { (hub_navigation(hub)) }
                span.place {
                    (UntrustedText(&context.overview.name))
                    @if let Some(branch) = &context.overview.branch { span.muted { " ⎇ " (UntrustedText(branch)) } }
                }
                @if !sections.is_empty() { (navigation(context, &sections, current.map(|it| it.label))) }
                (search_field(context))
                a.person href=(person_link(context)) title="Settings" {
                    @match &context.overview.person {
                        Some(person) => (actor_name(person)),
                        None => "read only",
                    }
                }
            }
            @if let Some(section) = current.filter(|it| it.pages.len() > 1) {
                nav.tabs aria-label=(section.label) {
                    @for (label, tab) in &section.pages {
                        a href=(context.link(tab)) aria-current=[is_same_tab(tab, context.address).then_some("page")] { (label) }
                    }
                }
            }
        }
    }
}

/// Returns the page behind the person's name.
fn person_link(context: &PageContext<'_>) -> String {
    if context.has_code() {
        context.link(&PageAddress::Settings)
    } else {
        HubSection::Account.path().to_owned()
    }
}

fn navigation(context: &PageContext<'_>, sections: &[NavSection], current: Option<&str>) -> Markup {
    html! {
        nav.main aria-label="Main" {
            @for section in sections {
                a href=(context.link(&section.pages[0].1)) data-key=(section.key)
                    aria-current=[(current == Some(section.label)).then_some("true")] {
                    (section.label)
                    @if section.label == "Inbox" {
                        @if let Some(pending) = context.overview.pending.filter(|it| *it > 0) {
                            " " span.count { (count(pending)) }
                        }
                    }
                }
            }
        }
    }
}

fn search_field(context: &PageContext<'_>) -> Markup {
    let words = if let PageAddress::Entries(query) = context.address {
        query.words.as_str()
    } else {
        ""
    };
    let list = PageAddress::Entries(EntryListQuery::default());
    let hub = context.overview.hub.as_ref();
    let is_above = hub.is_some_and(|it| it.workspace.is_none());
    let target = if is_above {
        HubSection::Search.path().to_owned()
    } else {
        context.link(&list)
    };
    html! {
        form.search role="search" action=(target) method="get" {
            input type="search" name="q" value=(words) placeholder="Search knowledge  /"
                aria-label="Search knowledge" autocomplete="off" spellcheck="false" data-focus="/";
        }
    }
}

fn notices(context: &PageContext<'_>) -> Markup {
    html! {
        @if let Some(why) = &context.overview.read_only {
            p.notice.warn { "Read only: " (UntrustedText(why)) }
        }
        div #notice role="status" aria-live="polite" {
            @if let Some(notice) = context.notice {
                div.notice.done {
                    span { (UntrustedText(&notice.message)) }
                    @if let Some(step) = notice.undo {
                        (component::post_form(context, "undo", &[("step", step.to_string())], html! {
                            (component::submit("Undo", Some("z")))
                        }))
                    }
                }
            }
        }
        div #news hidden { span {} " " button type="button" data-key="." { "Show " kbd { "." } } }
    }
}

fn footer(context: &PageContext<'_>, page: &PageContent) -> Markup {
    html! {
        footer {
            @if let Some(command) = &page.command {
                span.muted { "The same in a terminal: " }
                code.cmd { (UntrustedText(command)) }
                button.copy type="button" data-copy=(command) hidden { "Copy" }
            }
            span.spacer {}
            @if let Some(link) = context.json_link() { a href=(link) { "JSON" } }
            button.help type="button" data-key="?" hidden { "Keys " kbd { "?" } }
        }
        dialog #keys aria-label="Keyboard shortcuts" {}
    }
}

/// Returns the attribute value that keeps a region up to date.
pub(crate) fn live_topics(topics: &[ChangeTopic]) -> String {
    let names: Vec<String> = topics.iter().map(ToString::to_string).collect();
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{CodeHost, CodeLinks};

    #[test]
    fn a_command_to_copy_runs_nothing_of_its_argument() {
        for (argument, command) in [
            ("src/pay.rs", Some("ken search --paths src/pay.rs")),
            ("$(id)", Some("ken search --paths '$(id)'")),
            ("a;b `c`", Some("ken search --paths 'a;b `c`'")),
            ("it's", Some(r"ken search --paths 'it'\''s'")),
            ("--help", Some("ken search --paths '--help'")),
            ("", Some("ken search --paths ''")),
            ("a\nb", None),
            ("\u{1b}[201~", None),
        ] {
            let shown = command_on("ken search --paths", argument);
            assert_eq!(shown.as_deref(), command);
        }
    }

    #[test]
    fn links_to_code_hosts_encode_odd_paths() {
        let kinds = [
            (
                CodeHostKind::GitHub,
                "https://h/o/blob/c0ffee/a%20b/%C3%BC%23%3F.rs#L3-L9",
            ),
            (
                CodeHostKind::GitLab,
                "https://h/o/-/blob/c0ffee/a%20b/%C3%BC%23%3F.rs#L3-9",
            ),
            (
                CodeHostKind::Gitea,
                "https://h/o/src/commit/c0ffee/a%20b/%C3%BC%23%3F.rs#L3-L9",
            ),
            (
                CodeHostKind::Bitbucket,
                "https://h/o/src/c0ffee/a%20b/%C3%BC%23%3F.rs#lines-3:9",
            ),
            (
                CodeHostKind::Sourcehut,
                "https://h/o/tree/c0ffee/item/a%20b/%C3%BC%23%3F.rs#L3-9",
            ),
        ];
        for (kind, expected) in kinds {
            let host = CodeHost {
                url: "https://h/o".to_owned(),
                kind,
                commit: "c0ffee".to_owned(),
            };
            let overview = SourceOverview {
                links: CodeLinks {
                    host: Some(host),
                    root: None,
                },
                ..SourceOverview::default()
            };
            let context = PageContext {
                overview: &overview,
                ..PageContext::for_tests()
            };
            let path = "a b/ü#?.rs".parse().expect("a path");
            assert_eq!(context.host_link(&path, 3, 9).as_deref(), Some(expected));
        }
    }
}
