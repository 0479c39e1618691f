//! `ken browse`: entries on the whole terminal, searched as somebody types.

use std::io::{self, IsTerminal as _};

use super::Session;
use crate::args::BrowseArgs;
use crate::browse::{Browser, Paint};
use crate::failure::{Exit, Failure};
use crate::print::progress::Progress;

pub(super) fn run(session: &mut Session<'_>, args: &BrowseArgs) -> Result<Exit, Failure> {
    if session.is_json() || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let hint = "`ken search QUERY` and `ken list` answer anywhere";
        return Err(Failure::usage("`ken browse` is for people at a terminal").with_hint(hint));
    }
    let paint = if session.printer.is_coloured() {
        Paint::Coloured
    } else {
        Paint::Plain
    };
    let progress = Progress::start(session.printer, "reading entries", None);
    session.read(|engine| {
        drop(progress);
        Browser::new(engine, args.which.to_filter(), args.query.join(" "), paint).run()
    })?;
    Ok(Exit::Fine)
}
