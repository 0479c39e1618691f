//! What a lockfile says: packages with their versions, and whether those are all.

/// The packages of one lockfile.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listing {
    /// Names with the version each is locked to; nothing where the file leaves that open.
    pub(super) packages: Vec<(String, Option<String>)>,
    pub(super) coverage: Coverage,
}

/// Whether a file lists every package that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    Whole,
    /// What is not listed may be used all the same, by way of what is.
    Part,
}

impl Listing {
    pub(super) fn whole(packages: Vec<(String, Option<String>)>) -> Self {
        Self {
            packages,
            coverage: Coverage::Whole,
        }
    }

    /// Returns `name version` lines in order, `?` for an open version.
    #[cfg(test)]
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |(name, version): &(String, Option<String>)| {
            format!("{name} {}", version.as_deref().unwrap_or("?"))
        };
        let mut lines: Vec<String> = self.packages.iter().map(line).collect();
        lines.sort();
        lines
    }
}
