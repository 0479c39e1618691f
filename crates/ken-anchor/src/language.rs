//! Languages with a grammar, selected by file path alone.
//!
//! Classifying a tree therefore opens no file.

/// A language whose symbols can be anchored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    Rust,
    Python,
    TypeScript,
    Tsx,
    JavaScript,
    Go,
    Java,
    C,
    Cpp,
    CSharp,
    Ruby,
    Php,
    Bash,
    Toml,
    Yaml,
    Json,
    Markdown,
    #[cfg(feature = "more-languages")]
    Kotlin,
    #[cfg(feature = "more-languages")]
    Swift,
}

impl Language {
    /// Every language this build can parse.
    pub const ALL: &[Self] = &[
        Self::Rust,
        Self::Python,
        Self::TypeScript,
        Self::Tsx,
        Self::JavaScript,
        Self::Go,
        Self::Java,
        Self::C,
        Self::Cpp,
        Self::CSharp,
        Self::Ruby,
        Self::Php,
        Self::Bash,
        Self::Toml,
        Self::Yaml,
        Self::Json,
        Self::Markdown,
        #[cfg(feature = "more-languages")]
        Self::Kotlin,
        #[cfg(feature = "more-languages")]
        Self::Swift,
    ];

    /// Returns the language of the file at `path`, or `None` without a grammar for it.
    pub fn of(path: &str) -> Option<Self> {
        let file = path.rsplit('/').next().unwrap_or(path);
        // Full names come first: `Cargo.lock` has an extension that says nothing.
        if let Some(language) = from_file_name(file) {
            return Some(language);
        }
        let (stem, extension) = file.rsplit_once('.')?;
        // `.bashrc` is a name without an extension; the known dotfiles are matched above.
        if stem.is_empty() {
            return None;
        }
        // Extensions are case-insensitive on common file systems.
        from_extension(&extension.to_ascii_lowercase())
    }

    /// Returns the display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::TypeScript => "TypeScript",
            Self::Tsx => "TSX",
            Self::JavaScript => "JavaScript",
            Self::Go => "Go",
            Self::Java => "Java",
            Self::C => "C",
            Self::Cpp => "C++",
            Self::CSharp => "C#",
            Self::Ruby => "Ruby",
            Self::Php => "PHP",
            Self::Bash => "Bash",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
            Self::Json => "JSON",
            Self::Markdown => "Markdown",
            #[cfg(feature = "more-languages")]
            Self::Kotlin => "Kotlin",
            #[cfg(feature = "more-languages")]
            Self::Swift => "Swift",
        }
    }

    /// Returns the separator between the parts of a qualified name.
    pub fn separator(self) -> &'static str {
        match self {
            Self::Rust | Self::Cpp | Self::Php | Self::Ruby => "::",
            Self::Markdown => " > ",
            Self::Python
            | Self::TypeScript
            | Self::Tsx
            | Self::JavaScript
            | Self::Go
            | Self::Java
            | Self::C
            | Self::CSharp
            | Self::Bash
            | Self::Toml
            | Self::Yaml
            | Self::Json => ".",
            #[cfg(feature = "more-languages")]
            Self::Kotlin | Self::Swift => ".",
        }
    }

    /// Returns whether indentation is significant in this language.
    pub(crate) fn is_indented(self) -> bool {
        matches!(self, Self::Python | Self::Yaml)
    }

    pub(crate) fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
            Self::C => tree_sitter_c::LANGUAGE.into(),
            Self::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            Self::CSharp => tree_sitter_c_sharp::LANGUAGE.into(),
            Self::Ruby => tree_sitter_ruby::LANGUAGE.into(),
            Self::Php => tree_sitter_php::LANGUAGE_PHP.into(),
            Self::Bash => tree_sitter_bash::LANGUAGE.into(),
            Self::Toml => tree_sitter_toml_ng::LANGUAGE.into(),
            Self::Yaml => tree_sitter_yaml::LANGUAGE.into(),
            Self::Json => tree_sitter_json::LANGUAGE.into(),
            Self::Markdown => tree_sitter_md::LANGUAGE.into(),
            #[cfg(feature = "more-languages")]
            Self::Kotlin => tree_sitter_kotlin_ng::LANGUAGE.into(),
            #[cfg(feature = "more-languages")]
            Self::Swift => tree_sitter_swift::LANGUAGE.into(),
        }
    }
}

fn from_file_name(file: &str) -> Option<Language> {
    match file {
        "Gemfile" | "Rakefile" | "Vagrantfile" | "Podfile" => Some(Language::Ruby),
        ".bashrc" | ".bash_profile" | ".profile" | "PKGBUILD" => Some(Language::Bash),
        "Cargo.lock" | "poetry.lock" | "uv.lock" => Some(Language::Toml),
        ".clang-format" | ".clang-tidy" => Some(Language::Yaml),
        "composer.lock" | ".prettierrc" | ".eslintrc" => Some(Language::Json),
        _ => None,
    }
}

fn from_extension(extension: &str) -> Option<Language> {
    let language = match extension {
        "rs" => Language::Rust,
        "py" | "pyi" | "pyw" => Language::Python,
        "ts" | "mts" | "cts" => Language::TypeScript,
        "tsx" => Language::Tsx,
        "js" | "jsx" | "mjs" | "cjs" => Language::JavaScript,
        "go" => Language::Go,
        "java" => Language::Java,
        "c" => Language::C,
        // Most C headers also parse as C++, but not the reverse.
        "h" | "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "inl" | "ipp" => Language::Cpp,
        "cs" => Language::CSharp,
        "rb" | "rake" | "gemspec" => Language::Ruby,
        "php" | "phtml" => Language::Php,
        "sh" | "bash" => Language::Bash,
        "toml" => Language::Toml,
        "yaml" | "yml" => Language::Yaml,
        "json" | "jsonc" | "webmanifest" => Language::Json,
        "md" | "markdown" => Language::Markdown,
        #[cfg(feature = "more-languages")]
        "kt" | "kts" => Language::Kotlin,
        #[cfg(feature = "more-languages")]
        "swift" => Language::Swift,
        _ => return None,
    };
    Some(language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_decides() {
        for (path, language) in [
            ("src/a.rs", Some(Language::Rust)),
            ("a.d.ts", Some(Language::TypeScript)),
            ("ui/App.jsx", Some(Language::JavaScript)),
            ("x.MJS", Some(Language::JavaScript)),
            ("include/a.h", Some(Language::Cpp)),
            ("Cargo.lock", Some(Language::Toml)),
            ("app/Gemfile", Some(Language::Ruby)),
            ("a.rs/b", None),
            (".rs", None),
            ("Makefile", None),
            ("", None),
        ] {
            assert_eq!(Language::of(path), language, "{path}");
        }
    }

    #[test]
    fn every_grammar_loads() {
        for language in Language::ALL {
            let mut parser = tree_sitter::Parser::new();
            parser.set_language(&language.grammar()).unwrap();
        }
    }
}
