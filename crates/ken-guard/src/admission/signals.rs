//! Computes the seven quality signals of a new entry from its proposal (SEC-14).

use ken_core::ledger::event::{Origin, Proposed, ScanStatus};
use ken_core::values::kind::Memory;

use crate::quality::QualitySignals;

/// Assumed confidence of an author who states none.
const CONFIDENCE_DEFAULT: f64 = 0.5;

/// Number of citations above which more add nothing.
const CITATIONS_MAX: usize = 2;

/// Returns the quality signals of a new entry, each from 0 to 1.
pub(super) fn compute_signals(proposed: &Proposed, scan: ScanStatus) -> QualitySignals {
    QualitySignals {
        confidence: CONFIDENCE_DEFAULT,
        scanner: match scan {
            ScanStatus::Safe => 1.0,
            ScanStatus::Low => 0.8,
            ScanStatus::Medium => 0.4,
            ScanStatus::High | ScanStatus::Critical => 0.0,
        },
        provenance: provenance_signal(proposed),
        trust: match proposed.origin {
            // Decreasing with the distance from the people who maintain the code.
            Origin::Human => 1.0,
            Origin::Ci => 0.8,
            Origin::Agent => 0.7,
            Origin::Import => 0.6,
            Origin::Peer => 0.4,
            Origin::Web => 0.2,
        },
        mass: mass_signal(proposed),
        prior: match proposed.kind.memory() {
            Memory::Procedural => 0.7,
            Memory::Semantic => 0.6,
            // Raw episodic signals are numerous, and each carries little information.
            Memory::Episodic => 0.4,
        },
        // A new entry was just observed.
        recency: 1.0,
    }
}

/// Returns the provenance signal: half for citations, a quarter each for anchors and verification
/// steps.
fn provenance_signal(proposed: &Proposed) -> f64 {
    let cited = proposed.citations.len().min(CITATIONS_MAX) as f64 / CITATIONS_MAX as f64;
    let there = |is_empty: bool| if is_empty { 0.0 } else { 1.0 };
    let content = &proposed.content;
    cited * 0.5 + there(content.anchors.is_empty()) * 0.25 + there(content.verify.is_empty()) * 0.25
}

/// Returns the mass signal from the number of distinct citing actors, with diminishing returns.
fn mass_signal(proposed: &Proposed) -> f64 {
    let cited_by: std::collections::BTreeSet<_> = proposed
        .citations
        .iter()
        .map(|citation| &citation.cited_by)
        .collect();
    // The author counts as one even without citations.
    let seen_by = cited_by.len().max(1) as f64;
    seen_by / (seen_by + 2.0)
}

/// Converts a share to thousandths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share times a thousand fits"
)]
pub(super) fn to_milli(share: f64) -> u16 {
    (share.clamp(0.0, 1.0) * 1000.0).round() as u16
}

#[cfg(test)]
mod tests {
    use ken_core::decide::{Proposal, propose};
    use ken_core::ledger::event::EventBody;
    use ken_core::values::citation::{Citation, CitationType};
    use ken_core::values::content::Content;
    use ken_core::values::id::EventId;
    use ken_core::values::kind::EntryKind;
    use ken_core::values::time::Timestamp;

    use super::*;
    use crate::quality::{QualityVerdict, QualityWeights, WorkspaceOrigin, decide_by_score};

    fn proposed(origin: Origin) -> Proposed {
        let content = Content::new("Retries need a key".parse().unwrap());
        let citation = Citation {
            evidence_type: CitationType::Doc,
            evidence_ref: "a.md".parse().unwrap(),
            cited_by: "agent:x".parse().unwrap(),
            cited_at: 1,
        };
        let proposal = Proposal::new(EntryKind::Learning, content, vec![citation], origin);
        let id = EventId::new(Timestamp::from_millis(1), 1);
        let EventBody::Proposed(proposed) = propose(id, proposal).unwrap().body else {
            panic!("a proposal proposes");
        };
        proposed
    }

    #[test]
    fn what_it_is_worth_depends_on_neither_fit_nor_success() {
        let plain = proposed(Origin::Agent);
        let mut praised = plain.clone();
        praised.run = Some(ken_core::ledger::event::SourceRun {
            id: "R-1".to_owned(),
            outcome: Some(ken_core::ledger::event::Outcome::Succeeded),
        });
        let score =
            |it: &Proposed| compute_signals(it, ScanStatus::Safe).score(&QualityWeights::default());
        assert!((score(&plain) - score(&praised)).abs() < f64::EPSILON);
    }

    #[test]
    fn the_less_is_known_the_less_it_is_worth() {
        let score = |origin, scan| {
            compute_signals(&proposed(origin), scan).score(&QualityWeights::default())
        };
        let ranked: Vec<f64> = Origin::BY_TRUST
            .iter()
            .map(|origin| score(*origin, ScanStatus::Safe))
            .collect();
        assert!(
            ranked.windows(2).all(|pair| pair[1] < pair[0]),
            "{ranked:?}"
        );
        assert!(score(Origin::Web, ScanStatus::Medium) < score(Origin::Web, ScanStatus::Safe));
        assert_eq!(
            decide_by_score(score(Origin::Human, ScanStatus::Safe), WorkspaceOrigin::Own),
            QualityVerdict::Admit
        );
    }
}
