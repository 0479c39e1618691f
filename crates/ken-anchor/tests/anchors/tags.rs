//! Comparison with tree-sitter tag queries: every definition that a grammar tags is in the outline.

use ken_anchor::outline;
use tree_sitter::{Language, Parser, Query, QueryCursor, StreamingIterator};

use crate::samples::sample_source;

/// Returns the names that a query tags as definitions, with their byte offsets.
fn tagged_definitions(grammar: &Language, query: &str, source: &str) -> Vec<(usize, String)> {
    let mut parser = Parser::new();
    parser.set_language(grammar).expect("it loads");
    let tree = parser.parse(source, None).expect("nothing stops it");
    let query = Query::new(grammar, query).expect("it is the grammar's own");
    let mut cursor = QueryCursor::new();
    let mut matches = cursor.matches(&query, tree.root_node(), source.as_bytes());
    let mut found = Vec::new();
    while let Some(each) = matches.next() {
        let kind = |index: u32| query.capture_names()[index as usize];
        let defines = each
            .captures()
            .iter()
            .any(|it| kind(it.index).starts_with("definition"));
        for capture in each
            .captures()
            .iter()
            .filter(|it| defines && kind(it.index) == "name")
        {
            let range = capture.node.byte_range();
            found.push((range.start, source[range].to_owned()));
        }
    }
    found
}

fn assert_covers(path: &str, grammar: &Language, query: &str, left_out: &[&str]) {
    let source = sample_source(path);
    let outline = outline(path, source.as_bytes());
    let tags = tagged_definitions(grammar, query, source);
    assert!(!tags.is_empty(), "{path}");
    for (at, name) in tags {
        let is_here = outline
            .symbols()
            .iter()
            .any(|symbol| symbol.bytes.contains(&at) && symbol.name.ends_with(&name));
        assert!(
            is_here || left_out.contains(&&name[..]),
            "{path}: {name} at byte {at}"
        );
    }
}

#[test]
fn outlines_hold_what_tag_queries_find() {
    let script = tree_sitter_javascript::TAGS_QUERY;
    let typed = [script, tree_sitter_typescript::TAGS_QUERY].concat();
    for (path, grammar, query) in [
        (
            "ledger.rs",
            tree_sitter_rust::LANGUAGE,
            tree_sitter_rust::TAGS_QUERY,
        ),
        (
            "session.py",
            tree_sitter_python::LANGUAGE,
            tree_sitter_python::TAGS_QUERY,
        ),
        ("pay.js", tree_sitter_javascript::LANGUAGE, script),
        (
            "session.ts",
            tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            &typed,
        ),
        ("View.tsx", tree_sitter_typescript::LANGUAGE_TSX, &typed),
        (
            "ledger.go",
            tree_sitter_go::LANGUAGE,
            tree_sitter_go::TAGS_QUERY,
        ),
        (
            "Ledger.java",
            tree_sitter_java::LANGUAGE,
            tree_sitter_java::TAGS_QUERY,
        ),
        ("node.c", tree_sitter_c::LANGUAGE, tree_sitter_c::TAGS_QUERY),
        (
            "ledger.cpp",
            tree_sitter_cpp::LANGUAGE,
            tree_sitter_cpp::TAGS_QUERY,
        ),
        (
            "ledger.rb",
            tree_sitter_ruby::LANGUAGE,
            tree_sitter_ruby::TAGS_QUERY,
        ),
    ] {
        assert_covers(path, &grammar.into(), query, &[]);
    }
}

#[test]
fn namespaces_are_left_out_of_two_languages() {
    let csharp = tree_sitter_c_sharp::LANGUAGE.into();
    assert_covers(
        "Ledger.cs",
        &csharp,
        tree_sitter_c_sharp::TAGS_QUERY,
        &["Pay.Inner"],
    );
    let php = tree_sitter_php::LANGUAGE_PHP.into();
    assert_covers(
        "ledger.php",
        &php,
        tree_sitter_php::TAGS_QUERY,
        &["App\\Pay"],
    );
}
