//! Browser tests: keys in, screen out, with a real ledger and an in-memory terminal.

use ken_core::decide::Proposal;
use ken_core::ledger::event::Origin;
use ken_core::ledger::store::LifecycleFilter;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::Content;
use ken_core::values::kind::EntryKind;
use ken_engine::runtime::FixedRuntime;
use ken_engine::{GitEnv, init};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyModifiers};
use ratatui::style::Style;

use super::keys::PaneFocus;
use super::*;

const LESSONS: [&str; 3] = [
    "A retried payment is charged twice unless the key of the request is kept.",
    "handleRequest takes the session lock before it writes the cache.",
    "Color themes are read once, when the window opens.",
];

/// Creates a folder with a ledger that contains `statements`.
fn ledger(statements: &[&str]) -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let world = FixedRuntime::new("2026-11-15T09:00:00Z".parse().unwrap(), 1);
    let by = "agent:reviewer".parse().unwrap();
    let mut engine = Engine::open(dir.path(), &GitEnv::default(), None, Box::new(world)).unwrap();
    for statement in statements {
        let evidence: CitationSource = "pr:142".parse().unwrap();
        let mut content = Content::new(statement.parse().unwrap());
        content.tags = ["auth/jwt".parse().unwrap()].into();
        content.verify = vec!["Run the tests with the network cut.".parse().unwrap()];
        let citations = vec![evidence.cite(&by, engine.now())];
        let proposal = Proposal::new(EntryKind::Learning, content, citations, Origin::Agent);
        let _ = engine.add(proposal, &by).unwrap();
    }
    (dir, engine)
}

/// A browser and its screen.
struct TestScreen<'a> {
    browser: EntryBrowser<'a>,
    terminal: Terminal<TestBackend>,
}

impl<'a> TestScreen<'a> {
    fn new(engine: &'a mut Engine, width: u16, height: u16) -> Self {
        Self::painted(engine, width, height, ColorMode::Plain)
    }

    fn painted(engine: &'a mut Engine, width: u16, height: u16, paint: ColorMode) -> Self {
        let terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let browser = EntryBrowser::new(engine, EntryFilter::default(), String::new(), paint);
        let mut screen = Self { browser, terminal };
        screen
            .browser
            .act(BrowserEffect::Search, &mut |_| {})
            .unwrap();
        screen.draw();
        screen
    }

    fn draw(&mut self) {
        let (state, paint) = (&mut self.browser.state, self.browser.paint);
        let drawn = self.terminal.draw(|frame| {
            view::fit(state, frame.area(), paint);
            view::draw(frame, state, paint);
        });
        let _ = drawn.unwrap();
    }

    /// Presses keys one after another, without a pause.
    fn press(&mut self, keys: &[KeyEvent]) -> EventLoopState {
        let flow = self.browser.press(keys, &mut |_| {}).unwrap();
        self.draw();
        flow
    }

    fn key(&mut self, code: KeyCode) {
        let _ = self.press(&[KeyEvent::new(code, KeyModifiers::NONE)]);
    }

    fn text(&mut self, text: &str) {
        let _ = self.press(&typed(text));
    }

    fn selected(&self) -> String {
        let entry = self.browser.state.row().unwrap().entry();
        entry.content.as_ref().unwrap().statement.to_string()
    }
}

fn typed(text: &str) -> Vec<KeyEvent> {
    let key = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
    text.chars().map(key).collect()
}

fn held(c: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
}

#[test]
fn at_first_the_newest_entries_are_listed_beside_the_first_of_them() {
    let (_dir, mut engine) = ledger(&LESSONS);
    let screen = TestScreen::new(&mut engine, 80, 24);
    insta::assert_snapshot!(screen.terminal.backend(), @r#"
    "Search: type a query                                                            "
    "┌ 3 entries, newest first ─────────┐┌ entry ───────────────────────────────────┐"
    "│▸ L-tt8df8ma  learning  candidate ││▮▮▮▯▯ 0.50  ? unchecked, added today      │"
    "│  Color themes are read once, whe…││                                          │"
    "│  L-hst62swp  learning  candidate ││L-tt8df8ma  learning  candidate           │"
    "│  handleRequest takes the session…││                                          │"
    "│  L-m5jrxv37  learning  candidate ││Color themes are read once, when the      │"
    "│  A retried payment is charged tw…││window opens.                             │"
    "│                                  ││                                          │"
    "│                                  ││anchors    none                           │"
    "│                                  ││verify     1. Run the tests with the      │"
    "│                                  ││           network cut.                   │"
    "│                                  ││tags       auth/jwt                       │"
    "│                                  ││decay      ephemeral                      │"
    "│                                  ││cites      pr:142 (agent:reviewer,        │"
    "│                                  ││           2026-11-15)                    │"
    "│                                  ││confirmed  not yet; added 2026-11-15      │"
    "│                                  ││added      2026-11-15 by agent:reviewer,  │"
    "│                                  ││           workspace scope                │"
    "│                                  ││history    1 event, the last on           │"
    "│                                  ││           2026-11-15: `ken log           │"
    "│                                  ││           L-tt8df8ma`                    │"
    "└──────────────────────────────────┘└────────────────────────────────── ↓ more ┘"
    "↑↓ row  Enter open  ^L history  ^F filter  Esc clear  F1 help  ^Q quit          "
    "#);
}

#[test]
fn typing_searches_and_the_page_says_why_it_matched() {
    let (_dir, mut engine) = ledger(&LESSONS);
    let mut screen = TestScreen::new(&mut engine, 80, 24);
    screen.text("session lock");
    insta::assert_snapshot!(screen.terminal.backend(), @r#"
    "Search: session lock                                                            "
    "┌ 1 entry, best first ─────────────┐┌ entry ───────────────────────────────────┐"
    "│▸ L-hst62swp  learning  candidate ││▮▮▮▯▯ 0.50  ? unchecked, added today      │"
    "│  handleRequest takes the session…││matches every word, similarity 0.53       │"
    "│                                  ││                                          │"
    "│                                  ││L-hst62swp  learning  candidate           │"
    "│                                  ││                                          │"
    "│                                  ││handleRequest takes the session lock      │"
    "│                                  ││before it writes the cache.               │"
    "│                                  ││                                          │"
    "│                                  ││anchors    none                           │"
    "│                                  ││verify     1. Run the tests with the      │"
    "│                                  ││           network cut.                   │"
    "│                                  ││tags       auth/jwt                       │"
    "│                                  ││decay      ephemeral                      │"
    "│                                  ││cites      pr:142 (agent:reviewer,        │"
    "│                                  ││           2026-11-15)                    │"
    "│                                  ││confirmed  not yet; added 2026-11-15      │"
    "│                                  ││added      2026-11-15 by agent:reviewer,  │"
    "│                                  ││           workspace scope                │"
    "│                                  ││history    1 event, the last on           │"
    "│                                  ││           2026-11-15: `ken log           │"
    "└──────────────────────────────────┘└────────────────────────────────── ↓ more ┘"
    "↑↓ row  Enter open  ^L history  ^F filter  Esc clear  F1 help  ^Q quit          "
    "#);
}

#[test]
fn where_nothing_is_relevant_that_is_said_above_what_comes_nearest() {
    let (_dir, mut engine) = ledger(&LESSONS);
    let mut screen = TestScreen::new(&mut engine, 50, 6);
    screen.text("banana bread recipe");
    insta::assert_snapshot!(screen.terminal.backend(), @r#"
    "Search: banana bread recipe                       "
    "┌ no relevant entries, most similar first ───────┐"
    "│▸ L-hst62swp  learning  candidate               │"
    "│  handleRequest takes the session lock before i…│"
    "└────────────────────────────────────────────────┘"
    "↑↓ row  Enter open  ^L history  ^F filter  Esc cle"
    "#);
}

#[test]
fn a_narrow_terminal_shows_one_pane_at_a_time() {
    let (_dir, mut engine) = ledger(&LESSONS);
    let mut screen = TestScreen::new(&mut engine, 50, 20);
    insta::assert_snapshot!(screen.terminal.backend(), @r#"
    "Search: type a query                              "
    "┌ 3 entries, newest first ───────────────────────┐"
    "│▸ L-tt8df8ma  learning  candidate               │"
    "│  Color themes are read once, when the window o…│"
    "│  L-hst62swp  learning  candidate               │"
    "│  handleRequest takes the session lock before i…│"
    "│  L-m5jrxv37  learning  candidate               │"
    "│  A retried payment is charged twice unless the…│"
    "│                                                │"
    "│                                                │"
    "│                                                │"
    "│                                                │"
    "│                                                │"
    "│                                                │"
    "│                                                │"
    "│                                                │"
    "│                                                │"
    "│                                                │"
    "└────────────────────────────────────────────────┘"
    "↑↓ row  Enter open  ^L history  ^F filter  Esc cle"
    "#);
    screen.key(KeyCode::Enter);
    insta::assert_snapshot!(screen.terminal.backend(), @r#"
    "Search: type a query                              "
    "┌ entry ─────────────────────────────────────────┐"
    "│▮▮▮▯▯ 0.50  ? unchecked, added today            │"
    "│                                                │"
    "│L-tt8df8ma  learning  candidate                 │"
    "│                                                │"
    "│Color themes are read once, when the window     │"
    "│opens.                                          │"
    "│                                                │"
    "│anchors    none                                 │"
    "│verify     1. Run the tests with the network    │"
    "│           cut.                                 │"
    "│tags       auth/jwt                             │"
    "│decay      ephemeral                            │"
    "│cites      pr:142 (agent:reviewer, 2026-11-15)  │"
    "│confirmed  not yet; added 2026-11-15            │"
    "│added      2026-11-15 by agent:reviewer,        │"
    "│           workspace scope                      │"
    "└──────────────────────────────────────── ↓ more ┘"
    "↑↓ scroll  ←→ entry  h history  Esc back  ? help  "
    "#);
}

#[test]
fn the_history_has_authors_and_a_way_back() {
    let (_dir, mut engine) = ledger(&LESSONS);
    let mut screen = TestScreen::new(&mut engine, 50, 12);
    screen.text("session lock");
    let _ = screen.press(&[held('l')]);
    insta::assert_snapshot!(screen.terminal.backend(), @r#"
    "Search: session lock                              "
    "┌ history ───────────────────────────────────────┐"
    "│2026-11-15 09:00  agent:reviewer                │"
    "│    01M7F6YMM0FPM8PGTWHST62SWP                  │"
    "│    proposed: handleRequest takes the session   │"
    "│    lock before it writes the cache.            │"
    "│                                                │"
    "│                                                │"
    "│                                                │"
    "│                                                │"
    "└────────────────────────────────────────────────┘"
    "↑↓ scroll  ←→ entry  h entry  Esc back  ? help  ^Q"
    "#);
    screen.key(KeyCode::Esc);
    assert_eq!(screen.browser.state.side, state::PageView::Entry);
    screen.key(KeyCode::Esc);
    assert_eq!(screen.browser.state.focus, PaneFocus::List);
    screen.key(KeyCode::Esc);
    assert_eq!(screen.browser.state.query, "");
    assert_eq!(screen.browser.state.source, ListSource::Whole);
}

#[test]
fn a_ledger_without_entries_says_so() {
    let (_dir, mut engine) = ledger(&[]);
    let mut screen = TestScreen::new(&mut engine, 50, 6);
    insta::assert_snapshot!(screen.terminal.backend(), @r#"
    "Search: type a query                              "
    "┌ no entries ────────────────────────────────────┐"
    "│`ken add --help` shows how to add one           │"
    "│                                                │"
    "└────────────────────────────────────────────────┘"
    "↑↓ row  Enter open  ^L history  ^F filter  Esc cle"
    "#);
    for code in [KeyCode::Enter, KeyCode::Down, KeyCode::End, KeyCode::Esc] {
        screen.key(code);
    }
    let _ = screen.press(&[held('l')]);
    assert_eq!(screen.browser.state.focus, PaneFocus::List);
}

#[test]
fn steps_move_the_list_and_stop_at_its_ends() {
    let (_dir, mut engine) = ledger(&LESSONS);
    let mut screen = TestScreen::new(&mut engine, 50, 6);
    let steps = [
        (KeyCode::Up, 0),
        (KeyCode::Down, 1),
        (KeyCode::End, 2),
        (KeyCode::Down, 2),
        (KeyCode::PageUp, 1),
        (KeyCode::Home, 0),
        (KeyCode::PageDown, 1),
    ];
    for (code, expected) in steps {
        screen.key(code);
        assert_eq!(screen.browser.state.selected, expected, "{code:?}");
        assert_eq!(screen.browser.state.top, expected, "{code:?}");
        let row = screen.browser.state.row().unwrap().entry().id;
        assert_eq!(screen.browser.state.detail.as_ref().unwrap().id, row);
    }
}

#[test]
fn on_the_page_steps_scroll_and_arrows_turn_to_the_neighbors() {
    let (_dir, mut engine) = ledger(&LESSONS);
    let mut screen = TestScreen::new(&mut engine, 50, 10);
    screen.key(KeyCode::Tab);
    screen.key(KeyCode::End);
    let end = screen.browser.state.scroll;
    assert!(end > 0);
    screen.key(KeyCode::Down);
    assert_eq!(screen.browser.state.scroll, end);
    screen.key(KeyCode::Up);
    assert_eq!(screen.browser.state.scroll, end - 1);
    screen.key(KeyCode::Right);
    assert_eq!(screen.browser.state.scroll, 0);
    assert_eq!(screen.selected(), LESSONS[1]);
    screen.key(KeyCode::Left);
    assert_eq!(screen.selected(), LESSONS[2]);
    screen.key(KeyCode::Tab);
    assert_eq!(screen.browser.state.focus, PaneFocus::List);
}

#[test]
fn a_step_typed_ahead_is_taken_in_the_list_the_search_gives() {
    let (_dir, mut engine) = ledger(&LESSONS);
    let mut screen = TestScreen::new(&mut engine, 80, 24);
    let mut keys = typed("banana bread");
    keys.push(KeyEvent::new(KeyCode::Down, KeyModifiers::NONE));
    let _ = screen.press(&keys);
    assert_eq!(screen.browser.state.source, ListSource::Nearest);
    assert_eq!(screen.browser.state.selected, 1);
}

#[test]
fn words_are_erased_one_by_one_and_the_text_has_an_end() {
    let (_dir, mut engine) = ledger(&LESSONS);
    let mut screen = TestScreen::new(&mut engine, 20, 5);
    screen.text("session lock ");
    let _ = screen.press(&[held('w')]);
    assert_eq!(screen.browser.state.query, "session ");
    screen.key(KeyCode::Backspace);
    assert_eq!(screen.browser.state.query, "session");
    screen.text(&"x".repeat(1000));
    assert_eq!(screen.browser.state.query.chars().count(), 400);
    let _ = screen.press(&[held('u')]);
    assert_eq!(screen.browser.state.query, "");
}

#[test]
fn both_keys_quit_and_nothing_after_them_is_read() {
    let (_dir, mut engine) = ledger(&LESSONS);
    for c in ['c', 'q'] {
        let mut screen = TestScreen::new(&mut engine, 80, 24);
        // The letter after the quit key must not reach the query.
        let keys = [held(c), typed("x")[0]];
        assert_eq!(screen.press(&keys), EventLoopState::Finished);
        assert_eq!(screen.browser.state.query, "");
    }
}

#[test]
fn what_an_entry_says_cannot_steer_the_terminal() {
    let evil = "Turn \u{202e}the text\u{2066} round.";
    let (_dir, mut engine) = ledger(&[evil]);
    let mut screen = TestScreen::new(&mut engine, 100, 24);
    // The guard quarantines such an entry; one from a newer or foreign Ken may get past it.
    screen.browser.filter.lifecycle = LifecycleFilter::All;
    screen.text("\u{202e}");
    for key in ['u', 'l', 'l'] {
        let shown = screen.terminal.backend().to_string();
        assert!(!shown.contains('\u{202e}'), "{shown}");
        let _ = screen.press(&[held(key)]);
        let cells = screen.terminal.backend().buffer().content();
        let hidden = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{2066}');
        assert!(!cells.iter().any(|cell| cell.symbol().contains(hidden)));
        let shown: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        assert!(shown.contains("Turn \\u{202e}the"), "{shown}");
    }
}

#[test]
fn without_color_no_cell_has_a_style() {
    let (_dir, mut engine) = ledger(&LESSONS);
    for (paint, is_plain) in [(ColorMode::Plain, true), (ColorMode::Colored, false)] {
        let mut screen = TestScreen::painted(&mut engine, 100, 30, paint);
        screen.text("lock");
        let cells = screen.terminal.backend().buffer().content();
        let reset = ratatui::buffer::Cell::EMPTY.style();
        assert_ne!(reset, Style::new().bold());
        assert_eq!(cells.iter().all(|cell| cell.style() == reset), is_plain);
    }
}

#[test]
fn no_screen_is_too_small() {
    let (_dir, mut engine) = ledger(&LESSONS);
    for (width, height) in [(1, 1), (2, 2), (3, 4), (9, 3), (80, 2), (200, 1), (79, 60)] {
        let mut screen = TestScreen::new(&mut engine, width, height);
        screen.text("session lock");
        screen.key(KeyCode::Down);
        let _ = screen.press(&[held('l')]);
        screen.key(KeyCode::End);
    }
}

#[test]
fn a_word_is_erased_back_to_any_kind_of_space() {
    let (_dir, mut engine) = ledger(&LESSONS);
    let mut screen = TestScreen::new(&mut engine, 80, 24);
    screen.text("支払\u{3000}確認");
    let _ = screen.press(&[held('w')]);
    assert_eq!(screen.browser.state.query, "支払\u{3000}");
    let _ = screen.press(&[held('w')]);
    assert_eq!(screen.browser.state.query, "");
}

#[test]
fn a_screen_wider_than_any_is_drawn() {
    let (_dir, mut engine) = ledger(&LESSONS);
    let _ = TestScreen::new(&mut engine, 3_000, 5);
}

#[test]
fn a_key_lists_all_keys_and_leads_back() {
    let (_dir, mut engine) = ledger(&LESSONS);
    let mut screen = TestScreen::new(&mut engine, 100, 24);
    for (open, close) in [
        (KeyCode::F(1), KeyCode::Esc),
        (KeyCode::F(1), KeyCode::F(1)),
    ] {
        screen.key(open);
        let shown = format!("{:?}", screen.terminal.backend());
        assert!(
            shown.contains("filter: lessons, norms, everything"),
            "{shown}"
        );
        screen.key(close);
        assert_eq!(screen.browser.state.focus, PaneFocus::List);
        assert_eq!(screen.browser.state.side, state::PageView::Entry);
    }
    screen.key(KeyCode::Enter);
    screen.text("?");
    assert_eq!(screen.browser.state.side, state::PageView::Help);
}

#[test]
fn the_filter_key_narrows_the_list() {
    let (_dir, mut engine) = ledger(&LESSONS);
    let mut screen = TestScreen::new(&mut engine, 80, 24);
    let mut counts = Vec::new();
    for _ in 0..3 {
        let _ = screen.press(&[held('f')]);
        counts.push(screen.browser.state.rows.len());
    }
    assert_eq!(counts, [3, 0, 3], "lessons, norms, everything");
}
