//! What a key means where it was pressed.
//!
//! Letters are text for the search as long as the list is in hand, and commands on the page.
//! Ctrl-H is what some terminals send for the backspace key, so it can mean nothing else.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Where keys go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    List,
    Page,
}

/// What somebody at the keyboard wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Edit(Edit),
    /// Another row of the list, or other lines of the page.
    Move(Step),
    /// The entry before or after this one, from its page.
    Neighbour(Step),
    /// To the page.
    Open,
    /// One step back, or an empty search.
    Back,
    /// The history instead of the entry, or the entry again.
    History,
    Quit,
}

/// A change of the search text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Type(char),
    Erase,
    EraseWord,
    Empty,
}

/// How far, and where to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

/// Returns what `key` asks for; nothing for keys without a meaning here.
pub(crate) fn wish(key: &KeyEvent, focus: Focus) -> Option<Wish> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    // What AltGr writes is reported as Ctrl and Alt together on some systems.
    if key.modifiers.contains(KeyModifiers::CONTROL) && !key.modifiers.contains(KeyModifiers::ALT) {
        return chord(key.code, focus);
    }
    if let KeyCode::Char(c) = key.code {
        return match focus {
            Focus::List => (!c.is_control()).then_some(Wish::Edit(Edit::Type(c))),
            Focus::Page => letter(c),
        };
    }
    named(key.code, focus)
}

/// A letter held with Ctrl.
fn chord(code: KeyCode, focus: Focus) -> Option<Wish> {
    let KeyCode::Char(c) = code else {
        return None;
    };
    match c.to_ascii_lowercase() {
        'c' | 'q' => Some(Wish::Quit),
        'l' => Some(Wish::History),
        'n' => Some(Wish::Move(Step::Down)),
        'p' => Some(Wish::Move(Step::Up)),
        'h' if focus == Focus::List => Some(Wish::Edit(Edit::Erase)),
        'w' if focus == Focus::List => Some(Wish::Edit(Edit::EraseWord)),
        'u' if focus == Focus::List => Some(Wish::Edit(Edit::Empty)),
        _ => None,
    }
}

/// A letter on the page.
fn letter(c: char) -> Option<Wish> {
    match c {
        'h' => Some(Wish::History),
        'j' => Some(Wish::Move(Step::Down)),
        'k' => Some(Wish::Move(Step::Up)),
        ' ' => Some(Wish::Move(Step::PageDown)),
        '/' => Some(Wish::Back),
        _ => None,
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a keyboard has more keys than have a meaning"
)]
fn named(code: KeyCode, focus: Focus) -> Option<Wish> {
    let on_page = focus == Focus::Page;
    match code {
        KeyCode::Up => Some(Wish::Move(Step::Up)),
        KeyCode::Down => Some(Wish::Move(Step::Down)),
        KeyCode::PageUp => Some(Wish::Move(Step::PageUp)),
        KeyCode::PageDown => Some(Wish::Move(Step::PageDown)),
        KeyCode::Home => Some(Wish::Move(Step::First)),
        KeyCode::End => Some(Wish::Move(Step::Last)),
        KeyCode::Left if on_page => Some(Wish::Neighbour(Step::Up)),
        KeyCode::Right if on_page => Some(Wish::Neighbour(Step::Down)),
        KeyCode::Tab if on_page => Some(Wish::Back),
        KeyCode::Enter | KeyCode::Tab if !on_page => Some(Wish::Open),
        KeyCode::Backspace if !on_page => Some(Wish::Edit(Edit::Erase)),
        KeyCode::Esc => Some(Wish::Back),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    fn held(c: char) -> KeyEvent {
        KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
    }

    #[test]
    fn letters_are_text_in_the_list_and_commands_on_the_page() {
        let h = plain(KeyCode::Char('h'));
        assert_eq!(wish(&h, Focus::List), Some(Wish::Edit(Edit::Type('h'))));
        assert_eq!(wish(&h, Focus::Page), Some(Wish::History));
        assert_eq!(wish(&plain(KeyCode::Char('x')), Focus::Page), None);
    }

    #[test]
    fn what_terminals_send_for_backspace_erases() {
        for key in [plain(KeyCode::Backspace), held('h')] {
            assert_eq!(wish(&key, Focus::List), Some(Wish::Edit(Edit::Erase)));
            assert_eq!(wish(&key, Focus::Page), None);
        }
    }

    #[test]
    fn quitting_and_the_history_work_everywhere() {
        for focus in [Focus::List, Focus::Page] {
            assert_eq!(wish(&held('c'), focus), Some(Wish::Quit));
            assert_eq!(wish(&held('q'), focus), Some(Wish::Quit));
            assert_eq!(wish(&held('l'), focus), Some(Wish::History));
        }
    }

    #[test]
    fn a_key_let_go_and_a_control_character_do_nothing() {
        let mut up = plain(KeyCode::Up);
        up.kind = KeyEventKind::Release;
        assert_eq!(wish(&up, Focus::List), None);
        assert_eq!(wish(&plain(KeyCode::Char('\u{1b}')), Focus::List), None);
    }

    #[test]
    fn what_altgr_writes_is_text() {
        let at = KeyEvent::new(
            KeyCode::Char('@'),
            KeyModifiers::CONTROL | KeyModifiers::ALT,
        );
        assert_eq!(wish(&at, Focus::List), Some(Wish::Edit(Edit::Type('@'))));
    }
}
