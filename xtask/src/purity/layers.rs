//! Import direction between the top-level modules of a crate.
//!
//! A file may name `crate::x` only if `x` is in its own layer or a lower one, tests included. The
//! check reads tokens, so comments and strings do not count. It does not follow `super`, which
//! stays inside a top-level module in our code. `lib.rs` and `main.rs` have no layer.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use xtask::repository::{Finding, Repository};

/// A crate and its top-level modules from bottom to top; modules of one group may use each other.
type CrateLayers = (&'static str, &'static [&'static [&'static str]]);

const LAYERS: &[CrateLayers] = &[
    (
        "ken-core",
        &[
            &["values"],
            &["ledger"],
            &["trust"],
            &["retrieval"],
            &["health"],
            &["decide"],
            &["federation"],
            &["json"],
        ],
    ),
    (
        "ken-hub",
        &[
            &["blocking", "clock", "ids"],
            &["limits", "metrics", "operator_log"],
            &["config"],
            &["database"],
            &["store"],
            &["identity"],
            &["service"],
            &["exports"],
            &["api"],
            &["mcp"],
            &["ui"],
            &["server"],
            &["administration", "backup"],
        ],
    ),
];

/// Checks every crate with a row in [`LAYERS`].
pub(super) fn check(repository: &Repository) -> Result<Vec<Finding>, String> {
    let files = repository.files()?;
    let mut findings = Vec::new();
    for (name, layers) in LAYERS {
        let folder = format!("crates/{name}/src/");
        let mut seen = BTreeSet::new();
        for path in &files {
            let Some(module) = path.strip_prefix(&folder).and_then(top_module) else {
                continue;
            };
            findings.extend(check_file(path, module, &repository.read(path)?, layers)?);
            seen.insert(module);
        }
        // A row that outlives its module would let a new module of that name slip in.
        for module in layers.iter().copied().flatten() {
            if !seen.contains(module) {
                let message = format!("`{module}` of LAYERS does not exist");
                findings.push(Finding::new(&format!("{folder}lib.rs"), 1, message));
            }
        }
    }
    Ok(findings)
}

/// Returns the top-level module of a file below `src/`, or `None` for the root and other files.
fn top_module(path: &str) -> Option<&str> {
    let path = path.strip_suffix(".rs")?;
    let module = path.split_once('/').map_or(path, |(module, _)| module);
    (!["lib", "main"].contains(&module)).then_some(module)
}

fn check_file(
    path: &str,
    module: &str,
    text: &str,
    layers: &[&[&str]],
) -> Result<Vec<Finding>, String> {
    let layer_of = |name: &str| layers.iter().position(|group| group.contains(&name));
    let Some(own) = layer_of(module) else {
        let message = format!("`{module}` has no layer in LAYERS of xtask/src/purity/layers.rs");
        return Ok(vec![Finding::new(path, 1, message)]);
    };
    let tokens: TokenStream = text
        .parse()
        .map_err(|error| format!("cannot read the tokens of `{path}`: {error}"))?;
    let mut used = Vec::new();
    collect_used(tokens, &mut used);
    let upward = used.into_iter().filter_map(|(name, line)| {
        let message = match layer_of(&name) {
            Some(layer) if layer <= own => return None,
            Some(_) => format!("`{module}` may not use `crate::{name}`, a layer above it"),
            // An item of the crate's root may come from any layer.
            None => format!("`crate::{name}` has no layer: name the module it is from"),
        };
        Some(Finding::new(path, line, message))
    });
    Ok(upward.collect())
}

/// Collects the first name after each `crate::` and its line, also from `crate::{a, b::c}`.
fn collect_used(tokens: TokenStream, used: &mut Vec<(String, usize)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            collect_used(group.stream(), used);
        }
        let is_path = is_ident(token, "crate")
            && tokens.get(index + 1).is_some_and(|it| is_punct(it, ':'))
            && tokens.get(index + 2).is_some_and(|it| is_punct(it, ':'));
        match tokens.get(index + 3).filter(|_| is_path) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let names: Vec<TokenTree> = group.stream().into_iter().collect();
                let parts = names.split(|it| is_punct(it, ','));
                used.extend(parts.filter_map(<[_]>::first).map(name_and_line));
            }
            Some(name) => used.push(name_and_line(name)),
            None => {}
        }
    }
}

fn name_and_line(token: &TokenTree) -> (String, usize) {
    (token.to_string(), token.span().start().line)
}

fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &[&[&str]] = &[&["clock", "ids"], &["store"], &["api"]];

    fn found(module: &str, text: &str) -> Vec<(usize, String)> {
        let found = check_file("src/file.rs", module, text, ROWS).unwrap();
        found.into_iter().map(|it| (it.line, it.message)).collect()
    }

    #[test]
    fn a_layer_uses_itself_its_group_and_what_is_below() {
        let text =
            "use crate::ids::Id;\nuse crate::{clock, store::Row};\nfn f() { crate::store::g() }";
        assert_eq!(found("store", text), vec![]);
        assert_eq!(found("clock", "pub(crate) use crate::ids::Id;"), vec![]);
    }

    #[test]
    fn an_upward_import_is_found_with_its_line() {
        for text in [
            "\nuse crate::api::Call;",
            "\nuse crate::{ids::{Id, Name}, api};",
            "\nfn f() { let it = g(crate::api::h); }",
            "\n#[cfg(test)] mod tests { use crate::api::Call; }",
            "\nmacro_rules! m { () => { $crate::api::h() } }",
        ] {
            let found = found("store", text);
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(found[0].0, 2, "{text}");
            assert!(found[0].1.contains("`crate::api`"), "{found:?}");
        }
        assert_eq!(found("ids", "use crate::{store, api};").len(), 2);
    }

    #[test]
    fn comments_and_strings_import_nothing() {
        let text = "//! [`crate::api`]\n/// crate::api::Call\nfn f() -> &str { \"crate::api\" /* crate::api */ }";
        assert_eq!(found("store", text), vec![]);
    }

    #[test]
    fn a_name_without_a_layer_is_found() {
        assert_eq!(found("store", "use crate::Engine;").len(), 1);
        assert_eq!(found("store", "use crate::*;").len(), 1);
        assert_eq!(found("new", "").len(), 1);
    }

    #[test]
    fn the_module_of_a_file_is_its_first_folder() {
        assert_eq!(top_module("store/rows/mod.rs"), Some("store"));
        assert_eq!(top_module("clock.rs"), Some("clock"));
        assert_eq!(top_module("lib.rs"), None);
        assert_eq!(top_module("store/schema.sql"), None);
    }
}
