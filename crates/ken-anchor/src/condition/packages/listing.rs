//! Content of a lockfile: packages with their versions, and whether the list is complete.

/// The packages of one lockfile.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LockfileListing {
    /// Names with their locked versions; `None` if the file does not pin one.
    pub(super) packages: Vec<(String, Option<String>)>,
    pub(super) coverage: ListingCoverage,
}

/// Completeness of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListingCoverage {
    Whole,
    /// Unlisted packages may be used indirectly.
    Part,
}

impl LockfileListing {
    pub(super) fn whole(packages: Vec<(String, Option<String>)>) -> Self {
        Self {
            packages,
            coverage: ListingCoverage::Whole,
        }
    }

    /// Returns sorted `name version` lines, with `?` for an unpinned version.
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
