//! The seven signals of a new entry, read off its proposal (SEC-14).

use ken_core::event::{Origin, Proposed, ScanStatus};
use ken_core::kind::Memory;

use crate::admission::Signals;

/// What an author who says nothing about it is taken to be sure of.
const CONFIDENCE_UNSAID: f64 = 0.5;

/// Evidence from which on more adds nothing.
const CITATIONS_FULL: usize = 2;

/// Returns what speaks for a new entry, each from 0 to 1.
pub(super) fn signals(proposed: &Proposed, scan: ScanStatus) -> Signals {
    Signals {
        confidence: CONFIDENCE_UNSAID,
        scanner: match scan {
            ScanStatus::Safe => 1.0,
            ScanStatus::Low => 0.8,
            ScanStatus::Medium => 0.4,
            ScanStatus::High | ScanStatus::Critical => 0.0,
        },
        provenance: provenance(proposed),
        trust: match proposed.origin {
            Origin::Human => 1.0,
            Origin::Ci => 0.8,
            Origin::Agent => 0.7,
            Origin::Import => 0.6,
            Origin::Peer => 0.4,
            Origin::Web => 0.2,
        },
        mass: mass(proposed),
        prior: match proposed.kind.memory() {
            Memory::Procedural => 0.7,
            Memory::Semantic => 0.6,
            // Raw signals are many and each says little.
            Memory::Episodic => 0.4,
        },
        recency: 1.0,
    }
}

/// Half for citations, a quarter each for code it rests on and steps that check it.
fn provenance(proposed: &Proposed) -> f64 {
    let cited = proposed.citations.len().min(CITATIONS_FULL) as f64 / CITATIONS_FULL as f64;
    let there = |is_empty: bool| if is_empty { 0.0 } else { 1.0 };
    let content = &proposed.content;
    cited * 0.5
        + there(content.evidence.is_empty()) * 0.25
        + there(content.verify.is_empty()) * 0.25
}

/// One author, or the witnesses of a run: each further one adds half of what is left.
fn mass(proposed: &Proposed) -> f64 {
    let cited_by: std::collections::BTreeSet<_> =
        proposed.citations.iter().map(|it| &it.cited_by).collect();
    let seen_by = cited_by.len().max(1) as f64;
    seen_by / (seen_by + 2.0)
}

/// Returns a share in thousandths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share times a thousand fits"
)]
pub(super) fn milli(share: f64) -> u16 {
    (share.clamp(0.0, 1.0) * 1000.0).round() as u16
}

#[cfg(test)]
mod tests {
    use ken_core::citation::{Citation, EvidenceType};
    use ken_core::content::Content;
    use ken_core::decide::{Proposal, propose};
    use ken_core::event::Body;
    use ken_core::id::EventId;
    use ken_core::kind::Kind;
    use ken_core::time::Timestamp;

    use super::*;
    use crate::admission::{Reach, Weighed, Weights, weigh};

    fn proposed(origin: Origin) -> Proposed {
        let content = Content::new("Retries need a key".parse().unwrap());
        let citation = Citation {
            evidence_type: EvidenceType::Doc,
            evidence_ref: "a.md".parse().unwrap(),
            cited_by: "agent:x".parse().unwrap(),
            cited_at: 1,
        };
        let proposal = Proposal::new(Kind::Learning, content, vec![citation], origin);
        let id = EventId::new(Timestamp::from_millis(1), 1);
        let Body::Proposed(proposed) = propose(id, proposal).unwrap().body else {
            panic!("a proposal proposes");
        };
        proposed
    }

    #[test]
    fn sec_17_what_it_is_worth_depends_on_neither_fit_nor_success() {
        let plain = proposed(Origin::Agent);
        let mut praised = plain.clone();
        praised.run = Some(ken_core::event::SourceRun {
            id: "R-1".to_owned(),
            outcome: Some(ken_core::event::Outcome::Succeeded),
        });
        let score = |it: &Proposed| signals(it, ScanStatus::Safe).score(&Weights::default());
        assert!((score(&plain) - score(&praised)).abs() < f64::EPSILON);
    }

    #[test]
    fn the_less_is_known_the_less_it_is_worth() {
        let score = |origin, scan| signals(&proposed(origin), scan).score(&Weights::default());
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
            weigh(score(Origin::Human, ScanStatus::Safe), Reach::Own),
            Weighed::Admit
        );
    }
}
