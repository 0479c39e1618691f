//! Nothing that a file may hold stops the program, and what is outlined is found.

use ken_anchor::{Fingerprint, Verdict, compare, outline, resolve};
use ken_core::anchor::Spot;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::samples::SAMPLES;

/// Asks everything of one file.
fn exercise(path: &str, source: &[u8]) -> Result<(), TestCaseError> {
    let outline = outline(path, source);
    for symbol in outline.symbols() {
        prop_assert!(symbol.bytes.end <= source.len());
        prop_assert!(symbol.bytes.start <= symbol.bytes.end);
        prop_assert!(1 <= symbol.first_line && symbol.first_line <= symbol.last_line);
        prop_assert!(outline.find(&symbol.name).contains(&symbol));
    }
    // Each look costs a parse; the first and the last symbol stand for all.
    let ends = outline
        .symbols()
        .first()
        .into_iter()
        .chain(outline.symbols().last());
    for symbol in ends {
        let spot = Spot::Symbol(symbol.name.clone());
        let found = resolve(path, source, &spot);
        let taken: Fingerprint = found.expect("it is outlined").fingerprint;
        prop_assert!(matches!(
            compare(path, source, &spot, taken),
            Verdict::Intact(_)
        ));
    }
    Ok(())
}

/// One edit of a text: bytes dropped and bytes put in their place.
type Edit = (prop::sample::Index, usize, Vec<u8>);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let signs =
        prop::sample::select(b"(){}[]<>\"'`;:,.#/\\|&*+-=!?@$%^~ \n\tax0_\xff\xc3".to_vec());
    vec(
        (any::<prop::sample::Index>(), 0..12usize, vec(signs, 0..6)),
        1..4,
    )
}

fn edited(source: &str, edits: &[Edit]) -> Vec<u8> {
    let mut bytes = source.as_bytes().to_vec();
    for (at, drop, put) in edits {
        let start = at.index(bytes.len() + 1);
        let end = (start + drop).min(bytes.len());
        bytes.splice(start..end, put.iter().copied());
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_bytes_are_survived(source in vec(any::<u8>(), 0..256)) {
        for (path, _) in SAMPLES {
            exercise(path, &source)?;
        }
    }

    #[test]
    fn damaged_sources_are_survived(edits in edits()) {
        for (path, source) in SAMPLES {
            exercise(path, &edited(source, &edits))?;
        }
    }

    /// Cutting a file anywhere leaves something that can be read.
    #[test]
    fn torn_sources_are_survived(at in any::<prop::sample::Index>()) {
        for (path, source) in SAMPLES {
            exercise(path, &source.as_bytes()[..at.index(source.len())])?;
        }
    }

    #[test]
    fn fingerprints_read_back(digits in "[0-9a-f]{32}") {
        for method in ["s1", "l1", "f1"] {
            let text = format!("{method}:{digits}");
            prop_assert_eq!(text.parse::<Fingerprint>().unwrap().to_string(), text);
        }
    }
}
