//! The tables of `docs/validity.md`, figures beside bars, and what was wrong.

use std::collections::BTreeSet;
use std::fmt;

use super::corpus::{PACKAGES, Tongue, Use};
use super::edits::{Case, Fate, Judged};
use super::formatting::{Formatted, STYLES};
use super::sample::sample;
use xtask::repository::Finding;

/// Wrong cases of one kind that are listed.
const LISTED_MAX: usize = 60;

/// Words below which the same text at another place may be another symbol: it is counted apart.
const SMALL_WORDS: usize = 20;

const FALSE_CHANGED_MAX: f64 = 0.01;
const MOVED_MIN: f64 = 0.90;
const FORMATTED_MIN: f64 = 0.995;

/// All that was measured.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) judged: Judged,
    pub(super) formatted: Vec<Formatted>,
}

/// What is held to a bar, of some cases.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    cases: usize,
    intact: usize,
    false_intact: usize,
    false_changed: usize,
    moved: usize,
    moved_found: usize,
    unclear: usize,
    unclear_found: usize,
    misplaced: usize,
}

impl Figures {
    fn of<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Self {
        let mut it = Self::default();
        for case in cases {
            let found = usize::from(case.ours == Fate::Moved && !case.misplaced);
            it.cases += 1;
            it.intact += usize::from(case.truth == Fate::Intact);
            it.false_intact += usize::from(is_false_intact(case));
            it.false_changed += usize::from(is_false_changed(case));
            it.misplaced += usize::from(case.misplaced);
            match case.truth {
                Fate::Moved if is_pure_move(case) => {
                    it.moved += 1;
                    it.moved_found += found;
                }
                Fate::Moved => {
                    it.unclear += 1;
                    it.unclear_found += found;
                }
                Fate::Intact | Fate::Changed | Fate::Gone | Fate::Unknown => {}
            }
        }
        it
    }
}

fn is_false_intact(case: &Case) -> bool {
    case.ours == Fate::Intact && case.truth != Fate::Intact
}

fn is_false_changed(case: &Case) -> bool {
    case.truth == Fate::Intact && case.ours != Fate::Intact
}

/// One place says the same, and enough that it is no chance.
fn is_pure_move(case: &Case) -> bool {
    case.truth == Fate::Moved && case.places == 1 && case.size >= SMALL_WORDS
}

fn is_missed_move(case: &Case) -> bool {
    is_pure_move(case) && (case.ours != Fate::Moved || case.misplaced)
}

impl Report {
    fn of(&self, tongue: Tongue) -> impl Iterator<Item = &Case> {
        let cases = self.judged.cases.iter();
        cases.filter(move |case| case.package.tongue == tongue)
    }

    /// Lists what was wrong, for whoever mends it.
    pub(super) fn listed(&self) -> String {
        let mut text = String::new();
        for (title, wanted) in [
            ("false intact", is_false_intact as fn(&Case) -> bool),
            ("false changed", is_false_changed),
            ("moved to another place", |case| case.misplaced),
            ("pure moves not found", is_missed_move),
        ] {
            for tongue in Tongue::ALL {
                let wrong: Vec<&Case> = self.of(tongue).filter(|case| wanted(case)).collect();
                text += &format!("{title}, {}: {}\n", tongue.name(), wrong.len());
                for case in wrong.iter().take(LISTED_MAX) {
                    text += &format!("  {}\n", described(case));
                }
            }
        }
        for it in self.formatted.iter().filter(|it| !it.is_held_out()) {
            let (tool, package) = (it.style.tool.name(), it.package.name);
            let count = it.tripped.len();
            text += &format!(
                "{tool} {:?} {package}: {count} of {}\n",
                it.style.options, it.changed
            );
            for name in it.tripped.iter().take(LISTED_MAX) {
                text += &format!("  {name}\n");
            }
        }
        text
    }

    /// Returns the bars that were missed.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let figures = Figures::of(sample(&self.judged.cases));
        let mut findings = Vec::new();
        let mut missed = |message: String| findings.push(Finding::new(super::DOCUMENT, 1, message));
        if figures.false_intact + figures.misplaced > 0 {
            missed("a symbol that changed passes as intact".to_owned());
        }
        if share(figures.false_changed, figures.intact) > FALSE_CHANGED_MAX {
            missed("too many symbols pass as changed".to_owned());
        }
        if share(figures.moved_found, figures.moved) < MOVED_MIN {
            missed("too few moves are found".to_owned());
        }
        for style in STYLES {
            let (changed, tripped) = self.formatted(style.options, |_| true);
            if share(changed - tripped, changed) < FORMATTED_MIN {
                missed(format!("{} trips anchors", style.tool.name()));
            }
        }
        findings
    }

    /// Returns how many symbols a formatter changed, and how many it tripped.
    fn formatted(&self, options: &[&str], wanted: impl Fn(&Formatted) -> bool) -> (usize, usize) {
        let all = self.formatted.iter();
        let all = all.filter(|it| it.style.options == options && wanted(it));
        all.fold((0, 0), |(changed, tripped), it| {
            (changed + it.changed, tripped + it.tripped.len())
        })
    }

    fn write_corpus(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| | releases | only formatted |\n|---|---|---|")?;
        for tongue in Tongue::ALL {
            let all = || PACKAGES.iter().filter(|it| it.tongue == tongue);
            let pairs = all().filter_map(|it| match it.used {
                Use::Edits { newer } => Some(format!("{} {} → {newer}", it.name, it.older)),
                Use::HeldOut => None,
            });
            let held_out = all().filter(|it| it.used == Use::HeldOut);
            let held_out = held_out.map(|it| format!("{} {}", it.name, it.older));
            let (pairs, held_out): (Vec<_>, Vec<_>) = (pairs.collect(), held_out.collect());
            let name = tongue.name();
            writeln!(
                f,
                "| {name} | {} | {} |",
                pairs.join(", "),
                held_out.join(", ")
            )?;
        }
        Ok(())
    }

    fn write_formatting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| formatter | settings | packages above | packages only formatted | bar |\n|---|---|---|---|---|"
        )?;
        for style in STYLES {
            let cell = |is_held_out: bool| {
                let wanted = |it: &Formatted| it.is_held_out() == is_held_out;
                let (changed, tripped) = self.formatted(style.options, wanted);
                let kept = changed - tripped;
                format!(
                    "{} of {}: {}",
                    count(kept),
                    count(changed),
                    percent(kept, changed)
                )
            };
            let options = style.options.join(" ");
            let name = style.tool.name();
            let (ours, others) = (cell(false), cell(true));
            writeln!(f, "| {name} | `{options}` | {ours} | {others} | ≥ 99.5 % |")?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = &self.judged.cases;
        let sample = sample(all);
        self.write_corpus(f)?;
        writeln!(
            f,
            "\nFunctions, methods and types of the older releases: {} anchors, of which {} are the sample. Left out: {} that \
             stand in files the second parser cannot read, and {} that only it names.\n",
            count(all.len()),
            count(sample.len()),
            count(self.judged.unread),
            count(self.judged.missed),
        )?;
        writeln!(
            f,
            "### The sample\n\nRows: what became of it; columns: what Ken says.\n"
        )?;
        for tongue in Tongue::ALL {
            let cases = sample.iter().copied();
            let cases: Vec<&Case> = cases.filter(|it| it.package.tongue == tongue).collect();
            write_matrix(f, tongue.name(), &cases)?;
        }
        write_figures(f, &sample)?;
        writeln!(f, "\n### All of them\n")?;
        for tongue in Tongue::ALL {
            let cases: Vec<&Case> = self.of(tongue).collect();
            write_matrix(f, tongue.name(), &cases)?;
        }
        write_figures(f, &all.iter().collect::<Vec<_>>())?;
        writeln!(f, "\n### Formatters\n")?;
        self.write_formatting(f)
    }
}

fn write_matrix(f: &mut fmt::Formatter<'_>, name: &str, cases: &[&Case]) -> fmt::Result {
    let known: BTreeSet<Fate> = cases.iter().map(|case| case.ours).collect();
    let columns: Vec<Fate> = Fate::ALL
        .into_iter()
        .filter(|it| *it != Fate::Unknown || known.contains(it))
        .collect();
    let heads: Vec<&str> = columns.iter().map(|it| it.name()).collect();
    writeln!(
        f,
        "| {name} ({}) | {} |",
        count(cases.len()),
        heads.join(" | ")
    )?;
    writeln!(f, "|---|{}", "---|".repeat(columns.len()))?;
    for truth in Fate::ALL.into_iter().filter(|it| *it != Fate::Unknown) {
        let cells: Vec<String> = columns
            .iter()
            .map(|ours| {
                let of = cases
                    .iter()
                    .filter(|it| it.truth == truth && it.ours == *ours);
                count(of.count())
            })
            .collect();
        writeln!(f, "| {} | {} |", truth.name(), cells.join(" | "))?;
    }
    writeln!(f)
}

fn write_figures(f: &mut fmt::Formatter<'_>, cases: &[&Case]) -> fmt::Result {
    let of = |tongue: Tongue| {
        Figures::of(
            cases
                .iter()
                .copied()
                .filter(|it| it.package.tongue == tongue),
        )
    };
    let mut columns: Vec<Figures> = Tongue::ALL.into_iter().map(of).collect();
    columns.push(Figures::of(cases.iter().copied()));
    let heads: Vec<&str> = Tongue::ALL.iter().map(|it| it.name()).collect();
    writeln!(
        f,
        "| | {} | all | bar |\n|---|---|---|---|---|---|---|",
        heads.join(" | ")
    )?;
    let mut row = |name: &str, bar: &str, cell: &dyn Fn(&Figures) -> String| {
        let cells: Vec<String> = columns.iter().map(cell).collect();
        writeln!(f, "| {name} | {} | {bar} |", cells.join(" | "))
    };
    row("false “intact”", "0", &|it| count(it.false_intact))?;
    row(
        "“moved” to a place that says something else",
        "0",
        &|it| count(it.misplaced),
    )?;
    row("false “changed”", "≤ 1 %", &|it| {
        ratio(it.false_changed, it.intact)
    })?;
    row("pure moves found", "≥ 90 %", &|it| {
        ratio(it.moved_found, it.moved)
    })?;
    row("small or doubtful moves found", "–", &|it| {
        ratio(it.unclear_found, it.unclear)
    })
}

fn described(case: &Case) -> String {
    format!(
        "{} {}#{}: {} here, {} there ({} words, {} places)",
        case.package.name,
        case.path,
        case.name,
        case.ours.name(),
        case.truth.name(),
        case.size,
        case.places,
    )
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn share(part: usize, of: usize) -> f64 {
    match of {
        0 => 1.0,
        of => part as f64 / of as f64,
    }
}

fn ratio(part: usize, of: usize) -> String {
    format!("{} of {}: {}", count(part), count(of), percent(part, of))
}

fn percent(part: usize, of: usize) -> String {
    match of {
        0 => "–".to_owned(),
        of => format!("{:.2} %", 100.0 * share(part, of)),
    }
}

/// Returns a number with commas between thousands.
fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
