//! `ken browse` as a child process, with and without a terminal.

use crate::cli::support::folder_with_ledger;

#[test]
fn without_a_terminal_it_names_the_commands_that_need_none() {
    let env = folder_with_ledger();
    insta::assert_snapshot!(env.run(["browse", "session lock"]), @"
    exit: 2
    ----- stderr -----
    error: `ken browse` needs a terminal

    hint: use `ken search QUERY` or `ken list` instead
    ");
    insta::assert_snapshot!(env.run(["browse", "--format", "json"]), @r#"
    exit: 2
    ----- stderr -----
    {"schema":"ken.error.v1","code":"usage","message":"`ken browse` needs a terminal","hint":"use `ken search QUERY` or `ken list` instead"}
    "#);
}

/// The terminal comes from util-linux `script`; `script` of other systems takes other options.
#[cfg(target_os = "linux")]
mod in_a_terminal {
    use std::io::{Read as _, Write as _};
    use std::process::{Child, ChildStdin, Command, Stdio};
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;
    use std::time::Duration;

    use ken_testkit::test_env::TestEnvironment;

    use crate::cli::support::{add_lesson, folder_with_ledger};

    /// Maximum wait for a screen update.
    const SCREEN_TIMEOUT: Duration = Duration::from_secs(60);

    const ENTERS_SCREEN: &str = "\u{1b}[?1049h";
    const LEAVES_SCREEN: &str = "\u{1b}[?1049l";
    const CTRL_C: &str = "\u{3}";
    const CTRL_L: &str = "\u{c}";
    const CTRL_Q: &str = "\u{11}";

    /// A running `ken browse`.
    struct BrowseTerminal {
        child: Child,
        keys: ChildStdin,
        bytes: Receiver<Vec<u8>>,
        /// Unread output of the program.
        seen: String,
    }

    impl BrowseTerminal {
        /// Starts the program; returns `None` without a `script` that can create a terminal.
        fn start(env: &TestEnvironment, args: &str) -> Option<Self> {
            let ken = env.ken();
            let program = ken.get_program().to_str()?;
            let line = format!("stty rows 24 cols 80 && exec '{program}' browse {args}");
            let mut script = Command::new("script");
            script.current_dir(env.root()).env_clear();
            script.envs(
                ken.get_envs()
                    .filter_map(|(key, value)| Some((key, value?))),
            );
            script.env("PATH", std::env::var_os("PATH")?);
            script.env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
            script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
            script.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = script.spawn().ok()?;
            let keys = child.stdin.take()?;
            let mut screen = child.stdout.take()?;
            let (sender, bytes) = channel();
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(count @ 1..) = screen.read(&mut buffer) {
                    if sender.send(buffer[..count].to_vec()).is_err() {
                        break;
                    }
                }
            });
            Some(Self {
                child,
                keys,
                bytes,
                seen: String::new(),
            })
        }

        /// Waits until the program prints `needle` after the previous match.
        ///
        /// The program sends only cells that change, so `needle` must be a word of which no letter
        /// was already at its position.
        #[track_caller]
        fn wait_for(&mut self, needle: &str) {
            loop {
                if let Some(at) = self.seen.find(needle) {
                    self.seen.drain(..at + needle.len());
                    return;
                }
                let Ok(bytes) = self.bytes.recv_timeout(SCREEN_TIMEOUT) else {
                    panic!("no {needle:?} in {:?}", self.seen);
                };
                self.seen.push_str(&String::from_utf8_lossy(&bytes));
            }
        }

        fn press(&mut self, keys: &str) {
            let sent = self.keys.write_all(keys.as_bytes());
            sent.expect("ken reads its keys");
        }

        #[track_caller]
        fn wait_for_clean_exit(mut self) {
            self.wait_for(LEAVES_SCREEN);
            assert!(self.child.wait().expect("ken ends").success());
        }
    }

    #[test]
    fn it_searches_opens_shows_the_history_and_gives_the_terminal_back() {
        let env = folder_with_ledger();
        let _ = add_lesson(&env, "Color themes are read once, when the window opens.");
        let id = add_lesson(
            &env,
            "handleRequest takes the session lock before it writes.",
        );
        let Some(mut terminal) = BrowseTerminal::start(&env, "") else {
            return;
        };
        terminal.wait_for(ENTERS_SCREEN);
        terminal.wait_for("newest");
        terminal.press("session lock");
        terminal.wait_for("similarity");
        terminal.press("\r");
        terminal.wait_for("scroll");
        terminal.press(CTRL_L);
        terminal.wait_for("proposed:");
        terminal.press(CTRL_Q);
        terminal.wait_for_clean_exit();
        assert!(env.run(["list"]).success().stdout.contains(&id));
    }

    #[test]
    fn a_query_and_filters_may_be_given_and_ctrl_c_is_a_good_end() {
        let env = folder_with_ledger();
        let _ = add_lesson(&env, "Color themes are read once, when the window opens.");
        let Some(mut terminal) = BrowseTerminal::start(&env, "themes --kind decision") else {
            return;
        };
        terminal.wait_for("found");
        terminal.press(CTRL_C);
        terminal.wait_for_clean_exit();
    }
}
