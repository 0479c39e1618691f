//! What counts against a peer, and when that suspends it.

use ken_core::federation::{BatchRejection, LineRefusal, PublicationReplica, Strikes};
use ken_core::values::time::DAY_MS;

use crate::support::{Publisher, sign, start};

#[test]
fn a_carrier_without_the_key_causes_no_strike() {
    let mut publisher = Publisher::new(7);
    publisher.words.insert(1, "Lesson 1".to_owned());
    publisher.update(start());
    let batch = publisher.folder.batches.values().next().unwrap();
    let accept = |batch| {
        let check = |bytes: &[u8], signature: &str| sign(publisher.key, bytes) == signature;
        let mut replica = PublicationReplica::new(publisher.id, publisher.name.clone());
        let rejection = replica.accept(&batch, start(), &check).unwrap_err();
        Strikes::default().judge_rejection(&rejection, start().date())
    };
    // Everything that can be done to the bytes without signing them again.
    let mut damaged = vec![batch.clone(); 6];
    damaged[0].signature.push('x');
    damaged[1].manifest.number = 2;
    damaged[2].lines.clear();
    damaged[3].lines.push("{}".to_owned());
    damaged[4].lines[0] = "x".to_owned();
    damaged[5].lines[0] = "x".repeat(64 * 1024);
    for batch in damaged {
        let verdict = accept(batch);
        assert!(verdict.stopped.is_some());
        assert_eq!((verdict.failure, verdict.suspended), (None, None));
    }
    // The same kind of damage, signed by the publisher.
    let mut signed = batch.clone();
    signed.manifest.expires = signed.manifest.at.minus_millis(1);
    signed.signature = publisher.sign_manifest(&signed.manifest);
    assert!(accept(signed).failure.is_some());
}

#[test]
fn the_third_strike_of_a_day_suspends_a_peer_and_strikes_of_other_days_do_not_count() {
    let mut strikes = Strikes::default();
    let day = |days: u64| start().plus_millis(days * DAY_MS).date();
    for today in [day(0), day(0), day(1), day(1)] {
        let verdict = strikes.judge_rejection(&BatchRejection::Backdated, today);
        assert_eq!(verdict.suspended, None);
    }
    let verdict = strikes.judge_rejection(&BatchRejection::Backdated, day(1));
    assert!(
        verdict
            .suspended
            .unwrap()
            .starts_with("3 strikes on one day")
    );
    // A person who resumes the peer begins anew.
    strikes.clear();
    let verdict = strikes.judge_rejection(&BatchRejection::Backdated, day(1));
    assert_eq!(verdict.suspended, None);
}

#[test]
fn more_than_a_tenth_of_refused_lines_and_a_fork_suspend_at_once() {
    let why = LineRefusal::UnknownMembers.to_string();
    let today = start().date();
    let judge = |refused, total| {
        let verdict = Strikes::default().judge_refused((&why, refused, total), today);
        assert!(verdict.failure.is_some());
        verdict.suspended.is_some()
    };
    assert!(!judge(1, 10));
    assert!(judge(2, 19));
    let fork = Strikes::default().judge_rejection(&BatchRejection::Fork, today);
    assert!(fork.suspended.is_some());
}
