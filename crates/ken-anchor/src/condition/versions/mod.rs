//! Membership of versions in ranges, by the ordering of each ecosystem.
//!
//! cargo, npm and Go modules use semantic versions (missing numbers are 0), PyPI uses PEP 440.
//! Maven, RubyGems and Composer are compared with [`DottedVersion`], an approximation of all three:
//! numbers by value, pre-release words before their release.

mod dotted;

use std::cmp::Ordering;

use ken_core::values::condition::{Ecosystem, VersionComparator, VersionConstraint, VersionRange};
use semver::{Version, VersionReq};

use self::dotted::DottedVersion;

/// A version with the ordering of its ecosystem.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EcosystemVersion {
    Semantic(Version),
    Python(pep440_rs::Version),
    Dotted(DottedVersion),
}

/// Maximum length of a version in bytes.
const VERSION_BYTES_MAX: usize = 256;

/// Returns whether `range` contains `version`, or `None` if they cannot be compared.
pub(super) fn is_in_range(
    ecosystem: Ecosystem,
    range: &VersionRange,
    version: &str,
) -> Option<bool> {
    // `*` also contains versions that cannot be parsed.
    if range.constraints().is_empty() {
        return Some(true);
    }
    let version = EcosystemVersion::parse(ecosystem, version)?;
    if let [only] = range.constraints()
        && only.comparator.is_native()
    {
        return matches_native_range(only, &version);
    }
    let mut bounds = Vec::new();
    for constraint in range.constraints() {
        let bound = EcosystemVersion::parse(ecosystem, &constraint.decoded_version())?;
        bounds.push((constraint.comparator, bound));
    }
    range_contains(bounds, &version)
}

/// Evaluates `^1.2` and `~1.2` as cargo does; npm agrees on both.
fn matches_native_range(
    constraint: &VersionConstraint,
    version: &EcosystemVersion,
) -> Option<bool> {
    let EcosystemVersion::Semantic(version) = version else {
        return None;
    };
    // `VersionReq` does not accept a leading `v`.
    let wanted = constraint.to_string().replacen('v', "", 1);
    Some(VersionReq::parse(&wanted).ok()?.matches(version))
}

/// Evaluates a range by the VERS rules: equal bounds first, then the intervals between the other
/// bounds, in order.
fn range_contains(
    bounds: Vec<(VersionComparator, EcosystemVersion)>,
    version: &EcosystemVersion,
) -> Option<bool> {
    // Insertion sort, because a comparison can fail and `sort_by` cannot.
    let mut sorted: Vec<(VersionComparator, EcosystemVersion)> = Vec::with_capacity(bounds.len());
    for bound in bounds {
        let mut at = sorted.len();
        while at > 0 && bound.1.compare(&sorted[at - 1].1)? == Ordering::Less {
            at -= 1;
        }
        sorted.insert(at, bound);
    }
    // Whether the version is above the lower bound of the current interval, if it has one.
    let mut above = None;
    let mut interval = IntervalEnd::Open;
    let mut only_excludes = true;
    let mut inside = false;
    for (comparator, bound) in &sorted {
        let order = version.compare(bound)?;
        match (comparator, order) {
            (VersionComparator::NotEqual, Ordering::Equal) => return Some(false),
            (VersionComparator::NotEqual, _) => continue,
            (
                VersionComparator::Equal
                | VersionComparator::GreaterOrEqual
                | VersionComparator::LessOrEqual,
                Ordering::Equal,
            ) => return Some(true),
            (VersionComparator::Equal, _) => {}
            // Consecutive bounds of one direction form a union: the lowest lower bound and the
            // highest upper bound decide.
            (VersionComparator::Greater | VersionComparator::GreaterOrEqual, _) => {
                if interval == IntervalEnd::Closed || above.is_none() {
                    above = Some(order == Ordering::Greater);
                }
                interval = IntervalEnd::Open;
            }
            (VersionComparator::Less | VersionComparator::LessOrEqual, _) => {
                inside |= order == Ordering::Less && above.unwrap_or(true);
                interval = IntervalEnd::Closed;
            }
            (VersionComparator::Caret | VersionComparator::Tilde, _) => return None,
        }
        only_excludes = false;
    }
    let above_all = interval == IntervalEnd::Open && above == Some(true);
    Some(only_excludes || inside || above_all)
}

/// Upper end of the last interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IntervalEnd {
    Open,
    Closed,
}

impl EcosystemVersion {
    fn parse(ecosystem: Ecosystem, text: &str) -> Option<Self> {
        if text.len() > VERSION_BYTES_MAX {
            return None;
        }
        match ecosystem {
            Ecosystem::Cargo | Ecosystem::Npm | Ecosystem::Golang => {
                parse_semantic(text).map(Self::Semantic)
            }
            Ecosystem::Pypi => text.parse().ok().map(Self::Python),
            Ecosystem::Composer | Ecosystem::Gem | Ecosystem::Maven => {
                DottedVersion::parse(ecosystem, text).map(Self::Dotted)
            }
        }
    }

    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            // Build metadata has no precedence: `1.2.0+build` equals `1.2.0`.
            (Self::Semantic(one), Self::Semantic(other)) => Some(one.cmp_precedence(other)),
            (Self::Python(one), Self::Python(other)) => Some(one.cmp(other)),
            (Self::Dotted(one), Self::Dotted(other)) => Some(one.cmp(other)),
            (Self::Semantic(_) | Self::Python(_) | Self::Dotted(_), _) => None,
        }
    }
}

/// Parses a semantic version; accepts a leading `v` and treats missing numbers as 0.
fn parse_semantic(text: &str) -> Option<Version> {
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let missing = 2_usize.checked_sub(numbers.matches('.').count())?;
    Version::parse(&format!("{numbers}{}{rest}", ".0".repeat(missing))).ok()
}

#[cfg(test)]
mod tests {
    use ken_core::values::condition::{ConditionClause, parse};

    use super::*;

    /// Evaluates a whole `pkg:` condition against one version.
    fn held(package: &str, version: &str) -> Option<bool> {
        let ConditionClause::Package(package) = parse(&format!("pkg:{package}")).unwrap().clause
        else {
            unreachable!("the condition is about a package");
        };
        is_in_range(package.ecosystem(), package.range(), version)
    }

    #[test]
    fn ranges_hold_the_versions_between_their_bounds() {
        let table: &[(&str, &[&str], &[&str])] = &[
            ("cargo/x@*", &["0.1.0", "9.9.9-rc.1", "whatever"], &[]),
            (
                "cargo/x@1.2",
                &["1.2.0", "1.2.0+build"],
                &["1.2.1", "1.2.0-rc.1"],
            ),
            (
                "cargo/x@>=1.40",
                &["1.40.0", "2.0.0"],
                &["1.39.9", "1.40.0-rc.1"],
            ),
            ("cargo/x@<2", &["1.9.9", "2.0.0-rc.1"], &["2.0.0"]),
            ("npm/x@>=1|<2", &["1.0.0", "1.10.0"], &["0.9.0", "2.0.0"]),
            ("npm/x@<2|>=1", &["1.0.0", "1.10.0"], &["0.9.0", "2.0.0"]),
            (
                "npm/x@<1|>=2|<3|>5",
                &["0.1.0", "2.5.0", "6.0.0"],
                &["1.0.0", "3.0.0", "5.0.0"],
            ),
            ("npm/x@!=1.3", &["1.2.0", "1.4.0"], &["1.3.0"]),
            (
                "npm/x@>=1|!=1.3|<2",
                &["1.2.0", "1.4.0"],
                &["1.3.0", "2.0.0"],
            ),
            ("npm/x@1.1|1.3", &["1.1.0", "1.3.0"], &["1.2.0"]),
            ("npm/x@1.1|>=2", &["1.1.0", "2.0.0", "3.0.0"], &["1.2.0"]),
            ("npm/x@>=1|>=2", &["1.0.0", "1.5.0", "3.0.0"], &["0.1.0"]),
            ("npm/x@<1|<2", &["0.1.0", "1.5.0"], &["2.0.0"]),
            ("npm/x@>1|<=2", &["2.0.0"], &["1.0.0"]),
            ("npm/x@^1.2", &["1.2.0", "1.9.0"], &["1.1.0", "2.0.0"]),
            ("cargo/x@^0.2", &["0.2.5"], &["0.3.0"]),
            ("cargo/x@~1.2", &["1.2.9"], &["1.3.0"]),
            (
                "golang/a.com/x@>=v1.2",
                &["v1.2.0", "v2.0.0+incompatible"],
                &["v1.1.9"],
            ),
            (
                "golang/a.com/x@<1",
                &["v0.0.0-20190101000000-abcdefabcdef"],
                &["v1.0.0"],
            ),
            (
                "pypi/x@>=2.0|<3",
                &["2.0", "2.0.post1", "2.9.1"],
                &["2.0rc1", "3.0", "1.9"],
            ),
            ("pypi/x@1!1.0", &["1!1.0.0"], &["1.0"]),
            ("gem/x@>=7.0|<8", &["7.0.8.1", "7.1"], &["7.0.0.rc1", "8.0"]),
            (
                "maven/g/x@>=32",
                &["32.1.3-jre", "33"],
                &["32.0-alpha-1", "31.1-jre"],
            ),
            ("composer/g/x@6.4.1", &["v6.4.1", "6.4.1.0"], &["6.4.2"]),
        ];
        for (range, inside, outside) in table {
            for version in *inside {
                assert_eq!(held(range, version), Some(true), "{version} in {range}");
            }
            for version in *outside {
                assert_eq!(
                    held(range, version),
                    Some(false),
                    "{version} not in {range}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_version_cannot_be_told() {
        assert_eq!(held("npm/x@>=1", "github:a/b#c"), None);
        assert_eq!(held("composer/g/x@>=1", "dev-main"), None);
        assert_eq!(held("pypi/x@>=1", "not a version"), None);
        assert_eq!(held("cargo/x@>=1", &"1".repeat(400)), None);
    }
}
