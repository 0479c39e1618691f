//! Languages of structural patterns and their file extensions.

use std::str::FromStr;

/// A language of `code:` conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PatternLanguage {
    Bash,
    C,
    Cpp,
    Csharp,
    Go,
    Java,
    Javascript,
    Php,
    Python,
    Ruby,
    Rust,
    Tsx,
    Typescript,
}

impl PatternLanguage {
    /// Every language, in alphabetical order.
    pub const ALL: [Self; 13] = [
        Self::Bash,
        Self::C,
        Self::Cpp,
        Self::Csharp,
        Self::Go,
        Self::Java,
        Self::Javascript,
        Self::Php,
        Self::Python,
        Self::Ruby,
        Self::Rust,
        Self::Tsx,
        Self::Typescript,
    ];

    /// Returns the name used in conditions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::Csharp => "csharp",
            Self::Go => "go",
            Self::Java => "java",
            Self::Javascript => "javascript",
            Self::Php => "php",
            Self::Python => "python",
            Self::Ruby => "ruby",
            Self::Rust => "rust",
            Self::Tsx => "tsx",
            Self::Typescript => "typescript",
        }
    }

    /// Returns the file extensions without the dot. Headers (`h`) count as C and as C++.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Bash => &["sh", "bash"],
            Self::C => &["c", "h"],
            Self::Cpp => &["cc", "cpp", "cxx", "h", "hh", "hpp", "hxx"],
            Self::Csharp => &["cs"],
            Self::Go => &["go"],
            Self::Java => &["java"],
            Self::Javascript => &["js", "jsx", "mjs", "cjs"],
            Self::Php => &["php"],
            Self::Python => &["py", "pyi"],
            Self::Ruby => &["rb", "rake", "gemspec"],
            Self::Rust => &["rs"],
            Self::Tsx => &["tsx"],
            Self::Typescript => &["ts", "mts", "cts"],
        }
    }

    /// Returns whether the file at `path` is in this language, by its extension.
    pub fn matches_path(self, path: &str) -> bool {
        // Only the file name counts: a folder may be called `src.rs`.
        let name = path.rsplit('/').next().unwrap_or(path);
        name.rsplit_once('.')
            .is_some_and(|(_, extension)| self.extensions().contains(&extension))
    }
}

impl FromStr for PatternLanguage {
    // The caller builds the error, which quotes the whole condition.
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL
            .into_iter()
            .find(|language| language.name() == text)
            .ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_files_are_told_by_their_ending() {
        for language in PatternLanguage::ALL {
            assert_eq!(language.name().parse(), Ok(language));
        }
        assert!(PatternLanguage::Rust.matches_path("src/a.rs"));
        assert!(!PatternLanguage::Rust.matches_path("src/rs"));
        assert!(!PatternLanguage::Rust.matches_path("src.rs/a"));
        assert!(PatternLanguage::Typescript.matches_path("a.d.ts"));
        assert!(!PatternLanguage::Typescript.matches_path("a.tsx"));
    }
}
