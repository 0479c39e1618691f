//! `ken show <id>` from process start to exit, held against a program that prints a line.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::fixture::{self, Cut, said};
use super::measure::{Took, in_children, median, run_quietly};
use super::programs::Programs;
use super::report::{Report, Verdict, shown};
use super::{Bench, Size};

/// How much longer `ken show` may take.
const ABOVE_MAX: Duration = Duration::from_millis(15);
const WHAT: &str = "show: above the program that prints a line, median";

/// Measures both programs in turn.
pub(crate) fn run(bench: &Bench) -> Result<Report, String> {
    let (events, laps) = match bench.size {
        Size::Full => (1_000_000, 50),
        Size::Quick => (20_000, 10),
    };
    let fixture = fixture::ledger(&bench.cache, events, Cut::Full)?;
    drop(fixture::open(&fixture.root)?);
    let ids: Vec<&str> = fixture.ids.iter().map(String::as_str).collect();
    let mut report = Report::default();
    let programs = Programs::build(bench).and_then(|programs| {
        check(&programs.ken, &fixture.root, ids[0])?;
        Ok(programs)
    });
    let programs = match programs {
        Ok(programs) => programs,
        Err(why) => {
            let bar = format!("<= {}", shown(ABOVE_MAX));
            report.push(WHAT, "–", "–", Verdict::NotMeasured { bar });
            report.note(format!("show: {why}"));
            return Ok(report);
        }
    };
    let sides = Sides {
        programs,
        root: &fixture.root,
        ids,
    };
    sides.measure(laps, &mut report)?;
    report.note(format!(
        "show: {} entries, {laps} runs of each program in turn, another entry each time; CPU is the mean of as many \
         runs in a row.",
        fixture.entries
    ));
    Ok(report)
}

struct Sides<'a> {
    programs: Programs,
    root: &'a Path,
    ids: Vec<&'a str>,
}

impl Sides<'_> {
    fn measure(&self, laps: usize, report: &mut Report) -> Result<(), String> {
        let (mut lines, mut shows) = (Vec::new(), Vec::new());
        for lap in 0..laps {
            let (ran, line) = in_children(|| self.print_line());
            ran?;
            let (ran, show) = in_children(|| self.show(lap));
            ran?;
            lines.push(line.wall.as_secs_f64());
            shows.push(show.wall.as_secs_f64());
        }
        // The kernel adds up children's time to a hundredth of a second: too coarse for one run.
        let (ran, many_lines) = in_children(|| (0..laps).try_for_each(|_| self.print_line()));
        ran?;
        let (ran, many_shows) = in_children(|| (0..laps).try_for_each(|lap| self.show(lap)));
        ran?;
        let middle = |walls: &[f64], many: Took| Took {
            wall: Duration::from_secs_f64(median(walls)),
            cpu: many.cpu / u32::try_from(laps).unwrap_or(u32::MAX),
        };
        let (line, show) = (middle(&lines, many_lines), middle(&shows, many_shows));
        report.took("show: a program that prints a line", line);
        report.took("show: `ken show <id>`", show);
        let above = show.wall.saturating_sub(line.wall);
        let verdict = Verdict::of(above <= ABOVE_MAX, format!("<= {}", shown(ABOVE_MAX)));
        report.push(
            WHAT,
            shown(above),
            shown(show.cpu.saturating_sub(line.cpu)),
            verdict,
        );
        Ok(())
    }

    fn print_line(&self) -> Result<(), String> {
        run_quietly(&self.programs.print_line, &[], self.root)
    }

    fn show(&self, lap: usize) -> Result<(), String> {
        let id = self.ids[(lap * 7919) % self.ids.len()];
        run_quietly(&self.programs.ken, &["show", id], self.root)
    }
}

/// Makes sure that what is timed is an answer.
fn check(ken: &Path, root: &Path, id: &str) -> Result<(), String> {
    let output = Command::new(ken)
        .args(["show", id])
        .current_dir(root)
        .output()
        .map_err(said("cannot start `ken`"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && text.contains(id) {
        return Ok(());
    }
    let talk = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "`ken show` does not show an entry yet: {}",
        talk.trim()
    ))
}
