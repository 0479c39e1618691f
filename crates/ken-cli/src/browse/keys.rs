//! Key bindings of the browser.
//!
//! Letters edit the query while the list has the focus and are commands on the page. Ctrl-H erases
//! and has no other use, because some terminals send it for the backspace key.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// The pane that receives the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaneFocus {
    List,
    Page,
}

/// An action of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BrowserAction {
    Edit(QueryEdit),
    /// Move to another row of the list, or scroll the page.
    Move(MoveStep),
    /// Go to the previous or next entry from the page.
    Neighbor(MoveStep),
    /// Focus the page.
    Open,
    /// Go one step back, or clear the query.
    Back,
    /// Switch between the entry and its history.
    History,
    /// Show the list of keys, or leave it.
    Help,
    /// Restrict the list to the next kind of memory, or to none.
    Filter,
    Quit,
}

/// An edit of the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryEdit {
    Type(char),
    Erase,
    EraseWord,
    Empty,
}

/// A step in a list or page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoveStep {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

/// Returns the action for `key`, or `None` if it is not bound.
pub(crate) fn action_for_key(key: &KeyEvent, focus: PaneFocus) -> Option<BrowserAction> {
    // Some terminals report a key twice: when pressed and when released.
    if key.kind == KeyEventKind::Release {
        return None;
    }
    // Some systems report AltGr as Ctrl and Alt together; it types a character.
    if key.modifiers.contains(KeyModifiers::CONTROL) && !key.modifiers.contains(KeyModifiers::ALT) {
        return action_for_control(key.code, focus);
    }
    if let KeyCode::Char(c) = key.code {
        return match focus {
            PaneFocus::List => (!c.is_control()).then_some(BrowserAction::Edit(QueryEdit::Type(c))),
            PaneFocus::Page => action_for_letter(c),
        };
    }
    action_for_special(key.code, focus)
}

/// Returns the action for a letter with Ctrl.
fn action_for_control(code: KeyCode, focus: PaneFocus) -> Option<BrowserAction> {
    let KeyCode::Char(c) = code else {
        return None;
    };
    match c.to_ascii_lowercase() {
        'c' | 'q' => Some(BrowserAction::Quit),
        'l' => Some(BrowserAction::History),
        'f' => Some(BrowserAction::Filter),
        // Bindings with Ctrl work in both panes, because letters alone are text in the list.
        'n' => Some(BrowserAction::Move(MoveStep::Down)),
        'p' => Some(BrowserAction::Move(MoveStep::Up)),
        'h' if focus == PaneFocus::List => Some(BrowserAction::Edit(QueryEdit::Erase)),
        'w' if focus == PaneFocus::List => Some(BrowserAction::Edit(QueryEdit::EraseWord)),
        'u' if focus == PaneFocus::List => Some(BrowserAction::Edit(QueryEdit::Empty)),
        _ => None,
    }
}

/// Returns the action for a letter on the page.
fn action_for_letter(c: char) -> Option<BrowserAction> {
    match c {
        'h' => Some(BrowserAction::History),
        '?' => Some(BrowserAction::Help),
        'j' => Some(BrowserAction::Move(MoveStep::Down)),
        'k' => Some(BrowserAction::Move(MoveStep::Up)),
        ' ' => Some(BrowserAction::Move(MoveStep::PageDown)),
        '/' => Some(BrowserAction::Back),
        _ => None,
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a keyboard has more keys than have a meaning"
)]
fn action_for_special(code: KeyCode, focus: PaneFocus) -> Option<BrowserAction> {
    let on_page = focus == PaneFocus::Page;
    match code {
        KeyCode::Up => Some(BrowserAction::Move(MoveStep::Up)),
        KeyCode::Down => Some(BrowserAction::Move(MoveStep::Down)),
        KeyCode::PageUp => Some(BrowserAction::Move(MoveStep::PageUp)),
        KeyCode::PageDown => Some(BrowserAction::Move(MoveStep::PageDown)),
        KeyCode::Home => Some(BrowserAction::Move(MoveStep::First)),
        KeyCode::End => Some(BrowserAction::Move(MoveStep::Last)),
        KeyCode::Left if on_page => Some(BrowserAction::Neighbor(MoveStep::Up)),
        KeyCode::Right if on_page => Some(BrowserAction::Neighbor(MoveStep::Down)),
        KeyCode::Tab if on_page => Some(BrowserAction::Back),
        KeyCode::Enter | KeyCode::Tab if !on_page => Some(BrowserAction::Open),
        KeyCode::Backspace if !on_page => Some(BrowserAction::Edit(QueryEdit::Erase)),
        KeyCode::Esc => Some(BrowserAction::Back),
        KeyCode::F(1) => Some(BrowserAction::Help),
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
        assert_eq!(
            action_for_key(&h, PaneFocus::List),
            Some(BrowserAction::Edit(QueryEdit::Type('h')))
        );
        assert_eq!(
            action_for_key(&h, PaneFocus::Page),
            Some(BrowserAction::History)
        );
        assert_eq!(
            action_for_key(&plain(KeyCode::Char('x')), PaneFocus::Page),
            None
        );
    }

    #[test]
    fn what_terminals_send_for_backspace_erases() {
        for key in [plain(KeyCode::Backspace), held('h')] {
            assert_eq!(
                action_for_key(&key, PaneFocus::List),
                Some(BrowserAction::Edit(QueryEdit::Erase))
            );
            assert_eq!(action_for_key(&key, PaneFocus::Page), None);
        }
    }

    #[test]
    fn quitting_and_the_history_work_everywhere() {
        for focus in [PaneFocus::List, PaneFocus::Page] {
            assert_eq!(action_for_key(&held('c'), focus), Some(BrowserAction::Quit));
            assert_eq!(action_for_key(&held('q'), focus), Some(BrowserAction::Quit));
            assert_eq!(
                action_for_key(&held('l'), focus),
                Some(BrowserAction::History)
            );
        }
    }

    #[test]
    fn a_key_let_go_and_a_control_character_do_nothing() {
        let mut up = plain(KeyCode::Up);
        up.kind = KeyEventKind::Release;
        assert_eq!(action_for_key(&up, PaneFocus::List), None);
        assert_eq!(
            action_for_key(&plain(KeyCode::Char('\u{1b}')), PaneFocus::List),
            None
        );
    }

    #[test]
    fn what_altgr_writes_is_text() {
        let at = KeyEvent::new(
            KeyCode::Char('@'),
            KeyModifiers::CONTROL | KeyModifiers::ALT,
        );
        assert_eq!(
            action_for_key(&at, PaneFocus::List),
            Some(BrowserAction::Edit(QueryEdit::Type('@')))
        );
    }
}
