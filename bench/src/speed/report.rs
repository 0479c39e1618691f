//! What was measured, as a table for the terminal and a section for `docs/performance.md`.

use std::fmt::Write as _;
use std::time::Duration;

use super::measure::Took;

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) wall: String,
    pub(crate) cpu: String,
    pub(crate) verdict: Verdict,
}

/// Whether a figure is what it has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A figure nothing is asked of.
    Told,
    Reached {
        bar: String,
    },
    Missed {
        bar: String,
    },
    NotMeasured {
        bar: String,
    },
}

/// Everything one run found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    pub(crate) notes: Vec<String>,
}

impl Verdict {
    /// Judges a figure that must not be below `bar`.
    pub(crate) fn at_least(figure: f64, bar: f64) -> Self {
        Self::of(bar <= figure, format!(">= {bar}"))
    }

    pub(crate) fn of(reached: bool, bar: String) -> Self {
        if reached {
            Self::Reached { bar }
        } else {
            Self::Missed { bar }
        }
    }

    fn bar(&self) -> &str {
        match self {
            Self::Told => "",
            Self::Reached { bar } | Self::Missed { bar } | Self::NotMeasured { bar } => bar,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Told => "",
            Self::Reached { .. } => "reached",
            Self::Missed { .. } => "missed",
            Self::NotMeasured { .. } => "not measured",
        }
    }
}

impl Report {
    /// Adds what `count` things took, with their rate.
    pub(crate) fn rate(&mut self, what: impl Into<String>, count: u64, took: Took, unit: &str) {
        let per_second = |time: Duration| count as f64 / time.as_secs_f64();
        let wall = format!(
            "{}, {} {unit}/s",
            shown(took.wall),
            rounded(per_second(took.wall))
        );
        self.push(what, wall, shown(took.cpu), Verdict::Told);
    }

    /// Adds what one thing took.
    pub(crate) fn took(&mut self, what: impl Into<String>, took: Took) {
        self.push(what, shown(took.wall), shown(took.cpu), Verdict::Told);
    }

    pub(crate) fn push(
        &mut self,
        what: impl Into<String>,
        wall: impl Into<String>,
        cpu: impl Into<String>,
        verdict: Verdict,
    ) {
        self.rows.push(Row {
            what: what.into(),
            wall: wall.into(),
            cpu: cpu.into(),
            verdict,
        });
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.rows.append(&mut other.rows);
        self.notes.append(&mut other.notes);
    }

    /// Returns the bars that were missed, in words.
    pub(crate) fn missed(&self) -> impl Iterator<Item = String> + '_ {
        self.rows.iter().filter_map(|row| match &row.verdict {
            Verdict::Missed { bar } => Some(format!("{}: {}, wanted {bar}", row.what, row.wall)),
            Verdict::Told | Verdict::Reached { .. } | Verdict::NotMeasured { .. } => None,
        })
    }

    /// Writes the table as Markdown whose columns line up, good for the terminal too.
    pub(crate) fn table(&self) -> String {
        let heads = ["what", "wall", "CPU", "bar", "verdict"];
        let mut lines = vec![heads.map(str::to_owned)];
        for row in &self.rows {
            let (bar, word) = (row.verdict.bar().to_owned(), row.verdict.word().to_owned());
            lines.push([
                row.what.clone(),
                row.wall.clone(),
                row.cpu.clone(),
                bar,
                word,
            ]);
        }
        let widths: [usize; 5] = std::array::from_fn(|column| {
            let cells = lines.iter().map(|line| line[column].chars().count());
            cells.max().unwrap_or(0)
        });
        let mut out = String::new();
        for (number, line) in lines.iter().enumerate() {
            for (cell, width) in line.iter().zip(widths) {
                let _ = write!(out, "| {cell:width$} ");
            }
            out.push_str("|\n");
            if number == 0 {
                for width in widths {
                    let _ = write!(out, "|{}", "-".repeat(width + 2));
                }
                out.push_str("|\n");
            }
        }
        out
    }

    /// Writes table and notes.
    pub(crate) fn text(&self) -> String {
        let mut out = self.table();
        for note in &self.notes {
            let _ = write!(out, "\n- {note}");
        }
        if !self.notes.is_empty() {
            out.push('\n');
        }
        out
    }
}

/// Returns `document` with what `bench name` measured replaced by `section`.
pub(crate) fn with_section(document: &str, name: &str, section: &str) -> Result<String, String> {
    let begin = format!("<!-- bench {name}: begin -->");
    let end = format!("<!-- bench {name}: end -->");
    let (before, rest) = document
        .split_once(&begin)
        .ok_or_else(|| format!("the document has no `{begin}`"))?;
    let (_, after) = rest
        .split_once(&end)
        .ok_or_else(|| format!("the document has no `{end}`"))?;
    Ok(format!(
        "{before}{begin}\n\n{}\n\n{end}{after}",
        section.trim()
    ))
}

/// A time in the unit a person would choose.
pub(crate) fn shown(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if time.is_zero() {
        "–".to_owned()
    } else if seconds < 0.000_95 {
        format!("{:.0} µs", seconds * 1e6)
    } else if seconds < 0.095 {
        format!("{:.1} ms", seconds * 1e3)
    } else if seconds < 0.95 {
        format!("{:.0} ms", seconds * 1e3)
    } else {
        format!("{seconds:.2} s")
    }
}

/// How many times the rate of `other` the rate of `one` is; a dash where one was not measured.
pub(crate) fn ratio_of_rates(one: Duration, other: Duration) -> String {
    if one.is_zero() || other.is_zero() {
        return "–".to_owned();
    }
    format!("{:.2}", other.as_secs_f64() / one.as_secs_f64())
}

fn rounded(number: f64) -> String {
    if number < 1e4 {
        format!("{number:.0}")
    } else if number < 1e6 {
        format!("{:.0}k", number / 1e3)
    } else {
        format!("{:.2}M", number / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_measured_section_is_replaced() {
        let (begin, end) = ("<!-- bench x: begin -->", "<!-- bench x: end -->");
        let document = format!("a\n{begin}\nold\n{end}\nb\n");
        let new = with_section(&document, "x", "new\n").unwrap();
        assert_eq!(new, format!("a\n{begin}\n\nnew\n\n{end}\nb\n"));
        assert_eq!(with_section(&new, "x", "new").unwrap(), new);
        assert!(with_section(&new, "y", "new").is_err());
    }

    #[test]
    fn a_missed_bar_is_named() {
        let mut report = Report::default();
        report.push("fast", "0.30", "0.30", Verdict::at_least(0.3, 0.2));
        report.push("slow", "0.10", "0.10", Verdict::at_least(0.1, 0.2));
        let missed: Vec<String> = report.missed().collect();
        assert_eq!(missed, ["slow: 0.10, wanted >= 0.2"]);
        assert_eq!(report.table().lines().count(), 4);
    }
}
