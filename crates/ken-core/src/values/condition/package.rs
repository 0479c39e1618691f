//! `pkg:` conditions: a package URL type and name with a VERS version range.
//!
//! The parsed form keeps the exact spelling. Comparing versions is the job of `ken-anchor`, which
//! knows the order of each ecosystem.

use std::fmt;

use super::lockfile::Ecosystem;

/// A package within a version range: `npm/%40types/node@>=18|<21`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageRequirement {
    ecosystem: Ecosystem,
    /// As written, percent-encoded or not.
    spelled: String,
    range: VersionRange,
}

/// A version range.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionRange {
    form: RangeForm,
    constraints: Vec<VersionConstraint>,
}

/// The spelling of a range: short, or a full VERS URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum RangeForm {
    Short,
    Uri(Ecosystem),
}

/// One bound of a range.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionConstraint {
    pub comparator: VersionComparator,
    pub version: String,
}

/// The comparison of a version with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VersionComparator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// `^1.2`: compatible versions in the sense of cargo and npm. Must be the only bound.
    Caret,
    /// `~1.2`: the same minor version. Must be the only bound.
    Tilde,
}

/// The reason a text is not a valid package requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackageError {
    #[error("write pkg:TYPE/NAME@RANGE, such as pkg:cargo/tokio@>=1.40; any version is @*")]
    Form,
    #[error(
        "`{0}` is not a valid package type: write cargo, composer, gem, golang, maven, npm or pypi"
    )]
    Type(String),
    #[error(
        "`{0}` is not a valid package name: use letters, digits and ._~+- between slashes, the rest as %XX"
    )]
    Name(String),
    #[error("write the name of a {0} package as GROUP/NAME")]
    Group(&'static str),
    #[error(
        "`{0}` is not a valid version: start with a digit or `v` and use letters, digits and ._~+!-"
    )]
    Version(String),
    #[error("write an exact version without an operator: `{0}`")]
    Plain(String),
    #[error("join bounds with `|`, such as >=1|<2")]
    Joined,
    #[error("`{0}` works only for cargo and npm, and only alone; write bounds, such as >=1.2|<2")]
    Native(String),
    #[error("version {0} has two bounds; name each version once")]
    Twice(String),
    #[error("the range is for {found}, but the package type is {wanted}")]
    Scheme { found: String, wanted: &'static str },
    #[error("at most {} bounds are allowed", VersionRange::CONSTRAINTS_MAX)]
    TooMany,
}

impl PackageRequirement {
    /// Returns the ecosystem.
    pub fn ecosystem(&self) -> Ecosystem {
        self.ecosystem
    }

    /// Returns the decoded name with its namespace: `@types/node`.
    pub fn name(&self) -> String {
        percent_decode(&self.spelled).unwrap_or_else(|| self.spelled.clone())
    }

    /// Returns the version range.
    pub fn range(&self) -> &VersionRange {
        &self.range
    }

    /// Parses the text after `pkg:`.
    pub(super) fn parse(text: &str) -> Result<Self, PackageError> {
        let (kind, rest) = text.split_once('/').ok_or(PackageError::Form)?;
        let ecosystem =
            Ecosystem::from_name(kind).ok_or_else(|| PackageError::Type(kind.to_owned()))?;
        // The last `@`: npm scopes start with one.
        let (spelled, range) = rest.rsplit_once('@').ok_or(PackageError::Form)?;
        if spelled.is_empty() || range.is_empty() {
            return Err(PackageError::Form);
        }
        check_name(ecosystem, spelled)?;
        let range = VersionRange::parse(ecosystem, range)?;
        Ok(Self {
            ecosystem,
            spelled: spelled.to_owned(),
            range,
        })
    }
}

impl VersionRange {
    /// Maximum number of bounds.
    pub const CONSTRAINTS_MAX: usize = 16;

    /// Returns the bounds as written; empty means any version.
    pub fn constraints(&self) -> &[VersionConstraint] {
        &self.constraints
    }

    fn parse(ecosystem: Ecosystem, text: &str) -> Result<Self, PackageError> {
        let (form, text) = match text.strip_prefix("vers:") {
            None => (RangeForm::Short, text),
            Some(rest) => {
                let (scheme, text) = rest.split_once('/').ok_or(PackageError::Form)?;
                if scheme != ecosystem.name() {
                    let (found, wanted) = (scheme.to_owned(), ecosystem.name());
                    return Err(PackageError::Scheme { found, wanted });
                }
                (RangeForm::Uri(ecosystem), text)
            }
        };
        if text == "*" {
            return Ok(Self {
                form,
                constraints: Vec::new(),
            });
        }
        let constraints = text
            .split('|')
            // One more than allowed, so `check_constraints` can report the excess without parsing
            // all.
            .take(Self::CONSTRAINTS_MAX + 1)
            .map(parse_constraint)
            .collect::<Result<Vec<_>, _>>()?;
        check_constraints(ecosystem, &constraints)?;
        Ok(Self { form, constraints })
    }
}

// Checks the decoded name, so percent-encoding cannot hide a forbidden character.
fn check_name(ecosystem: Ecosystem, spelled: &str) -> Result<(), PackageError> {
    let bad = || PackageError::Name(spelled.to_owned());
    let name = percent_decode(spelled).ok_or_else(bad)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._~+-".contains(c);
    // A leading dot is rejected so that `..` never becomes part of a path.
    let part = |part: &str| part.starts_with(|c: char| c != '.') && part.chars().all(allowed);
    let plain = match ecosystem {
        Ecosystem::Npm => name.strip_prefix('@').unwrap_or(&name),
        Ecosystem::Cargo
        | Ecosystem::Composer
        | Ecosystem::Gem
        | Ecosystem::Golang
        | Ecosystem::Maven
        | Ecosystem::Pypi => &name,
    };
    if !plain.split('/').all(part) {
        return Err(bad());
    }
    let parts = name.split('/').count();
    match ecosystem {
        // The last arm lists every ecosystem, so that a new one must decide its name rules.
        Ecosystem::Maven | Ecosystem::Composer if parts != 2 => {
            Err(PackageError::Group(ecosystem.name()))
        }
        Ecosystem::Npm if parts != 1 + usize::from(name.starts_with('@')) => Err(bad()),
        Ecosystem::Cargo | Ecosystem::Gem | Ecosystem::Pypi if parts != 1 => Err(bad()),
        Ecosystem::Cargo
        | Ecosystem::Composer
        | Ecosystem::Gem
        | Ecosystem::Golang
        | Ecosystem::Maven
        | Ecosystem::Npm
        | Ecosystem::Pypi => Ok(()),
    }
}

/// Decodes percent-encoding; `None` if it is invalid or not UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let value = digit(rest.next()?)? * 16 + digit(rest.next()?)?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
}

fn parse_constraint(text: &str) -> Result<VersionConstraint, PackageError> {
    // Two-character signs first: `>` is a prefix of `>=`.
    const COMPARATORS: [(&str, VersionComparator); 7] = [
        (">=", VersionComparator::GreaterOrEqual),
        ("<=", VersionComparator::LessOrEqual),
        ("!=", VersionComparator::NotEqual),
        (">", VersionComparator::Greater),
        ("<", VersionComparator::Less),
        ("^", VersionComparator::Caret),
        ("~", VersionComparator::Tilde),
    ];
    let found = COMPARATORS
        .iter()
        .find_map(|(sign, comparator)| Some((*comparator, text.strip_prefix(sign)?)));
    let (comparator, version) = found.unwrap_or((VersionComparator::Equal, text));
    if version.contains([',', ' ']) {
        return Err(PackageError::Joined);
    }
    // `==1.2` and `~=1.2` are PyPI syntax; the error names the VERS spelling.
    if let Some(plain) = version.strip_prefix('=') {
        return Err(match comparator {
            VersionComparator::Tilde => PackageError::Native(text.to_owned()),
            VersionComparator::Equal
            | VersionComparator::NotEqual
            | VersionComparator::Less
            | VersionComparator::LessOrEqual
            | VersionComparator::Greater
            | VersionComparator::GreaterOrEqual
            | VersionComparator::Caret => {
                PackageError::Plain(plain.trim_start_matches('=').to_owned())
            }
        });
    }
    if comparator == VersionComparator::Tilde && version.starts_with('>') {
        return Err(PackageError::Native(text.to_owned()));
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._~+!-%".contains(c);
    // Go versions start with `v`.
    let starts = version
        .trim_start_matches(['v', 'V'])
        .starts_with(|c: char| c.is_ascii_digit());
    if !starts || !version.chars().all(allowed) || percent_decode(version).is_none() {
        return Err(PackageError::Version(version.to_owned()));
    }
    Ok(VersionConstraint {
        comparator,
        version: version.to_owned(),
    })
}

fn check_constraints(ecosystem: Ecosystem, all: &[VersionConstraint]) -> Result<(), PackageError> {
    if all.len() > VersionRange::CONSTRAINTS_MAX {
        return Err(PackageError::TooMany);
    }
    // `^` and `~` already mean two bounds, so another one would be ambiguous.
    let understood = all.len() == 1 && matches!(ecosystem, Ecosystem::Cargo | Ecosystem::Npm);
    for (at, one) in all.iter().enumerate() {
        if one.comparator.is_native() && !understood {
            return Err(PackageError::Native(one.to_string()));
        }
        // VERS requires each version to occur only once.
        if all[..at].iter().any(|other| other.version == one.version) {
            return Err(PackageError::Twice(one.version.clone()));
        }
    }
    Ok(())
}

impl VersionComparator {
    /// Returns whether this is a shorthand of cargo and npm instead of a VERS comparator.
    pub fn is_native(self) -> bool {
        match self {
            Self::Caret | Self::Tilde => true,
            Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessOrEqual
            | Self::Greater
            | Self::GreaterOrEqual => false,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Equal => "",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Caret => "^",
            Self::Tilde => "~",
        }
    }
}

impl VersionConstraint {
    /// Returns the version with percent-encoding decoded.
    pub fn decoded_version(&self) -> String {
        percent_decode(&self.version).unwrap_or_else(|| self.version.clone())
    }
}

impl fmt::Display for VersionConstraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.comparator.sign(), self.version)
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            RangeForm::Short => {}
            RangeForm::Uri(ecosystem) => write!(f, "vers:{}/", ecosystem.name())?,
        }
        if self.constraints.is_empty() {
            return f.write_str("*");
        }
        for (at, constraint) in self.constraints.iter().enumerate() {
            let separator = if at == 0 { "" } else { "|" };
            write!(f, "{separator}{constraint}")?;
        }
        Ok(())
    }
}

impl fmt::Display for PackageRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}@{}",
            self.ecosystem.name(),
            self.spelled,
            self.range
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_ranges_read_back_as_written() {
        let good = [
            ("cargo/tokio@>=1.40", "tokio"),
            ("cargo/serde@^1.0", "serde"),
            ("npm/%40types/node@>=18|<21", "@types/node"),
            ("npm/@types/node@~18.1", "@types/node"),
            ("npm/left-pad@*", "left-pad"),
            ("npm/left-pad@vers:npm/>=1|<2", "left-pad"),
            ("pypi/Django@!=1.3", "Django"),
            ("pypi/x@1!2.0.post1", "x"),
            (
                "golang/github.com/gorilla/mux@v1.8.0",
                "github.com/gorilla/mux",
            ),
            (
                "maven/org.slf4j/slf4j-api@>=2.0.0-alpha1",
                "org.slf4j/slf4j-api",
            ),
            ("gem/rails@>=7|<8", "rails"),
            ("composer/symfony/console@6.4.1", "symfony/console"),
        ];
        for (text, name) in good {
            let package = PackageRequirement::parse(text).unwrap();
            assert_eq!(package.to_string(), text);
            assert_eq!(package.name(), name);
        }
    }

    #[test]
    fn refusals_say_what_to_write() {
        let bad = [
            ("cargo", "write pkg:TYPE/NAME@RANGE"),
            ("cargo/tokio", "any version is @*"),
            ("npm/@types/node", "any version is @*"),
            ("cargo/tokio@", "any version is @*"),
            ("conda/x@1", "not a valid package type"),
            ("cargo/a b@1", "not a valid package name"),
            ("cargo/../x@1", "not a valid package name"),
            ("npm/a%2@1", "not a valid package name"),
            ("npm/a/b@1", "not a valid package name"),
            ("maven/guava@1", "GROUP/NAME"),
            ("cargo/x@>=1,<2", "join bounds with `|`"),
            ("npm/x@>=1 <2", "join bounds with `|`"),
            ("pypi/x@==1.2", "without an operator: `1.2`"),
            ("pypi/x@~=1.2", "write bounds"),
            ("gem/x@~>1.2", "write bounds"),
            ("gem/x@^1.2", "write bounds"),
            ("npm/x@^1|^2", "write bounds"),
            ("npm/x@latest", "not a valid version"),
            ("npm/x@>=1||<2", "not a valid version"),
            ("npm/x@>=1|<1", "name each version once"),
            ("npm/x@vers:pypi/1", "the range is for pypi"),
        ];
        for (text, why) in bad {
            let error = PackageRequirement::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let many = vec!["!=1"; VersionRange::CONSTRAINTS_MAX + 1].join("|");
        assert!(PackageRequirement::parse(&format!("npm/x@{many}")).is_err());
    }
}
