//! Property tests: no file content causes a panic, and every outlined symbol resolves.

use ken_anchor::{AnchorComparison, Fingerprint, compare_anchor, outline, resolve};
use ken_core::values::anchor::FilePart;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::samples::SAMPLES;

/// Calls every operation on one file.
fn check_all_operations(path: &str, source: &[u8]) -> Result<(), TestCaseError> {
    let outline = outline(path, source);
    for symbol in outline.symbols() {
        prop_assert!(symbol.bytes.end <= source.len());
        prop_assert!(symbol.bytes.start <= symbol.bytes.end);
        prop_assert!(symbol.first_line >= 1 && symbol.first_line <= symbol.last_line);
        prop_assert!(outline.find(&symbol.name).contains(&symbol));
    }
    // Each lookup costs a parse, so only the first and the last symbol are resolved.
    let ends = outline
        .symbols()
        .first()
        .into_iter()
        .chain(outline.symbols().last());
    for symbol in ends {
        let spot = FilePart::Symbol(symbol.name.clone());
        let found = resolve(path, source, &spot);
        let taken: Fingerprint = found.expect("it is outlined").fingerprint;
        prop_assert!(matches!(
            compare_anchor(path, source, &spot, taken),
            AnchorComparison::Intact(_)
        ));
    }
    Ok(())
}

/// One edit of a text: position, number of bytes removed, bytes inserted.
type RandomEdit = (prop::sample::Index, usize, Vec<u8>);

fn any_edits() -> impl Strategy<Value = Vec<RandomEdit>> {
    let signs =
        prop::sample::select(b"(){}[]<>\"'`;:,.#/\\|&*+-=!?@$%^~ \n\tax0_\xff\xc3".to_vec());
    vec(
        (any::<prop::sample::Index>(), 0..12usize, vec(signs, 0..6)),
        1..4,
    )
}

fn apply_edits(source: &str, edits: &[RandomEdit]) -> Vec<u8> {
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
            check_all_operations(path, &source)?;
        }
    }

    #[test]
    fn damaged_sources_are_survived(edits in any_edits()) {
        for (path, source) in SAMPLES {
            check_all_operations(path, &apply_edits(source, &edits))?;
        }
    }

    /// A file truncated at any byte can still be read.
    #[test]
    fn torn_sources_are_survived(at in any::<prop::sample::Index>()) {
        for (path, source) in SAMPLES {
            check_all_operations(path, &source.as_bytes()[..at.index(source.len())])?;
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
