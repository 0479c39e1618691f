//! Exclusive choices of a project: tools and styles of which it uses one.
//!
//! The table of choices is data (`alternatives.txt`). A sentence chooses a member if it requires it
//! and rejects a member if it forbids it. A mention in passing does neither.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::sentence::{denies, is_listed, normalized_stem};

/// An exclusive choice with its members.
struct ChoiceGroup {
    name: &'static str,
    /// The spellings of each member, tokenized as by [`super::sentence::tokenize`].
    members: Vec<Vec<Vec<&'static str>>>,
    /// Stems that only name the topic of the choice and therefore do not restrict it.
    about: BTreeSet<String>,
    /// Set if a member is also a context for other rules: "in TypeScript".
    is_place: bool,
}

/// The table, parsed once.
static GROUPS: LazyLock<Vec<ChoiceGroup>> = LazyLock::new(|| {
    let lines = include_str!("alternatives.txt").lines();
    lines
        .filter(|it| !it.starts_with('#'))
        .map(ChoiceGroup::parse)
        .collect()
});

/// The first word of every spelling; a clause without any of them makes no choice.
static FIRST_WORDS: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let spellings = GROUPS.iter().flat_map(|it| it.members.iter().flatten());
    spellings.filter_map(|it| it.first().copied()).collect()
});

impl ChoiceGroup {
    fn parse(line: &'static str) -> Self {
        let mut parts = line.splitn(3, ';').map(str::trim);
        let mut next = || parts.next().unwrap_or_default();
        let (name, members, about) = (next(), next(), next());
        let spelled = |it: &'static str| it.trim().split('|').map(|it| it.split(' ').collect());
        Self {
            is_place: name.starts_with('@'),
            name: name.trim_start_matches('@'),
            members: members.split(',').map(|it| spelled(it).collect()).collect(),
            about: about.split(' ').map(normalized_stem).collect(),
        }
    }
}

/// Words that mark a clause as a rule rather than a mention.
const RULE_WORDS: &str = "\
    use uses using used prefer prefers preferred must should always only run runs install \
    write written format test indent manage with via through our standard standardise \
    standardize choose adopt stick name build favor favour follow merge require required \
    requires need needs never avoid not no don't forbidden banned ban we all store stored keep \
    ship put place represent log describe end publish push commit expose live belong go \
    migrated switched are shall lint tag save";

/// Words that mark a clause as a report rather than a rule.
const REPORT_WORDS: &str = "\
    fail fails failed breaks broke broken crash crashes bug slow error errors hang hangs \
    reports returns supports caches ignores overwrites resolves";

/// The members of one choice that a sentence requires or rejects.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SentenceChoice {
    /// Index of the choice in the table.
    pub(super) group: usize,
    /// Required members.
    pub(super) chosen: BTreeSet<usize>,
    /// Forbidden members.
    pub(super) rejected: BTreeSet<usize>,
    /// Stems that restrict the choice to a part of the project.
    pub(super) limits: BTreeSet<String>,
}

/// Returns the name of a choice.
pub(super) fn group_name(group: usize) -> &'static str {
    GROUPS[group].name
}

/// Returns the first spelling of a member.
pub(super) fn member_name(group: usize, member: usize) -> String {
    let spellings = GROUPS[group].members[member].first();
    spellings.map(|it| it.join(" ")).unwrap_or_default()
}

/// Returns the choices a clause makes; `denied` is set if the whole clause forbids.
pub(super) fn find_choices(
    main: &[String],
    denied: bool,
    subject: &BTreeSet<String>,
) -> Vec<SentenceChoice> {
    // Most clauses name no member, and this lookup is far cheaper than matching every spelling.
    if !main.iter().any(|it| FIRST_WORDS.contains(it.as_str())) {
        return Vec::new();
    }
    let has = |words: &str| main.iter().any(|it| is_listed(it, words));
    let short = main.len() <= SHORT_TOKENS;
    let begins = |group: &ChoiceGroup| {
        let mut spellings = group.members.iter().flatten();
        spellings.any(|it| find_words(main, it) == Some(0))
    };
    // "Tabs for indentation" has no verb at all: a member in first position is a rule, too.
    let asks = short || has(RULE_WORDS) || GROUPS.iter().any(begins);
    // "npm install fails" names a tool without choosing it, unless the clause also obliges.
    let reports = has(REPORT_WORDS) && !has("use must should always");
    if !asks || reports {
        return Vec::new();
    }
    let groups = GROUPS.iter().enumerate();
    let made =
        groups.filter_map(|(index, group)| find_group_choice(index, group, main, denied, subject));
    made.collect()
}

/// Maximum length, in tokens, of a clause that chooses a member by naming it.
const SHORT_TOKENS: usize = 3;

/// Tokens before a member that are searched for a marker of rejection.
const REJECTION_TOKENS: usize = 4;

fn find_group_choice(
    index: usize,
    group: &ChoiceGroup,
    main: &[String],
    denied: bool,
    subject: &BTreeSet<String>,
) -> Option<SentenceChoice> {
    let (mut chosen, mut rejected) = (BTreeSet::new(), BTreeSet::new());
    let mut own = group.about.clone();
    for (member, spellings) in group.members.iter().enumerate() {
        for words in spellings {
            let Some(at) =
                find_words(main, words).filter(|at| !(group.is_place && is_context(main, *at)))
            else {
                continue;
            };
            own.extend(words.iter().map(|it| normalized_stem(it)));
            if is_rejected(main, at) || denied {
                rejected.insert(member);
            } else {
                chosen.insert(member);
            }
        }
    }
    if chosen.is_empty() && rejected.is_empty() {
        return None;
    }
    Some(SentenceChoice {
        group: index,
        chosen,
        rejected,
        // The member's own words and the topic of the choice do not narrow where it applies.
        limits: subject.difference(&own).cloned().collect(),
    })
}

fn find_words(main: &[String], words: &[&str]) -> Option<usize> {
    let mut windows = main.windows(words.len());
    windows.position(|window| window.iter().zip(words).all(|(a, b)| a == b))
}

/// Returns whether the member at `at` only names a context: "strict mode in TypeScript".
fn is_context(main: &[String], at: usize) -> bool {
    let before = at.checked_sub(1).map(|it| main[it].as_str());
    // "Write new modules in TypeScript" does choose the language.
    let written = main.iter().any(|it| it == "write" || it == "written");
    !written && matches!(before, Some("in" | "inside" | "for"))
}

/// Returns whether the member at `at` is rejected: "instead of npm", "over tabs", "never yarn",
/// "replace jest with".
fn is_rejected(main: &[String], at: usize) -> bool {
    let before = &main[at.saturating_sub(REJECTION_TOKENS)..at];
    let rejects = |token: &String| {
        denies(token)
            || matches!(
                token.as_str(),
                "instead" | "rather" | "over" | "than" | "replace" | "from"
            )
    };
    let last = before.iter().rposition(rejects);
    // A comma, "with" or "use" after the marker starts another phrase, which the marker does not
    // govern.
    last.is_some_and(|place| {
        !before[place..]
            .iter()
            .any(|it| it == "," || it == "with" || it == "use")
    })
}
