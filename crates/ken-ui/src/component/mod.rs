//! Pieces of markup that several pages share.
//!
//! Meaning never rests on color alone: a sign, a word and a color go together. Bars are SVG
//! elements with a width attribute, because the content security policy forbids style attributes.

pub(crate) mod chart;
pub(crate) mod code;
mod entry;
mod form;
pub(crate) mod peer;

use maud::{Markup, html};

use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::time::Timestamp;

use crate::untrusted::UntrustedText;

pub(crate) use entry::{
    anchor_state, condition_state, confidence, confirmations, entry_link, entry_row, head_badges,
    kind_badge, linked_statement, location_link, note_head, statement, status_badges,
    validity_badge,
};
pub(crate) use form::{
    decision_forms, disclosure, edit_form, form_token, post_form, retract_form, submit,
};

/// Formats a number with separators.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a number with its noun.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{} {noun}", count(number))
}

/// Renders an actor with a sign for people and programs.
pub(crate) fn actor(actor: &Actor) -> Markup {
    let (sign, what) = match actor.role() {
        ActorRole::Human => ("●", "person"),
        ActorRole::Agent => ("▲", "agent"),
        ActorRole::Ci => ("■", "build"),
        ActorRole::Import => ("↓", "import"),
        ActorRole::Peer => ("◇", "peer"),
    };
    html! { span.actor { span.sign title=(what) { (sign) } " " (UntrustedText(&actor.to_string())) } }
}

/// Renders the name of an actor without its role.
pub(crate) fn actor_name(actor: &Actor) -> Markup {
    html! { (UntrustedText(actor.name())) }
}

/// Renders a point in time to the minute; the exact time is in the title.
pub(crate) fn time(at: Timestamp) -> Markup {
    let full = at.to_string();
    // `2026-11-18T04:12:38.123Z`, cut after the minutes.
    let short = full.get(..16).unwrap_or(&full).replace('T', " ");
    html! { time datetime=(full) title=(full) { (short) } }
}

/// Renders a message for a page or part that has nothing to show.
pub(crate) fn empty(message: &Markup) -> Markup {
    html! { p.empty { (message) } }
}

/// Renders a command to copy.
pub(crate) fn command(text: &str) -> Markup {
    html! { code.cmd { (UntrustedText(text)) } button.copy type="button" data-copy=(text) hidden { "Copy" } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(number), expected);
        }
        assert_eq!(counted(1, "entry", "entries"), "1 entry");
        assert_eq!(counted(2, "entry", "entries"), "2 entries");
    }

    #[test]
    fn times_are_shown_to_the_minute() {
        let at = "2026-11-18T04:12:38Z".parse().expect("a time");
        assert!(time(at).0.contains(">2026-11-18 04:12</time>"));
    }
}
