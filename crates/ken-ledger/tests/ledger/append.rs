//! Appending, sealing and healing on a real disk with a simulated git.

use std::collections::BTreeSet;
use std::fs;

use crate::sample;
use crate::support::{CountingIds, LedgerSandbox, event_lines, has_healed, ledger_lines};
use ken_core::values::kind::EntryKind;
use ken_ledger::{LedgerNotice, Stat};

#[test]
fn one_segment_takes_the_events_of_many_processes() {
    for mut sandbox in [LedgerSandbox::in_git(), LedgerSandbox::plain()] {
        let (a, first) = sandbox.add();
        let (b, second) = sandbox.add();
        assert_eq!(first.segments(), second.segments());
        assert_eq!(second.notices, []);
        assert_eq!(ledger_lines(&sandbox.open()), event_lines([&a, &b]));
    }
}

#[test]
fn one_process_may_append_many_times() {
    for mut sandbox in [LedgerSandbox::in_git(), LedgerSandbox::plain()] {
        let ledger = sandbox.open();
        let events: Vec<_> = (0..20).map(|_| sandbox.add_to(&ledger).0).collect();
        assert_eq!(ledger.list().unwrap().len(), 1);
        assert_eq!(ledger_lines(&sandbox.open()), event_lines(&events));
    }
}

#[test]
fn each_memory_has_its_own_segment() {
    let mut sandbox = LedgerSandbox::in_git();
    let kinds = [
        EntryKind::Learning,
        EntryKind::CommitNorm,
        EntryKind::Friction,
    ];
    let batch: Vec<_> = (1..)
        .zip(kinds)
        .map(|(n, kind)| sample::event_of(n, kind))
        .collect();
    let appended = sandbox
        .open()
        .append(&batch, sample::start(), &mut sandbox.ids)
        .unwrap();
    assert_eq!(appended.segments().len(), 3);
    for (event, name) in batch.iter().zip(["semantic", "procedural", "episodic"]) {
        let segment = appended
            .segments()
            .into_iter()
            .find(|s| s.memory().name() == name)
            .unwrap();
        let text = sandbox.open().read(&segment).unwrap();
        assert_eq!(text.text(), format!("{}\n", event.line()));
    }
}

#[test]
fn a_full_segment_is_followed_by_another_even_inside_a_batch() {
    for mut sandbox in [LedgerSandbox::in_git(), LedgerSandbox::plain()] {
        let batch: Vec<_> = (1..5000).map(sample::event).collect();
        let appended = sandbox
            .open()
            .append(&batch, sample::start(), &mut sandbox.ids)
            .unwrap();
        assert!(appended.segments().len() > 1);
        let longest = sandbox
            .open()
            .list()
            .unwrap()
            .into_iter()
            .map(|s| s.len)
            .max()
            .unwrap();
        assert!(longest <= ken_ledger::SEGMENT_BYTES_MAX + 1);
        sandbox.add();
        assert_eq!(ledger_lines(&sandbox.open()).len(), batch.len() + 1);
    }
}

#[test]
fn a_moved_head_seals() {
    let mut sandbox = LedgerSandbox::in_git();
    let (_, first) = sandbox.add();
    sandbox
        .git
        .as_ref()
        .unwrap()
        .say(|said| said.token = "2".into());
    let (_, second) = sandbox.add();
    let (_, third) = sandbox.add();
    assert_ne!(first.segments(), second.segments());
    assert_eq!(second.segments(), third.segments());
}

#[test]
fn an_index_that_lists_the_segment_seals_and_one_that_does_not_does_not() {
    let mut sandbox = LedgerSandbox::in_git();
    let git = sandbox.git.clone().unwrap();
    let (_, first) = sandbox.add();
    git.say(|said| {
        said.index = Some(Stat {
            len: 1,
            modified_ns: 1,
            inode: 1,
        });
    });
    let (_, second) = sandbox.add();
    assert_eq!(first.segments(), second.segments());
    let path = first.segments()[0].tree_path();
    git.say(|said| {
        said.index = Some(Stat {
            len: 2,
            modified_ns: 2,
            inode: 2,
        });
        said.listed = Some(BTreeSet::from([path]));
    });
    let (_, third) = sandbox.add();
    assert_ne!(second.segments(), third.segments());
}

#[test]
fn an_index_nobody_can_read_seals() {
    let mut sandbox = LedgerSandbox::in_git();
    let (_, first) = sandbox.add();
    sandbox.git.as_ref().unwrap().say(|said| {
        said.index = Some(Stat {
            len: 1,
            modified_ns: 1,
            inode: 1,
        });
        said.listed = None;
    });
    let (_, second) = sandbox.add();
    assert_ne!(first.segments(), second.segments());
}

#[test]
fn a_removed_segment_is_not_brought_back_and_not_written_again() {
    let mut sandbox = LedgerSandbox::in_git();
    let (_, first) = sandbox.add();
    fs::remove_file(sandbox.segment(&first)).unwrap();
    let (b, second) = sandbox.add();
    assert_ne!(first.segments(), second.segments());
    assert_eq!(ledger_lines(&sandbox.open()), event_lines([&b]));
}

#[test]
fn a_segment_that_was_written_anew_by_somebody_is_left_alone() {
    let mut sandbox = LedgerSandbox::in_git();
    let (_, first) = sandbox.add();
    let path = sandbox.segment(&first);
    let bytes = fs::read(&path).unwrap();
    fs::write(path.with_extension("other"), &bytes).unwrap();
    fs::rename(path.with_extension("other"), &path).unwrap();
    let (_, second) = sandbox.add();
    assert_ne!(first.segments(), second.segments());
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_branch_change_tells_which_segments_came_along() {
    let mut sandbox = LedgerSandbox::in_git();
    let (_, first) = sandbox.add();
    sandbox.add();
    sandbox.git.as_ref().unwrap().say(|said| {
        said.token = "2".into();
        said.branch = "refs/heads/topic".into();
    });
    let notices = sandbox.open().heal();
    let along = LedgerNotice::SegmentCarriedOver {
        segment: first.segments()[0].clone(),
        written_on: "refs/heads/main".into(),
        now_on: "refs/heads/topic".into(),
        events: 2,
    };
    assert_eq!(notices, [along]);
    assert_eq!(sandbox.open().heal(), [], "told once");
}

#[test]
fn every_way_a_power_cut_can_leave_an_open_segment_is_mended_from_the_journal() {
    let mut sandbox = LedgerSandbox::in_git();
    let (a, appended) = sandbox.add();
    let (b, _) = sandbox.add();
    let path = sandbox.segment(&appended);
    let whole = fs::read(&path).unwrap();
    let mut boot = 0;
    let mut after_power_cut = |sandbox: &mut LedgerSandbox, left: &[u8]| {
        // Written in place, because a power cut does not change the inode.
        fs::write(&path, left).unwrap();
        boot += 1;
        sandbox.boot = Some(format!("boot {boot}"));
        // The restart seals the segment, so the state is restored for the next round.
        let state = fs::read(sandbox.path(".git/ken/open.json")).unwrap();
        let notices = sandbox.open().heal();
        assert_eq!(ledger_lines(&sandbox.open()), event_lines([&a, &b]));
        assert_eq!(has_healed(&notices), left != whole);
        let inode = sandbox.open().list().unwrap()[0].inode;
        let mut state: serde_json::Value = serde_json::from_slice(&state).unwrap();
        state["segments"][0]["inode"] = inode.into();
        fs::write(sandbox.path(".git/ken/open.json"), state.to_string()).unwrap();
    };
    for cut in 0..=whole.len() {
        after_power_cut(&mut sandbox, &whole[..cut]);
    }
    for start in (0..whole.len()).step_by(13) {
        let mut hurt = whole.clone();
        let end = (start + 64).min(whole.len());
        hurt[start..end].fill(0);
        after_power_cut(&mut sandbox, &hurt);
    }
}

#[test]
fn a_reader_that_finds_a_bad_line_in_an_open_segment_has_it_mended() {
    let mut sandbox = LedgerSandbox::in_git();
    let (a, appended) = sandbox.add();
    let path = sandbox.segment(&appended);
    let mut bytes = fs::read(&path).unwrap();
    let len = bytes.len();
    bytes[len - 20..].fill(0);
    fs::write(&path, bytes).unwrap();
    assert_eq!(ledger_lines(&sandbox.open()), event_lines([&a]));
}

#[test]
fn a_kill_between_journal_and_segment_loses_nothing() {
    let mut sandbox = LedgerSandbox::in_git();
    let (a, appended) = sandbox.add();
    let (b, _) = sandbox.add();
    let path = sandbox.segment(&appended);
    let len = a.line().len() as u64 + 1;
    fs::File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(len)
        .unwrap();
    let (c, third) = sandbox.add();
    assert!(has_healed(&third.notices));
    assert_eq!(ledger_lines(&sandbox.open()), event_lines([&a, &b, &c]));
}

#[test]
fn a_torn_journal_is_cut_and_never_glued() {
    let mut sandbox = LedgerSandbox::in_git();
    let (a, _) = sandbox.add();
    let journal = sandbox.path(".git/ken/journal/000001.jsonl");
    let whole = fs::read(&journal).unwrap();
    fs::write(
        &journal,
        [whole.as_slice(), b"refs/heads/main\t.\tsemantic/v1/20"].concat(),
    )
    .unwrap();
    let (b, second) = sandbox.add();
    assert!(matches!(
        second.notices[..],
        [LedgerNotice::TornTail {
            line: 2,
            bytes: 32,
            ..
        }]
    ));
    assert_eq!(ledger_lines(&sandbox.open()), event_lines([&a, &b]));
    let text = fs::read_to_string(&journal).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert_eq!(sandbox.add().1.notices, []);
}

#[test]
fn outside_git_every_torn_tail_is_put_aside_and_never_glued() {
    let mut sandbox = LedgerSandbox::plain();
    let (a, appended) = sandbox.add();
    let (torn, _) = sandbox.add();
    let path = sandbox.segment(&appended);
    let whole = fs::read(&path).unwrap();
    let first = a.line().len() + 1;
    for cut in first + 1..whole.len() - 1 {
        fs::write(&path, &whole[..cut]).unwrap();
        let before = fs::read(sandbox.path(".ken/.local/open.json")).unwrap();
        let (b, appended) = sandbox.add();
        assert!(
            matches!(
                appended.notices[..],
                [LedgerNotice::TornTail { line: 2, .. }]
            ),
            "cut at {cut}"
        );
        assert_eq!(ledger_lines(&sandbox.open()), event_lines([&a, &b]));
        fs::write(sandbox.path(".ken/.local/open.json"), before).unwrap();
    }
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let (c, _) = sandbox.add();
    assert_eq!(ledger_lines(&sandbox.open()), event_lines([&a, &torn, &c]));
}

#[test]
fn outside_git_garbage_after_a_power_cut_is_put_aside() {
    let mut sandbox = LedgerSandbox::plain();
    let (a, appended) = sandbox.add();
    let path = sandbox.segment(&appended);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [whole.as_slice(), &[0; 50], b"\n"].concat()).unwrap();
    assert!(
        sandbox.open().read(&appended.segments()[0]).is_ok(),
        "zeros are UTF-8"
    );
    sandbox.boot = Some("second boot".into());
    let notices = sandbox.open().heal();
    assert!(matches!(
        notices[..],
        [
            LedgerNotice::BytesMovedAside { line: 2, .. },
            LedgerNotice::SegmentRepaired { .. }
        ]
    ));
    assert_eq!(ledger_lines(&sandbox.open()), event_lines([&a]));
}

#[test]
fn a_copied_folder_gets_its_own_node_and_segment() {
    let mut sandbox = LedgerSandbox::in_git();
    let (_, first) = sandbox.add();
    let node = sandbox.open().node(&mut sandbox.ids).unwrap();
    let copy = sandbox.path("copy");
    fs::rename(sandbox.path(".git/ken/node"), &copy).unwrap();
    fs::copy(&copy, sandbox.path(".git/ken/node")).unwrap();
    let (_, second) = sandbox.add();
    assert!(second.notices.contains(&LedgerNotice::Copied));
    assert_ne!(first.segments(), second.segments());
    let new = sandbox.open().node(&mut sandbox.ids).unwrap();
    assert_ne!(node, new);
    assert_eq!(new, sandbox.open().node(&mut sandbox.ids).unwrap());
}

#[test]
fn lost_local_state_is_said_and_begun_anew() {
    let mut sandbox = LedgerSandbox::in_git();
    let (a, first) = sandbox.add();
    fs::write(sandbox.path(".git/ken/open.json"), "{").unwrap();
    let (b, second) = sandbox.add();
    assert!(matches!(
        second.notices[..],
        [LedgerNotice::StateLost { .. }]
    ));
    assert_ne!(first.segments(), second.segments());
    assert_eq!(ledger_lines(&sandbox.open()), event_lines([&a, &b]));
}

#[cfg(unix)]
#[test]
fn a_link_under_the_ledger_is_refused_by_name() {
    let mut sandbox = LedgerSandbox::in_git();
    let (_, first) = sandbox.add();
    let link = sandbox.path(".ken/semantic/v1/2026-11-14t22-51-aaaaaa.jsonl");
    std::os::unix::fs::symlink(sandbox.segment(&first), &link).unwrap();
    let error = sandbox.open().list().unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("2026-11-14t22-51-aaaaaa.jsonl"), "{cause}");
    assert!(cause.contains("symbolic link"), "{cause}");
    fs::remove_file(&link).unwrap();
    let real = sandbox.path("elsewhere");
    fs::rename(sandbox.path(".ken/semantic"), &real).unwrap();
    std::os::unix::fs::symlink(&real, sandbox.path(".ken/semantic")).unwrap();
    assert!(sandbox.open().list().is_err());
    let event = sample::event(9);
    assert!(
        sandbox
            .open()
            .append(&[event], sample::start(), &mut sandbox.ids)
            .is_err()
    );
}

#[test]
fn eight_writers_at_once_lose_nothing() {
    let sandbox = LedgerSandbox::in_git();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let sandbox = &sandbox;
            scope.spawn(move || {
                let mut ids = CountingIds(u128::from(writer) << 32);
                for n in 0..25 {
                    let event = sample::event(writer * 1000 + n);
                    let ledger = sandbox.open();
                    ledger.append(&[event], sample::start(), &mut ids).unwrap();
                }
            });
        }
    });
    let expected: Vec<_> = (0..8)
        .flat_map(|w| (0..25).map(move |n| sample::event(w * 1000 + n)))
        .collect();
    assert_eq!(ledger_lines(&sandbox.open()), event_lines(&expected));
    assert_eq!(sandbox.open().list().unwrap().len(), 1);
}
