//! `code:LANGUAGE~PATTERN` conditions: a structural ast-grep pattern matches somewhere.
//!
//! A pattern is code in which `$NAME` matches one node and `$$$` any number of nodes. Files are
//! selected by extension, and parsed only if they contain the longest literal of the pattern.

use std::borrow::Cow;

use ast_grep_core::matcher::PatternBuilder;
use ast_grep_core::tree_sitter::{LanguageExt, StrDoc, TSLanguage};
use ast_grep_core::{AstGrep, Language as Syntax, Pattern, PatternError};
use ken_core::values::condition::PatternLanguage;

use super::ConditionEvaluator;
use super::outcome::ConditionOutcome;
use super::text::{SOURCE_BYTES_MAX, read_text};

/// Maximum number of bytes parsed for one condition, over all files.
const PARSED_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Maximum nesting of code; comparing two nodes for equality recurses to their depth.
const DEPTH_MAX: u32 = 1_000;

pub(super) fn evaluate(
    evidence: &ConditionEvaluator<'_>,
    language: PatternLanguage,
    pattern: &str,
) -> ConditionOutcome {
    let grammar = AstGrepLanguage(language);
    let patterns = match compile_patterns(grammar, pattern) {
        Ok(patterns) => patterns,
        Err(why) => return ConditionOutcome::unverifiable(why),
    };
    let paths = match evidence.tree.paths() {
        Ok(paths) => paths,
        Err(error) => return ConditionOutcome::unverifiable(error.to_string()),
    };
    let mut searched = 0;
    let mut parsed = 0;
    let mut unread = None;
    for path in paths.iter().filter(|path| language.matches_path(path)) {
        let text = match read_text(evidence.tree, path, SOURCE_BYTES_MAX) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(why) => {
                unread = Some(why);
                continue;
            }
        };
        searched += 1;
        // A substring search is far cheaper than parsing, and excludes most files.
        let may_match = |pattern: &&Pattern| text.contains(pattern.fixed_string().as_ref());
        let possible: Vec<&Pattern> = patterns.iter().filter(may_match).collect();
        if possible.is_empty() {
            continue;
        }
        parsed += text.len();
        if parsed > PARSED_BYTES_MAX {
            unread = Some(format!("only {PARSED_BYTES_MAX} bytes of code are parsed"));
            break;
        }
        match find_first_line(grammar, &possible, &text) {
            Ok(Some(line)) => {
                return ConditionOutcome::holds(format!("`{path}` matches")).at(path, line);
            }
            Ok(None) => {}
            Err(why) => unread = Some(format!("cannot parse `{path}`: {why}")),
        }
    }
    match unread {
        Some(why) => ConditionOutcome::unverifiable(why),
        None => ConditionOutcome::broken(format!("none of {searched} files matches")),
    }
}

/// Compiles a pattern as a file and, in languages whose files hold no expressions, also as an
/// expression in a function: at file level, `fmt.Println($X)` parses as a type conversion.
fn compile_patterns(grammar: AstGrepLanguage, text: &str) -> Result<Vec<Pattern>, String> {
    let mut patterns = Vec::new();
    let mut problem = None;
    match Pattern::try_new(text, grammar) {
        Ok(pattern) if !pattern.has_error() => patterns.push(pattern),
        Ok(_) => problem = Some(format!("`{text}` is not valid {} code", grammar.0.name())),
        Err(error) => problem = Some(error.to_string()),
    }
    patterns.extend(compile_expression(grammar, text));
    match problem {
        Some(why) if patterns.is_empty() => Err(why),
        Some(_) | None => Ok(patterns),
    }
}

fn compile_expression(grammar: AstGrepLanguage, text: &str) -> Option<Pattern> {
    let (before, after) = match grammar.0 {
        PatternLanguage::C | PatternLanguage::Cpp => ("int f() { return ", "; }"),
        PatternLanguage::Go => ("func f() int { return ", "\n}"),
        PatternLanguage::Bash
        | PatternLanguage::Csharp
        | PatternLanguage::Java
        | PatternLanguage::Javascript
        | PatternLanguage::Php
        | PatternLanguage::Python
        | PatternLanguage::Ruby
        | PatternLanguage::Rust
        | PatternLanguage::Tsx
        | PatternLanguage::Typescript => return None,
    };
    let inner = grammar.pre_process_pattern(text);
    let document = StrDoc::try_new(&format!("{before}{inner}{after}"), grammar).ok()?;
    let root = document.tree.root_node();
    let place = before.len()..before.len() + inner.len();
    let node = root.named_descendant_for_byte_range(place.start, place.end)?;
    // `Pattern::contextual` takes the first node of a kind, and the wrapper function already
    // contains an identifier and a type.
    let own = !matches!(
        node.kind(),
        "identifier" | "primitive_type" | "type_identifier"
    );
    if root.has_error() || node.byte_range() != place || !own {
        return None;
    }
    Pattern::contextual(&format!("{before}{text}{after}"), node.kind(), grammar).ok()
}

/// Returns the first and last line of every match in `text`, counted from 1.
pub(crate) fn find_all_lines(
    language: PatternLanguage,
    pattern: &str,
    text: &str,
) -> Result<Vec<(u32, u32)>, String> {
    let grammar = AstGrepLanguage(language);
    let patterns = compile_patterns(grammar, pattern)?;
    let may_match = |pattern: &&Pattern| text.contains(pattern.fixed_string().as_ref());
    let possible: Vec<&Pattern> = patterns.iter().filter(may_match).collect();
    if possible.is_empty() || text.is_empty() {
        return Ok(Vec::new());
    }
    if text.len() > SOURCE_BYTES_MAX {
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
    // The file form and the expression form of a pattern may match the same lines.
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Returns the line of the first match, counted from 1.
fn find_first_line(
    grammar: AstGrepLanguage,
    patterns: &[&Pattern],
    text: &str,
) -> Result<Option<u32>, String> {
    let document = StrDoc::try_new(text, grammar)?;
    if nests_too_deep(&document) {
        return Err(format!("it nests deeper than {DEPTH_MAX} levels"));
    }
    let root = AstGrep::doc(document);
    let lines = patterns.iter().filter_map(|it| root.root().find(*it));
    // The file form and the expression form may match at different lines.
    let first = lines.map(|node| node.start_pos().line() + 1).min();
    Ok(first.map(|line| u32::try_from(line).unwrap_or(u32::MAX)))
}

fn nests_too_deep(document: &StrDoc<AstGrepLanguage>) -> bool {
    let mut cursor = document.tree.walk();
    // `cursor.depth()` counts all ancestors on every call, so the depth is tracked here.
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

/// Adapter that implements ast-grep's language traits.
#[derive(Clone, Copy, Debug)]
struct AstGrepLanguage(PatternLanguage);

impl AstGrepLanguage {
    /// Returns the character that replaces `$` where the grammar does not allow `$` in a name.
    fn sigil(self) -> char {
        match self.0 {
            PatternLanguage::Bash
            | PatternLanguage::Java
            | PatternLanguage::Javascript
            | PatternLanguage::Tsx
            | PatternLanguage::Typescript => '$',
            PatternLanguage::C | PatternLanguage::Cpp => '\u{10000}',
            PatternLanguage::Csharp
            | PatternLanguage::Go
            | PatternLanguage::Php
            | PatternLanguage::Python
            | PatternLanguage::Ruby
            | PatternLanguage::Rust => 'µ',
        }
    }
}

impl Syntax for AstGrepLanguage {
    /// Replaces each `$` that begins a variable: `$NAME`, `$$$NAME` or `$$$` alone.
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

impl LanguageExt for AstGrepLanguage {
    fn get_ts_language(&self) -> TSLanguage {
        match self.0 {
            PatternLanguage::Bash => tree_sitter_bash::LANGUAGE.into(),
            PatternLanguage::C => tree_sitter_c::LANGUAGE.into(),
            PatternLanguage::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            PatternLanguage::Csharp => tree_sitter_c_sharp::LANGUAGE.into(),
            PatternLanguage::Go => tree_sitter_go::LANGUAGE.into(),
            PatternLanguage::Java => tree_sitter_java::LANGUAGE.into(),
            PatternLanguage::Javascript => tree_sitter_javascript::LANGUAGE.into(),
            // Patterns are code without `<?php`, which only this grammar accepts.
            PatternLanguage::Php => tree_sitter_php::LANGUAGE_PHP_ONLY.into(),
            PatternLanguage::Python => tree_sitter_python::LANGUAGE.into(),
            PatternLanguage::Ruby => tree_sitter_ruby::LANGUAGE.into(),
            PatternLanguage::Rust => tree_sitter_rust::LANGUAGE.into(),
            PatternLanguage::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            PatternLanguage::Typescript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(language: PatternLanguage, pattern: &str, text: &str) -> Option<u32> {
        let grammar = AstGrepLanguage(language);
        let patterns = compile_patterns(grammar, pattern).unwrap();
        find_first_line(grammar, &patterns.iter().collect::<Vec<_>>(), text).unwrap()
    }

    #[test]
    fn every_language_finds_a_call_by_its_shape() {
        let table = [
            (
                PatternLanguage::Bash,
                "rm -rf $X",
                "set -e\nrm   -rf /tmp/x\n",
            ),
            (
                PatternLanguage::C,
                "strcpy($A, $B)",
                "void f(void) {\n  strcpy(a,  b);\n}\n",
            ),
            (
                PatternLanguage::Cpp,
                "std::move($A)",
                "void f() {\n  g(std::move( x ));\n}\n",
            ),
            (
                PatternLanguage::Csharp,
                "Task.Run($A)",
                "class A { void F() {\n  Task.Run( g );\n} }\n",
            ),
            (
                PatternLanguage::Go,
                "fmt.Println($$$)",
                "func f() {\n\tfmt.Println(\"a\",  b)\n}\n",
            ),
            (
                PatternLanguage::Java,
                "System.exit($N)",
                "class A { void f() {\n  System.exit( 1 );\n} }\n",
            ),
            (
                PatternLanguage::Javascript,
                "eval($X)",
                "// eval(1)\nconst a = eval( x )\n",
            ),
            (PatternLanguage::Php, "md5($X)", "<?php\n$a = md5( $b );\n"),
            (
                PatternLanguage::Python,
                "print($$$A)",
                "# print(1)\nprint( 1,  2 )\n",
            ),
            (PatternLanguage::Ruby, "puts($X)", "# puts(1)\nputs( x )\n"),
            (
                PatternLanguage::Rust,
                "$X.unwrap()",
                "fn f() {\n    a.b() .unwrap();\n}\n",
            ),
            (
                PatternLanguage::Tsx,
                "<Modal $$$A />",
                "const a = 1\nconst b = <Modal  open />\n",
            ),
            (
                PatternLanguage::Typescript,
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
        assert_eq!(line(PatternLanguage::Rust, "$X.unwrap()", text), None);
        assert_eq!(
            line(PatternLanguage::Python, "$A == $A", "a == b\nb.c == b.c\n"),
            Some(2)
        );
    }

    #[test]
    fn code_that_nests_without_end_is_not_searched() {
        let grammar = AstGrepLanguage(PatternLanguage::Python);
        let pattern = Pattern::try_new("$A == $A", grammar).unwrap();
        let nested = |levels| format!("{0}x{1}", "(".repeat(levels), ")".repeat(levels));
        let equal = |levels| format!("{0} == {0}", nested(levels));
        assert_eq!(
            find_first_line(grammar, &[&pattern], &equal(900)),
            Ok(Some(1))
        );
        assert!(find_first_line(grammar, &[&pattern], &equal(10_000)).is_err());
    }
}
