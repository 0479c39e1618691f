//! Every kind of condition against a small tree: holding, broken, unverifiable and negated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ken_core::values::condition::{TruthValue, parse};

use super::*;
use crate::FileTreeError;

struct MemoryTree(BTreeMap<&'static str, Vec<u8>>);

impl MemoryTree {
    fn of(files: &[(&'static str, &str)]) -> Self {
        Self(
            files
                .iter()
                .map(|(path, text)| (*path, text.as_bytes().to_vec()))
                .collect(),
        )
    }
}

impl FileTree for MemoryTree {
    fn paths(&self) -> Result<Arc<[String]>, FileTreeError> {
        Ok(self.0.keys().map(ToString::to_string).collect())
    }

    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileTreeError> {
        if path.starts_with("locked/") {
            return Err(FileTreeError {
                path: path.to_owned(),
                why: "permission denied".to_owned(),
            });
        }
        Ok(self.0.get(path).map(|bytes| bytes.as_slice().into()))
    }
}

struct OneSymbol;

impl SymbolResolver for OneSymbol {
    fn look_up(&self, path: &str, name: &str) -> Result<Option<SymbolState>, String> {
        let fingerprint = "s1:0123456789abcdef".to_owned();
        match (path, name) {
            ("src/pay.rs", "charge") => Ok(Some(SymbolState {
                fingerprint,
                line: 7,
            })),
            ("src/pay.xyz", _) => Err("`src/pay.xyz` is in no known language".to_owned()),
            _ => Ok(None),
        }
    }
}

const HOLDS: TruthValue = TruthValue::Holds;
const BROKEN: TruthValue = TruthValue::Broken;
const UNVERIFIABLE: TruthValue = TruthValue::Unverifiable;

/// Evaluates conditions, plain and negated, and checks the truth values.
fn check_conditions(tree: &MemoryTree, table: &[(&str, TruthValue)]) {
    let facts = BTreeSet::from(["monorepo".to_owned()]);
    let evidence = ConditionEvaluator::new(tree, &OneSymbol, &facts);
    for (text, truth) in table {
        let plain = evidence.evaluate(&parse(text).unwrap());
        assert_eq!(plain.truth, *truth, "{text}: {}", plain.why);
        let negated = evidence.evaluate(&parse(&format!("not {text}")).unwrap());
        assert_eq!(
            (negated.truth, negated.why),
            (!*truth, plain.why),
            "not {text}"
        );
    }
}

fn outcome_location(tree: &MemoryTree, text: &str) -> Option<(String, u32)> {
    let facts = BTreeSet::new();
    let outcome = ConditionEvaluator::new(tree, &OneSymbol, &facts).evaluate(&parse(text).unwrap());
    outcome.at.map(|place| (place.path, place.line))
}

#[test]
fn files_symbols_and_facts() {
    let tree = MemoryTree::of(&[("src/pay.rs", "fn charge() {}")]);
    check_conditions(
        &tree,
        &[
            ("file:src/*.rs", HOLDS),
            ("file:lib/**", BROKEN),
            ("symbol:src/pay.rs#charge", HOLDS),
            ("symbol:src/pay.rs#charge@s1:0123456789abcdef", HOLDS),
            ("symbol:src/pay.rs#charge@s1:00000000deadbeef", BROKEN),
            ("symbol:src/pay.rs#charge@s2:00000000deadbeef", UNVERIFIABLE),
            ("symbol:src/pay.rs#refund", BROKEN),
            ("symbol:src/pay.xyz#charge", UNVERIFIABLE),
            ("fact:monorepo", HOLDS),
            ("fact:single", BROKEN),
        ],
    );
    let changed = "symbol:src/pay.rs#charge@s1:00000000deadbeef";
    assert_eq!(
        outcome_location(&tree, changed),
        Some(("src/pay.rs".to_owned(), 7))
    );
}

#[test]
fn text_is_searched_in_text_files_only() {
    let mut tree = MemoryTree::of(&[
        ("a.rs", "fn a() {}\n  unsafe { b() }\n"),
        ("bin.rs", "x\0needle"),
        ("locked/a.rs", ""),
    ]);
    tree.0.insert("big.txt", vec![b'x'; 3 * 1024 * 1024]);
    check_conditions(
        &tree,
        &[
            ("text:*.rs~^\\s*unsafe\\b", HOLDS),
            ("text:*.rs~needle", BROKEN),
            ("text:lib/*~x", BROKEN),
            ("text:big.txt~x", UNVERIFIABLE),
            ("text:locked/*~x", UNVERIFIABLE),
            ("text:*.rs~(unclosed", UNVERIFIABLE),
            ("text:*.rs~(a{1000}){1000}{1000}", UNVERIFIABLE),
        ],
    );
    assert_eq!(
        outcome_location(&tree, "text:*.rs~unsafe"),
        Some(("a.rs".to_owned(), 2))
    );
}

#[test]
fn code_is_searched_by_shape() {
    let tree = MemoryTree::of(&[
        ("a.rs", "fn a() {\n    b().unwrap();\n}\n"),
        ("locked/x.py", ""),
        ("b.go", "package b\n"),
    ]);
    check_conditions(
        &tree,
        &[
            ("code:rust~$X.unwrap()", HOLDS),
            ("code:rust~$X.expect($M)", BROKEN),
            ("code:go~panic($$$)", BROKEN),
            ("code:java~f($X)", BROKEN),
            ("code:python~f($X)", UNVERIFIABLE),
            ("code:rust~$$$", UNVERIFIABLE),
            ("code:rust~fn (", UNVERIFIABLE),
        ],
    );
    assert_eq!(
        outcome_location(&tree, "code:rust~$X.unwrap()"),
        Some(("a.rs".to_owned(), 2))
    );
}

#[test]
fn config_values_are_compared_as_text_number_or_truth() {
    let tree = MemoryTree::of(&[
        (
            "a.toml",
            "[package]\nedition = \"2024\"\n[x]\nports = [80, 443]\nrate = 1.50\non = true\n",
        ),
        (
            "a.json",
            "{\"compilerOptions\": {\"strict\": true, /* why */ \"left.pad\": \"1\"}, \"n\": null}",
        ),
        (
            "a.yaml",
            "services:\n  - image: postgres:16\n    port: 5432\n---\nsecond: yes\n",
        ),
        ("bad.toml", "= nope"),
    ]);
    check_conditions(
        &tree,
        &[
            ("config:a.toml#package.edition=2024", HOLDS),
            ("config:a.toml#package.edition=\"2024\"", HOLDS),
            ("config:a.toml#package.edition=2021", BROKEN),
            ("config:a.toml#package.name=x", BROKEN),
            ("config:a.toml#x.ports[1]=443", HOLDS),
            ("config:a.toml#x.ports.1=443", HOLDS),
            ("config:a.toml#x.ports[1]=\"443\"", BROKEN),
            ("config:a.toml#x.ports[2]=443", BROKEN),
            ("config:a.toml#x.ports=443", UNVERIFIABLE),
            ("config:a.toml#x.rate=1.5", HOLDS),
            ("config:a.toml#x.on=true", HOLDS),
            ("config:a.json#compilerOptions.strict=true", HOLDS),
            ("config:a.json#compilerOptions.strict=false", BROKEN),
            ("config:a.json#compilerOptions.\"left.pad\"=1", HOLDS),
            ("config:a.json#n=null", HOLDS),
            ("config:a.yaml#services[0].image=postgres:16", HOLDS),
            ("config:a.yaml#services[0].port=5432", HOLDS),
            ("config:a.yaml#second=yes", HOLDS),
            ("config:none.yaml#a=1", BROKEN),
            ("config:bad.toml#a=1", UNVERIFIABLE),
            ("config:locked/a.toml#a=1", UNVERIFIABLE),
        ],
    );
    assert_eq!(
        outcome_location(&tree, "config:a.toml#x.rate=2"),
        Some(("a.toml".to_owned(), 5))
    );
    assert_eq!(
        outcome_location(&tree, "config:a.yaml#services[0].port=1"),
        Some(("a.yaml".to_owned(), 3))
    );
}

#[test]
fn packages_are_looked_for_in_every_lockfile_of_their_type() {
    let tree = MemoryTree::of(&[
        (
            "Cargo.lock",
            "[[package]]\nname = \"tokio\"\nversion = \"1.40.0\"\n",
        ),
        (
            "tools/Cargo.lock",
            "[[package]]\nname = \"tokio\"\nversion = \"0.2.0\"\n",
        ),
        ("requirements.txt", "Django==4.2.11\nnumpy>=1.20\n"),
        (
            "composer.lock",
            "{\"packages\": [{\"name\": \"a/b\", \"version\": \"dev-main\"}]}",
        ),
        ("go.mod", "module m\ngo 1.21\nrequire a.com/b v1.2.0\n"),
        (
            "pom.xml",
            "<project><dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId><version>1.0</version></dependency></dependencies></project>",
        ),
        (
            "web/package-lock.json",
            "{\"packages\": {\"node_modules/@a/b\": {\"version\": \"1.5.0\"}}}",
        ),
        ("api/yarn.lock", "x@^1:\n  version \"1.0.0\"\n"),
        ("api/pnpm-lock.yaml", "packages: [\n"),
    ]);
    check_conditions(
        &tree,
        &[
            ("pkg:cargo/tokio@>=1.40", HOLDS),
            ("pkg:cargo/tokio@0.2", HOLDS),
            ("pkg:cargo/tokio@>=2", BROKEN),
            ("pkg:cargo/serde@*", BROKEN),
            ("pkg:pypi/django@>=4|<5", HOLDS),
            ("pkg:pypi/django@>=5", BROKEN),
            ("pkg:pypi/numpy@>=1.20", UNVERIFIABLE),
            ("pkg:pypi/flask@*", UNVERIFIABLE),
            ("pkg:composer/a/b@*", HOLDS),
            ("pkg:composer/a/b@>=1", UNVERIFIABLE),
            ("pkg:composer/c/d@>=1", BROKEN),
            ("pkg:golang/a.com/b@>=1|<2", HOLDS),
            ("pkg:maven/g/a@1.0", HOLDS),
            ("pkg:maven/g/a@2.0", BROKEN),
            ("pkg:maven/g/b@*", UNVERIFIABLE),
            ("pkg:npm/%40a/b@^1.2", HOLDS),
            ("pkg:npm/@a/b@^2", UNVERIFIABLE),
            ("pkg:npm/x@1", HOLDS),
            ("pkg:npm/y@*", UNVERIFIABLE),
            ("pkg:gem/rails@*", UNVERIFIABLE),
        ],
    );
    assert_eq!(
        outcome_location(&tree, "pkg:cargo/tokio@>=1.40"),
        Some(("Cargo.lock".to_owned(), 2))
    );
}

#[test]
fn a_stored_condition_nobody_understands_is_unverifiable() {
    let (tree, facts) = (MemoryTree::of(&[]), BTreeSet::new());
    let evidence = ConditionEvaluator::new(&tree, &OneSymbol, &facts);
    for (text, truth) in [
        ("pkg:tokio", UNVERIFIABLE),
        ("not pkg:tokio", UNVERIFIABLE),
        ("not file:src/**", HOLDS),
    ] {
        assert_eq!(
            evidence.evaluate_stored(&text.parse().unwrap()).truth,
            truth,
            "{text}"
        );
    }
}
