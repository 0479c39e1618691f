//! `ken man`: manual pages, made from the same words as `--help`.

use std::fs;

use super::Session;
use crate::args::{self, ManArgs};
use crate::failure::{Exit, Failure};
use crate::print::counted;

pub(super) fn run(session: &mut Session<'_>, args: &ManArgs) -> Result<Exit, Failure> {
    let Some(out) = &args.out else {
        let mut page = Vec::new();
        let written = clap_mangen::Man::new(args::command()).render(&mut page);
        written.map_err(|e| Failure::io("cannot make the manual page", &e))?;
        session.printer.text(String::from_utf8_lossy(&page))?;
        return Ok(Exit::Fine);
    };
    let out = session.surroundings.start.join(out);
    let failed = |error| {
        Failure::io(
            format_args!("cannot write below `{}`", out.display()),
            &error,
        )
    };
    fs::create_dir_all(&out).map_err(failed)?;
    clap_mangen::generate_to(args::command(), &out).map_err(failed)?;
    let pages = fs::read_dir(&out).map_err(failed)?.count();
    let pages = counted(pages as u64, "page", "pages");
    session
        .printer
        .talk(format_args!("wrote {pages} below {}", out.display()))?;
    Ok(Exit::Fine)
}
