//! Computes the seven quality signals of a new entry from its proposal (SEC-14).

use ken_core::ledger::event::{Origin, Proposed, ScanStatus};
use ken_core::values::content::{KindDetail, SpikeConfidence};
use ken_core::values::kind::Memory;
use ken_core::values::time::Timestamp;

use crate::quality::QualitySignals;

/// Assumed confidence of an author who states none.
const CONFIDENCE_DEFAULT: f64 = 0.5;

/// Age in days from which the newest citation makes an entry no fresher.
const RECENCY_DAYS_MAX: u32 = 365;

/// Number of citations above which more add nothing.
const CITATIONS_MAX: usize = 2;

/// Returns the quality signals of a new entry, each from 0 to 1.
pub(super) fn compute_signals(
    proposed: &Proposed,
    scan: ScanStatus,
    now: Timestamp,
) -> QualitySignals {
    QualitySignals {
        confidence: confidence_signal(proposed),
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
        recency: recency_signal(proposed, now),
    }
}

/// Returns the confidence that the author states, which only a spike does.
fn confidence_signal(proposed: &Proposed) -> f64 {
    match &proposed.content.detail {
        Some(KindDetail::Spike(spike)) => match spike.confidence {
            SpikeConfidence::Conclusive => 1.0,
            SpikeConfidence::Inconclusive => 0.0,
        },
        Some(
            KindDetail::Entity(_)
            | KindDetail::Relationship(_)
            | KindDetail::Friction(_)
            | KindDetail::Norm(_),
        )
        | None => CONFIDENCE_DEFAULT,
    }
}

/// Returns the recency signal, which falls from 1 to 0 in a year since the newest citation.
fn recency_signal(proposed: &Proposed, now: Timestamp) -> f64 {
    let newest = proposed.citations.iter().map(|it| it.cited_at).max();
    // An entry without citations, such as friction, was just observed.
    let age = newest.map_or(0, |at| {
        let cited = Timestamp::from_seconds(at).date();
        now.date().days_since(cited)
    });
    1.0 - f64::from(age.min(RECENCY_DAYS_MAX)) / f64::from(RECENCY_DAYS_MAX)
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
    use ken_core::values::content::{Content, SpikeDetail};
    use ken_core::values::id::EventId;
    use ken_core::values::kind::EntryKind;

    use super::*;
    use crate::quality::{QualityVerdict, QualityWeights, WorkspaceOrigin, decide_by_score};

    fn now() -> Timestamp {
        Timestamp::from_seconds(1_800_000_000)
    }

    fn proposed(origin: Origin) -> Proposed {
        let content = Content::new("Retries need a key".parse().unwrap());
        let citation = Citation {
            evidence_type: CitationType::Doc,
            evidence_ref: "a.md".parse().unwrap(),
            cited_by: "agent:x".parse().unwrap(),
            cited_at: now().seconds(),
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
        let score = |it: &Proposed| {
            compute_signals(it, ScanStatus::Safe, now()).score(&QualityWeights::default())
        };
        assert!((score(&plain) - score(&praised)).abs() < f64::EPSILON);
        // What it says, and so which questions it fits, adds nothing either.
        praised.content.statement = "Invoices are paid late".parse().unwrap();
        praised.content.tags = ["billing".parse().unwrap()].into_iter().collect();
        assert!((score(&plain) - score(&praised)).abs() < f64::EPSILON);
        let mut weak = weak_spike(Origin::Agent, 400);
        weak.run = praised.run;
        let signals = compute_signals(&weak, ScanStatus::Medium, now());
        assert_eq!(
            decide_by_score(
                signals.score(&QualityWeights::default()),
                WorkspaceOrigin::Own
            ),
            QualityVerdict::Demote
        );
    }

    #[test]
    fn the_less_is_known_the_less_it_is_worth() {
        let score = |origin, scan| {
            compute_signals(&proposed(origin), scan, now()).score(&QualityWeights::default())
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

    /// Returns an inconclusive spike with one citation of the given age.
    fn weak_spike(origin: Origin, age_days: u64) -> Proposed {
        let mut weak = proposed(origin);
        weak.kind = EntryKind::Spike;
        weak.content.detail = Some(KindDetail::Spike(SpikeDetail {
            question: "How fast?".parse().unwrap(),
            answer: "Unclear".parse().unwrap(),
            confidence: SpikeConfidence::Inconclusive,
            constraints: Vec::new(),
        }));
        weak.citations[0].cited_at = now().seconds() - age_days * 86_400;
        weak
    }

    #[test]
    fn each_of_the_seven_signals_follows_from_the_proposal() {
        let base = proposed(Origin::Agent);
        let changed = |change: &dyn Fn(&mut Proposed)| {
            let mut other = base.clone();
            change(&mut other);
            compute_signals(&other, ScanStatus::Safe, now())
        };
        let signals = changed(&|_| {});
        let scanned = compute_signals(&base, ScanStatus::Medium, now());
        assert!(scanned.scanner < signals.scanner);
        let spiked = compute_signals(&weak_spike(Origin::Agent, 0), ScanStatus::Safe, now());
        assert!(spiked.confidence < signals.confidence);
        let verified = changed(&|it| it.content.verify = vec!["Run it".parse().unwrap()]);
        assert!(verified.provenance > signals.provenance);
        let trusted = changed(&|it| it.origin = Origin::Human);
        assert!(trusted.trust > signals.trust);
        let witnessed = changed(&|it| {
            let mut second = it.citations[0].clone();
            second.cited_by = "human:ada".parse().unwrap();
            it.citations.push(second);
        });
        assert!(witnessed.mass > signals.mass);
        let normative = changed(&|it| it.kind = EntryKind::CommitNorm);
        assert!(normative.prior > signals.prior);
        let old = changed(&|it| it.citations[0].cited_at -= 73 * 86_400);
        assert!((signals.recency - 1.0).abs() < 1e-9);
        assert!((old.recency - 0.8).abs() < 1e-9, "{}", old.recency);
        let older = changed(&|it| it.citations[0].cited_at -= 3_650 * 86_400);
        assert!(older.recency.abs() < 1e-9);
    }

    #[test]
    fn the_weakest_entries_are_quarantined_or_refused_with_default_weights() {
        let decide = |origin, age_days, scan, from| {
            let signals = compute_signals(&weak_spike(origin, age_days), scan, now());
            let score = signals.score(&QualityWeights::default());
            (to_milli(score), decide_by_score(score, from))
        };
        let (own, foreign) = (WorkspaceOrigin::Own, WorkspaceOrigin::Foreign);
        let medium = ScanStatus::Medium;
        // One signal better each time, and the next threshold is passed.
        assert_eq!(
            decide(Origin::Web, 400, medium, foreign),
            (247, QualityVerdict::Reject)
        );
        assert_eq!(
            decide(Origin::Web, 340, medium, foreign),
            (254, QualityVerdict::Demote)
        );
        assert_eq!(
            decide(Origin::Agent, 400, medium, own),
            (347, QualityVerdict::Demote)
        );
        assert_eq!(
            decide(Origin::Agent, 340, medium, own),
            (354, QualityVerdict::Admit)
        );
    }
}
