//! The languages structural patterns are written in, and the files each is found in.

use std::str::FromStr;

/// A language of `code:` conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
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

impl Language {
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

    /// Returns the word a condition names it by.
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

    /// Returns how names of its files end, without the dot. Headers are read as C and as C++.
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

    /// Returns whether a file is taken for one in this language, by its name alone.
    pub fn claims(self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.rsplit_once('.')
            .is_some_and(|(_, ending)| self.extensions().contains(&ending))
    }
}

impl FromStr for Language {
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
        for language in Language::ALL {
            assert_eq!(language.name().parse(), Ok(language));
        }
        assert!(Language::Rust.claims("src/a.rs"));
        assert!(!Language::Rust.claims("src/rs"));
        assert!(!Language::Rust.claims("src.rs/a"));
        assert!(Language::Typescript.claims("a.d.ts"));
        assert!(!Language::Typescript.claims("a.tsx"));
    }
}
