//! `code:LANGUAGE~PATTERN`: a structural pattern matches somewhere, in the language of ast-grep.
//!
//! A pattern is code in which `$NAME` stands for one node and `$$$` for any number of them. Files are
//! told by their ending, and only those are parsed that have the longest word of the pattern in them.

use std::borrow::Cow;

use ast_grep_core::matcher::PatternBuilder;
use ast_grep_core::tree_sitter::{LanguageExt, StrDoc, TSLanguage};
use ast_grep_core::{AstGrep, Language as Syntax, Pattern, PatternError};
use ken_core::condition::Language;

use super::Evidence;
use super::outcome::Outcome;
use super::text::{SOURCE_BYTES_MAX, text_of};

/// Bytes parsed for one condition, over all files.
const PARSED_BYTES_MAX: usize = 256 * 1024 * 1024;
/// How deep code may nest: comparing two nodes for equality goes as deep as they do.
const DEPTH_MAX: u32 = 1_000;

pub(super) fn evaluate(evidence: &Evidence<'_>, language: Language, pattern: &str) -> Outcome {
    let grammar = Grammar(language);
    let patterns = match patterns(grammar, pattern) {
        Ok(patterns) => patterns,
        Err(why) => return Outcome::unverifiable(why),
    };
    let paths = match evidence.tree.paths() {
        Ok(paths) => paths,
        Err(error) => return Outcome::unverifiable(error.to_string()),
    };
    let mut searched = 0;
    let mut parsed = 0;
    let mut unread = None;
    for path in paths.iter().filter(|path| language.claims(path)) {
        let text = match text_of(evidence.tree, path, SOURCE_BYTES_MAX) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(why) => {
                unread = Some(why);
                continue;
            }
        };
        searched += 1;
        let possible = |it: &&Pattern| text.contains(it.fixed_string().as_ref());
        let possible: Vec<&Pattern> = patterns.iter().filter(possible).collect();
        if possible.is_empty() {
            continue;
        }
        parsed += text.len();
        if PARSED_BYTES_MAX < parsed {
            unread = Some(format!("only {PARSED_BYTES_MAX} bytes of code are parsed"));
            break;
        }
        match find(grammar, &possible, &text) {
            Ok(Some(line)) => return Outcome::holds(format!("`{path}` matches")).at(path, line),
            Ok(None) => {}
            Err(why) => unread = Some(format!("cannot parse `{path}`: {why}")),
        }
    }
    match unread {
        Some(why) => Outcome::unverifiable(why),
        None => Outcome::broken(format!("none of {searched} files matches")),
    }
}

/// Reads a pattern: as a whole file would be read and, in languages whose files hold no expressions,
/// as an expression in a function. There `fmt.Println($X)` alone would be a conversion between types.
fn patterns(grammar: Grammar, text: &str) -> Result<Vec<Pattern>, String> {
    let mut patterns = Vec::new();
    let mut problem = None;
    match Pattern::try_new(text, grammar) {
        Ok(pattern) if !pattern.has_error() => patterns.push(pattern),
        Ok(_) => problem = Some(format!("`{text}` is no {} code", grammar.0.name())),
        Err(error) => problem = Some(error.to_string()),
    }
    patterns.extend(as_expression(grammar, text));
    match problem {
        Some(why) if patterns.is_empty() => Err(why),
        Some(_) | None => Ok(patterns),
    }
}

fn as_expression(grammar: Grammar, text: &str) -> Option<Pattern> {
    let (before, after) = match grammar.0 {
        Language::C | Language::Cpp => ("int f() { return ", "; }"),
        Language::Go => ("func f() int { return ", "\n}"),
        Language::Bash
        | Language::Csharp
        | Language::Java
        | Language::Javascript
        | Language::Php
        | Language::Python
        | Language::Ruby
        | Language::Rust
        | Language::Tsx
        | Language::Typescript => return None,
    };
    let inner = grammar.pre_process_pattern(text);
    let document = StrDoc::try_new(&format!("{before}{inner}{after}"), grammar).ok()?;
    let root = document.tree.root_node();
    let place = before.len()..before.len() + inner.len();
    let node = root.named_descendant_for_byte_range(place.start, place.end)?;
    // The function around it has an identifier and a type, too; the first of a kind is taken.
    let own = !matches!(
        node.kind(),
        "identifier" | "primitive_type" | "type_identifier"
    );
    if root.has_error() || node.byte_range() != place || !own {
        return None;
    }
    Pattern::contextual(&format!("{before}{text}{after}"), node.kind(), grammar).ok()
}

/// Returns first and last line of every match in `text`, counted from 1.
pub(crate) fn lines(
    language: Language,
    pattern: &str,
    text: &str,
) -> Result<Vec<(u32, u32)>, String> {
    let grammar = Grammar(language);
    let patterns = patterns(grammar, pattern)?;
    let possible = |it: &&Pattern| text.contains(it.fixed_string().as_ref());
    let possible: Vec<&Pattern> = patterns.iter().filter(possible).collect();
    if possible.is_empty() || text.is_empty() {
        return Ok(Vec::new());
    }
    if SOURCE_BYTES_MAX < text.len() {
        return Err(format!(
            "only {SOURCE_BYTES_MAX} bytes of a file are parsed"
        ));
    }
    let document = StrDoc::try_new(text, grammar)?;
    if nests_too_deep(&document) {
        return Err(format!("it nests deeper than {DEPTH_MAX} levels"));
    }
    let root = AstGrep::doc(document);
    let line = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    let mut found = Vec::new();
    for pattern in possible {
        let top = root.root();
        let matches = top.find_all(pattern);
        found.extend(matches.map(|it| (line(it.start_pos().line()), line(it.end_pos().line()))));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Returns the line of the first match, counted from 1.
fn find(grammar: Grammar, patterns: &[&Pattern], text: &str) -> Result<Option<u32>, String> {
    let document = StrDoc::try_new(text, grammar)?;
    if nests_too_deep(&document) {
        return Err(format!("it nests deeper than {DEPTH_MAX} levels"));
    }
    let root = AstGrep::doc(document);
    let lines = patterns.iter().filter_map(|it| root.root().find(*it));
    let first = lines.map(|node| node.start_pos().line() + 1).min();
    Ok(first.map(|line| u32::try_from(line).unwrap_or(u32::MAX)))
}

fn nests_too_deep(document: &StrDoc<Grammar>) -> bool {
    let mut cursor = document.tree.walk();
    // The cursor could be asked, but answers by counting its ancestors.
    let mut depth = 0;
    while depth <= DEPTH_MAX {
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
            depth -= 1;
        }
    }
    true
}

/// A language as ast-grep wants to know it.
#[derive(Clone, Copy, Debug)]
struct Grammar(Language);

impl Grammar {
    /// Returns the letter that stands for `$` where the grammar allows no `$` in a name.
    fn sigil(self) -> char {
        match self.0 {
            Language::Bash
            | Language::Java
            | Language::Javascript
            | Language::Tsx
            | Language::Typescript => '$',
            Language::C | Language::Cpp => '\u{10000}',
            Language::Csharp
            | Language::Go
            | Language::Php
            | Language::Python
            | Language::Ruby
            | Language::Rust => 'µ',
        }
    }
}

impl Syntax for Grammar {
    /// Writes the sigil for each `$` that begins a variable: `$NAME`, `$$$NAME` or `$$$` alone.
    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        if self.sigil() == '$' {
            return Cow::Borrowed(query);
        }
        let mut out = String::with_capacity(query.len());
        let mut rest = query;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let behind = rest[at..].trim_start_matches('$');
            let dollars = rest.len() - at - behind.len();
            let named = behind.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
            let sigil = if named || dollars == 3 {
                self.sigil()
            } else {
                '$'
            };
            out.extend(std::iter::repeat_n(sigil, dollars));
            rest = behind;
        }
        out.push_str(rest);
        Cow::Owned(out)
    }

    fn expando_char(&self) -> char {
        self.sigil()
    }

    fn kind_to_id(&self, kind: &str) -> u16 {
        self.get_ts_language().id_for_node_kind(kind, true)
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        self.get_ts_language()
            .field_id_for_name(field)
            .map(std::num::NonZero::get)
    }

    fn build_pattern(&self, builder: &PatternBuilder<'_>) -> Result<Pattern, PatternError> {
        builder.build(|text| StrDoc::try_new(text, *self))
    }
}

impl LanguageExt for Grammar {
    fn get_ts_language(&self) -> TSLanguage {
        match self.0 {
            Language::Bash => tree_sitter_bash::LANGUAGE.into(),
            Language::C => tree_sitter_c::LANGUAGE.into(),
            Language::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            Language::Csharp => tree_sitter_c_sharp::LANGUAGE.into(),
            Language::Go => tree_sitter_go::LANGUAGE.into(),
            Language::Java => tree_sitter_java::LANGUAGE.into(),
            Language::Javascript => tree_sitter_javascript::LANGUAGE.into(),
            // Patterns are code without `<?php`, which only this grammar takes.
            Language::Php => tree_sitter_php::LANGUAGE_PHP_ONLY.into(),
            Language::Python => tree_sitter_python::LANGUAGE.into(),
            Language::Ruby => tree_sitter_ruby::LANGUAGE.into(),
            Language::Rust => tree_sitter_rust::LANGUAGE.into(),
            Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Language::Typescript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(language: Language, pattern: &str, text: &str) -> Option<u32> {
        let grammar = Grammar(language);
        let patterns = patterns(grammar, pattern).unwrap();
        find(grammar, &patterns.iter().collect::<Vec<_>>(), text).unwrap()
    }

    #[test]
    fn every_language_finds_a_call_by_its_shape() {
        let table = [
            (Language::Bash, "rm -rf $X", "set -e\nrm   -rf /tmp/x\n"),
            (
                Language::C,
                "strcpy($A, $B)",
                "void f(void) {\n  strcpy(a,  b);\n}\n",
            ),
            (
                Language::Cpp,
                "std::move($A)",
                "void f() {\n  g(std::move( x ));\n}\n",
            ),
            (
                Language::Csharp,
                "Task.Run($A)",
                "class A { void F() {\n  Task.Run( g );\n} }\n",
            ),
            (
                Language::Go,
                "fmt.Println($$$)",
                "func f() {\n\tfmt.Println(\"a\",  b)\n}\n",
            ),
            (
                Language::Java,
                "System.exit($N)",
                "class A { void f() {\n  System.exit( 1 );\n} }\n",
            ),
            (
                Language::Javascript,
                "eval($X)",
                "// eval(1)\nconst a = eval( x )\n",
            ),
            (Language::Php, "md5($X)", "<?php\n$a = md5( $b );\n"),
            (
                Language::Python,
                "print($$$A)",
                "# print(1)\nprint( 1,  2 )\n",
            ),
            (Language::Ruby, "puts($X)", "# puts(1)\nputs( x )\n"),
            (
                Language::Rust,
                "$X.unwrap()",
                "fn f() {\n    a.b() .unwrap();\n}\n",
            ),
            (
                Language::Tsx,
                "<Modal $$$A />",
                "const a = 1\nconst b = <Modal  open />\n",
            ),
            (
                Language::Typescript,
                "$A as any",
                "// x as any\nconst a = b  as any\n",
            ),
        ];
        for (language, pattern, text) in table {
            assert_eq!(line(language, pattern, text), Some(2), "{language:?}");
        }
    }

    #[test]
    fn a_pattern_is_about_shape_and_not_about_text() {
        let text = "fn f() {\n    // a.unwrap()\n    g(\"a.unwrap()\");\n}\n";
        assert_eq!(line(Language::Rust, "$X.unwrap()", text), None);
        assert_eq!(
            line(Language::Python, "$A == $A", "a == b\nb.c == b.c\n"),
            Some(2)
        );
    }

    #[test]
    fn code_that_nests_without_end_is_not_searched() {
        let grammar = Grammar(Language::Python);
        let pattern = Pattern::try_new("$A == $A", grammar).unwrap();
        let nested = |levels| format!("{0}x{1}", "(".repeat(levels), ")".repeat(levels));
        let equal = |levels| format!("{0} == {0}", nested(levels));
        assert_eq!(find(grammar, &[&pattern], &equal(900)), Ok(Some(1)));
        assert!(find(grammar, &[&pattern], &equal(10_000)).is_err());
    }
}
