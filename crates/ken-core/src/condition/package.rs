//! `pkg:` conditions: a package-url's type and name, and a VERS range of versions.
//!
//! Says what was written, exactly; which versions a range holds is asked of the crate that knows
//! how each ecosystem orders them.

use std::fmt;

use super::lockfile::Ecosystem;

/// A package in a range of versions: `npm/%40types/node@>=18|<21`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Package {
    ecosystem: Ecosystem,
    /// As it was written, percent-encoded or not.
    spelled: String,
    range: Range,
}

/// Which versions are meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range {
    form: Form,
    constraints: Vec<Constraint>,
}

/// Whether a range was written short or as a whole VERS URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Form {
    Short,
    Uri(Ecosystem),
}

/// One bound of a range.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Constraint {
    pub comparator: Comparator,
    pub version: String,
}

/// How a version is compared with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comparator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// `^1.2`: what cargo and npm call compatible. Stands alone.
    Caret,
    /// `~1.2`: the same minor version. Stands alone.
    Tilde,
}

/// Why a text names no package in a range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackageError {
    #[error("write pkg:TYPE/NAME@RANGE, such as pkg:cargo/tokio@>=1.40; any version is @*")]
    Form,
    #[error("`{0}` is no package type: cargo, composer, gem, golang, maven, npm or pypi")]
    Type(String),
    #[error("`{0}` is no package name: letters, digits and ._~+- between slashes, the rest as %XX")]
    Name(String),
    #[error("a {0} package is named GROUP/NAME")]
    Group(&'static str),
    #[error(
        "`{0}` is no version: it begins with a digit or `v` and has letters, digits and ._~+!-"
    )]
    Version(String),
    #[error("an exact version is written plain: `{0}`")]
    Plain(String),
    #[error("bounds are joined by `|`: write >=1|<2")]
    Joined,
    #[error("`{0}` is understood for cargo and npm, alone; write bounds, such as >=1.2|<2")]
    Native(String),
    #[error("version {0} has two bounds; each version is named once")]
    Twice(String),
    #[error("the range is for {found}, the package from {wanted}")]
    Scheme { found: String, wanted: &'static str },
    #[error("at most {} bounds are allowed", Range::CONSTRAINTS_MAX)]
    TooMany,
}

impl Package {
    pub fn ecosystem(&self) -> Ecosystem {
        self.ecosystem
    }

    /// Returns the name with its namespace, decoded: `@types/node`.
    pub fn name(&self) -> String {
        decoded(&self.spelled).unwrap_or_else(|| self.spelled.clone())
    }

    pub fn range(&self) -> &Range {
        &self.range
    }

    /// Parses what follows `pkg:`.
    pub(super) fn parse(text: &str) -> Result<Self, PackageError> {
        let (kind, rest) = text.split_once('/').ok_or(PackageError::Form)?;
        let ecosystem =
            Ecosystem::named(kind).ok_or_else(|| PackageError::Type(kind.to_owned()))?;
        let (spelled, range) = rest.rsplit_once('@').ok_or(PackageError::Form)?;
        if spelled.is_empty() || range.is_empty() {
            return Err(PackageError::Form);
        }
        check_name(ecosystem, spelled)?;
        let range = Range::parse(ecosystem, range)?;
        Ok(Self {
            ecosystem,
            spelled: spelled.to_owned(),
            range,
        })
    }
}

impl Range {
    /// Bounds a range may have.
    pub const CONSTRAINTS_MAX: usize = 16;

    /// Returns the bounds as written; none means any version.
    pub fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    fn parse(ecosystem: Ecosystem, text: &str) -> Result<Self, PackageError> {
        let (form, text) = match text.strip_prefix("vers:") {
            None => (Form::Short, text),
            Some(rest) => {
                let (scheme, text) = rest.split_once('/').ok_or(PackageError::Form)?;
                if scheme != ecosystem.name() {
                    let (found, wanted) = (scheme.to_owned(), ecosystem.name());
                    return Err(PackageError::Scheme { found, wanted });
                }
                (Form::Uri(ecosystem), text)
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
            .take(Self::CONSTRAINTS_MAX + 1)
            .map(constraint)
            .collect::<Result<Vec<_>, _>>()?;
        check_constraints(ecosystem, &constraints)?;
        Ok(Self { form, constraints })
    }
}

fn check_name(ecosystem: Ecosystem, spelled: &str) -> Result<(), PackageError> {
    let bad = || PackageError::Name(spelled.to_owned());
    let name = decoded(spelled).ok_or_else(bad)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._~+-".contains(c);
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

/// Undoes percent-encoding.
fn decoded(text: &str) -> Option<String> {
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

fn constraint(text: &str) -> Result<Constraint, PackageError> {
    const COMPARATORS: [(&str, Comparator); 7] = [
        (">=", Comparator::GreaterOrEqual),
        ("<=", Comparator::LessOrEqual),
        ("!=", Comparator::NotEqual),
        (">", Comparator::Greater),
        ("<", Comparator::Less),
        ("^", Comparator::Caret),
        ("~", Comparator::Tilde),
    ];
    let found = COMPARATORS
        .iter()
        .find_map(|(sign, it)| Some((*it, text.strip_prefix(sign)?)));
    let (comparator, version) = found.unwrap_or((Comparator::Equal, text));
    if version.contains([',', ' ']) {
        return Err(PackageError::Joined);
    }
    if let Some(plain) = version.strip_prefix('=') {
        return Err(match comparator {
            Comparator::Tilde => PackageError::Native(text.to_owned()),
            Comparator::Equal
            | Comparator::NotEqual
            | Comparator::Less
            | Comparator::LessOrEqual
            | Comparator::Greater
            | Comparator::GreaterOrEqual
            | Comparator::Caret => PackageError::Plain(plain.trim_start_matches('=').to_owned()),
        });
    }
    if comparator == Comparator::Tilde && version.starts_with('>') {
        return Err(PackageError::Native(text.to_owned()));
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._~+!-%".contains(c);
    let starts = version
        .trim_start_matches(['v', 'V'])
        .starts_with(|c: char| c.is_ascii_digit());
    if !starts || !version.chars().all(allowed) || decoded(version).is_none() {
        return Err(PackageError::Version(version.to_owned()));
    }
    Ok(Constraint {
        comparator,
        version: version.to_owned(),
    })
}

fn check_constraints(ecosystem: Ecosystem, all: &[Constraint]) -> Result<(), PackageError> {
    if Range::CONSTRAINTS_MAX < all.len() {
        return Err(PackageError::TooMany);
    }
    let understood = all.len() == 1 && matches!(ecosystem, Ecosystem::Cargo | Ecosystem::Npm);
    for (at, one) in all.iter().enumerate() {
        if one.comparator.is_native() && !understood {
            return Err(PackageError::Native(one.to_string()));
        }
        if all[..at].iter().any(|other| other.version == one.version) {
            return Err(PackageError::Twice(one.version.clone()));
        }
    }
    Ok(())
}

impl Comparator {
    /// Returns whether this is a shorthand of cargo and npm rather than a VERS comparator.
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

impl Constraint {
    /// Returns the version with its percent-encoding undone.
    pub fn decoded_version(&self) -> String {
        decoded(&self.version).unwrap_or_else(|| self.version.clone())
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.comparator.sign(), self.version)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            Form::Short => {}
            Form::Uri(ecosystem) => write!(f, "vers:{}/", ecosystem.name())?,
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

impl fmt::Display for Package {
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
            let package = Package::parse(text).unwrap();
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
            ("conda/x@1", "no package type"),
            ("cargo/a b@1", "no package name"),
            ("cargo/../x@1", "no package name"),
            ("npm/a%2@1", "no package name"),
            ("npm/a/b@1", "no package name"),
            ("maven/guava@1", "GROUP/NAME"),
            ("cargo/x@>=1,<2", "joined by `|`"),
            ("npm/x@>=1 <2", "joined by `|`"),
            ("pypi/x@==1.2", "written plain: `1.2`"),
            ("pypi/x@~=1.2", "write bounds"),
            ("gem/x@~>1.2", "write bounds"),
            ("gem/x@^1.2", "write bounds"),
            ("npm/x@^1|^2", "write bounds"),
            ("npm/x@latest", "no version"),
            ("npm/x@>=1||<2", "no version"),
            ("npm/x@>=1|<1", "each version is named once"),
            ("npm/x@vers:pypi/1", "the range is for pypi"),
        ];
        for (text, why) in bad {
            let error = Package::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let many = vec!["!=1"; Range::CONSTRAINTS_MAX + 1].join("|");
        assert!(Package::parse(&format!("npm/x@{many}")).is_err());
    }
}
