//! Choices a project makes once: tools and styles of which it uses one.
//!
//! The table is data (`alternatives.txt`). A sentence chooses a member where it asks for it, and leaves one aside where it
//! forbids it; only mentioning one in passing does neither.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::sentence::{denies, is_listed, root};

/// One choice: what it is about, and the members that exclude each other.
struct Group {
    name: &'static str,
    /// The spellings of each member, as the words [`super::sentence::lex`] gives.
    members: Vec<Vec<Vec<&'static str>>>,
    /// Stems that only say what the choice is about, and so limit it to nothing.
    about: BTreeSet<String>,
    /// Whether a member is also a place where other things apply: "in TypeScript".
    is_place: bool,
}

/// The table, read once.
static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
    let lines = include_str!("alternatives.txt").lines();
    lines
        .filter(|it| !it.starts_with('#'))
        .map(Group::read)
        .collect()
});

/// The first word of every spelling: without one of them a clause makes no choice.
static FIRST_WORDS: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let spellings = GROUPS.iter().flat_map(|it| it.members.iter().flatten());
    spellings.filter_map(|it| it.first().copied()).collect()
});

impl Group {
    fn read(line: &'static str) -> Self {
        let mut parts = line.splitn(3, ';').map(str::trim);
        let mut next = || parts.next().unwrap_or_default();
        let (name, members, about) = (next(), next(), next());
        let spelled = |it: &'static str| it.trim().split('|').map(|it| it.split(' ').collect());
        Self {
            is_place: name.starts_with('@'),
            name: name.trim_start_matches('@'),
            members: members.split(',').map(|it| spelled(it).collect()).collect(),
            about: about.split(' ').map(root).collect(),
        }
    }
}

/// Words that ask for what they name.
const ASKING: &str = "\
    use uses using used prefer prefers preferred must should always only run runs install \
    write written format test indent manage with via through our standard standardise \
    standardize choose adopt stick name build favor favour follow merge require required \
    requires need needs never avoid not no don't forbidden banned ban we all store stored keep \
    ship put place represent log describe end publish push commit expose live belong go \
    migrated switched are shall lint tag save";

/// Words of a report rather than a rule.
const REPORTING: &str = "\
    fail fails failed breaks broke broken crash crashes bug slow error errors hang hangs \
    reports returns supports caches ignores overwrites resolves";

/// What a sentence does with one choice.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    /// Which choice it is.
    pub(super) group: usize,
    /// Members asked for.
    pub(super) chosen: BTreeSet<usize>,
    /// Members forbidden or left aside.
    pub(super) rejected: BTreeSet<usize>,
    /// Stems that limit the choice to something.
    pub(super) limits: BTreeSet<String>,
}

/// Returns what a choice is about.
pub(super) fn name(group: usize) -> &'static str {
    GROUPS[group].name
}

/// Returns how a member is called.
pub(super) fn member(group: usize, member: usize) -> String {
    let spellings = GROUPS[group].members[member].first();
    spellings.map(|it| it.join(" ")).unwrap_or_default()
}

/// Returns the choices a clause makes; `denied` is whether it forbids as a whole.
pub(super) fn choices(main: &[String], denied: bool, subject: &BTreeSet<String>) -> Vec<Choice> {
    if !main.iter().any(|it| FIRST_WORDS.contains(it.as_str())) {
        return Vec::new();
    }
    let has = |words: &str| main.iter().any(|it| is_listed(it, words));
    let short = main.len() <= SHORT_TOKENS;
    let begins = |group: &Group| {
        let mut spellings = group.members.iter().flatten();
        spellings.any(|it| find(main, it) == Some(0))
    };
    let asks = short || has(ASKING) || GROUPS.iter().any(begins);
    let reports = has(REPORTING) && !has("use must should always");
    if !asks || reports {
        return Vec::new();
    }
    let made = GROUPS.iter().enumerate();
    let made = made.filter_map(|(place, group)| choice(place, group, main, denied, subject));
    made.collect()
}

/// Tokens of a clause so short that naming a member is choosing it.
const SHORT_TOKENS: usize = 3;

/// Tokens before a member in which it is left aside.
const ASIDE_TOKENS: usize = 4;

fn choice(
    place: usize,
    group: &Group,
    main: &[String],
    denied: bool,
    subject: &BTreeSet<String>,
) -> Option<Choice> {
    let (mut chosen, mut rejected) = (BTreeSet::new(), BTreeSet::new());
    let mut own = group.about.clone();
    for (member, spellings) in group.members.iter().enumerate() {
        for words in spellings {
            let Some(at) = find(main, words).filter(|at| !(group.is_place && is_place(main, *at)))
            else {
                continue;
            };
            own.extend(words.iter().map(|it| root(it)));
            match is_aside(main, at) || denied {
                true => rejected.insert(member),
                false => chosen.insert(member),
            };
        }
    }
    if chosen.is_empty() && rejected.is_empty() {
        return None;
    }
    Some(Choice {
        group: place,
        chosen,
        rejected,
        limits: subject.difference(&own).cloned().collect(),
    })
}

fn find(main: &[String], words: &[&str]) -> Option<usize> {
    let mut windows = main.windows(words.len());
    windows.position(|window| window.iter().zip(words).all(|(a, b)| a == b))
}

/// Returns whether the member at `at` is only where something else applies: "strict mode in TypeScript".
fn is_place(main: &[String], at: usize) -> bool {
    let before = at.checked_sub(1).map(|it| main[it].as_str());
    let written = main.iter().any(|it| it == "write" || it == "written");
    !written && matches!(before, Some("in" | "inside" | "for"))
}

/// Returns whether the member at `at` is named as what is not to be used: "instead of npm", "over
/// tabs", "never yarn", "replace jest with".
fn is_aside(main: &[String], at: usize) -> bool {
    let before = &main[at.saturating_sub(ASIDE_TOKENS)..at];
    let aside = |it: &String| {
        denies(it)
            || matches!(
                it.as_str(),
                "instead" | "rather" | "over" | "than" | "replace" | "from"
            )
    };
    let last = before.iter().rposition(aside);
    // A comma or "with" behind the marker begins something else.
    last.is_some_and(|place| {
        !before[place..]
            .iter()
            .any(|it| it == "," || it == "with" || it == "use")
    })
}
