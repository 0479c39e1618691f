//! One sample source per language, and helpers shared by all anchor tests.

use std::collections::BTreeMap;

use ken_anchor::{Fingerprint, outline};

/// One sample file per language of this build.
pub(crate) const SAMPLES: &[(&str, &str)] = &[
    ("ledger.rs", include_str!("../fixtures/ledger.rs")),
    ("session.py", include_str!("../fixtures/session.py")),
    ("session.ts", include_str!("../fixtures/session.ts")),
    ("View.tsx", include_str!("../fixtures/View.tsx")),
    ("pay.js", include_str!("../fixtures/pay.js")),
    ("ledger.go", include_str!("../fixtures/ledger.go")),
    ("Ledger.java", include_str!("../fixtures/Ledger.java")),
    ("node.c", include_str!("../fixtures/node.c")),
    ("ledger.cpp", include_str!("../fixtures/ledger.cpp")),
    ("Ledger.cs", include_str!("../fixtures/Ledger.cs")),
    ("ledger.rb", include_str!("../fixtures/ledger.rb")),
    ("ledger.php", include_str!("../fixtures/ledger.php")),
    ("charge.sh", include_str!("../fixtures/charge.sh")),
    ("package.toml", include_str!("../fixtures/package.toml")),
    ("ci.yaml", include_str!("../fixtures/ci.yaml")),
    ("package.json", include_str!("../fixtures/package.json")),
    ("guide.md", include_str!("../fixtures/guide.md")),
    #[cfg(feature = "more-languages")]
    ("Ledger.kt", include_str!("../fixtures/Ledger.kt")),
    #[cfg(feature = "more-languages")]
    ("Ledger.swift", include_str!("../fixtures/Ledger.swift")),
];

pub(crate) fn sample_source(path: &str) -> &'static str {
    let found = SAMPLES.iter().find(|(sample, _)| *sample == path);
    found.map_or("", |(_, source)| source)
}

/// Returns the names of a file's symbols, in source order.
pub(crate) fn symbol_names(path: &str, source: &str) -> Vec<String> {
    let outline = outline(path, source.as_bytes());
    outline.symbols().iter().map(|it| it.name.clone()).collect()
}

/// Returns the fingerprints of a file's symbols by name.
pub(crate) fn fingerprints_by_name(path: &str, source: &str) -> BTreeMap<String, Vec<Fingerprint>> {
    let mut prints: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for symbol in outline(path, source.as_bytes()).symbols() {
        prints
            .entry(symbol.name.clone())
            .or_default()
            .push(symbol.fingerprint);
    }
    prints
}
