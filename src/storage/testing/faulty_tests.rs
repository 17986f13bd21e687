//! Tests of [`super`].

use super::*;
use crate::{
    platform::block_on,
    storage::{Access, conformance},
};

async fn write(storage: &FaultyStorage, name: &str, bytes: &'static [u8]) -> Result<()> {
    let mut writer = storage.create(name).await?;
    writer.append(Bytes::from_static(bytes)).await?;
    writer.finish().await.map(drop)
}

async fn content(storage: &FaultyStorage, name: &str) -> Option<Bytes> {
    let file = storage.open(name, OpenOptions { access: Access::CHECK, len: None }).await.ok()?;
    file.read_ranges(&[0..file.len()]).await.ok()?.pop()
}

#[test]
fn without_faults_it_conforms() {
    block_on(conformance::run_all(FaultyStorage::new()));
}

#[test]
fn damages_are_what_they_are_called() {
    let bytes = Bytes::from_static(b"abcd");
    assert_eq!(Damage::Deleted.apply(&bytes, 1), None);
    assert_eq!(Damage::Zeroed.apply(&bytes, 1).as_deref(), Some(&[0; 4][..]));
    assert_eq!(Damage::Halved.apply(&bytes, 1).as_deref(), Some(&b"ab"[..]));
    assert_eq!(Damage::Unchanged.apply(&bytes, 1).as_ref(), Some(&bytes));
    assert_eq!(Damage::Emptied.apply(&bytes, 1).as_deref(), Some(&b""[..]));
    for seed in 0..50 {
        let flipped = Damage::BitFlipped.apply(&bytes, seed).expect("there");
        let bits: u32 = flipped.iter().zip(&bytes).map(|(now, before)| (now ^ before).count_ones()).sum();
        assert_eq!(bits, 1, "seed {seed}");
    }
}

#[test]
fn a_crash_damages_what_was_not_flushed_and_nothing_else() {
    for damage in Damage::ALL {
        for crash_at_write in 1..=8 {
            let storage = FaultyStorage::new();
            storage.set_faults(Faults { crash_at_write: Some(crash_at_write), ..Faults::default() });
            let work = async {
                write(&storage, "a", b"aaaa").await?;
                storage.write_slot(CommitSlot::A, Bytes::from_static(b"slot")).await?;
                write(&storage, "b", b"bbbb").await?;
                storage.delete("a").await
            };
            assert!(block_on(work).is_err(), "write {crash_at_write}");
            assert!(storage.has_crashed());
            assert_eq!(block_on(storage.list()).expect_err("stopped").kind(), ErrorKind::Io);

            let next = storage.reopen(damage, 7);
            let (a, b) = block_on(async { (content(&next, "a").await, content(&next, "b").await) });
            let slot = block_on(next.read_slot(CommitSlot::A)).expect("read");
            let place = format!("{damage:?} at write {crash_at_write}");
            if crash_at_write > 3 && crash_at_write < 8 {
                assert_eq!(a.as_deref(), Some(&b"aaaa"[..]), "flushed: {place}");
            }
            if crash_at_write > 4 {
                assert_eq!(slot.as_deref(), Some(&b"slot"[..]), "flushed: {place}");
            } else if crash_at_write < 4 {
                assert_eq!(slot, None, "never begun: {place}");
            } else {
                assert_eq!(slot, damage.apply(&Bytes::from_static(b"slot"), 7), "{place}");
            }
            if crash_at_write == 6 || crash_at_write == 7 {
                assert_eq!(b, damage.apply(&Bytes::from_static(b"bbbb"), 7), "{place}");
            }
            if crash_at_write == 8 {
                assert_eq!(b.as_deref(), Some(&b"bbbb"[..]), "flushed: {place}");
                assert_eq!(a.is_some(), damage == Damage::Unchanged, "a removal that may be undone: {place}");
            }
        }
    }
}

#[test]
fn the_nth_call_fails_once() {
    let storage = FaultyStorage::new();
    storage.set_faults(Faults { fail_write: Some(2), fail_read: Some(2), ..Faults::default() });
    block_on(async {
        assert_eq!(write(&storage, "a", b"aaaa").await.expect_err("write 2").kind(), ErrorKind::Io);
        write(&storage, "a", b"aaaa").await.expect("later ones work");
        storage.list().await.expect("read 1");
        assert_eq!(storage.list().await.expect_err("read 2").kind(), ErrorKind::Network);
        assert_eq!(content(&storage, "a").await.as_deref(), Some(&b"aaaa"[..]));
    });
}

#[test]
fn short_writes_and_quotas_leave_no_file() {
    let storage = FaultyStorage::new();
    storage.set_faults(Faults { short_write: Some(2), ..Faults::default() });
    block_on(async {
        let mut writer = storage.create("a").await.expect("create");
        assert_eq!(writer.append(Bytes::from_static(b"aaaa")).await.expect_err("short").kind(), ErrorKind::Io);
        assert_eq!(writer.append(Bytes::from_static(b"aaaa")).await.expect_err("closed").kind(), ErrorKind::Closed);
        assert_eq!(writer.finish().await.expect_err("closed").kind(), ErrorKind::Closed);

        storage.set_faults(Faults { quota_bytes: Some(6), ..Faults::default() });
        write(&storage, "b", b"bbbb").await.expect("fits");
        assert_eq!(write(&storage, "c", b"cccc").await.expect_err("full").kind(), ErrorKind::Quota);
        let slot = storage.write_slot(CommitSlot::A, Bytes::from_static(b"slot")).await;
        assert_eq!(slot.expect_err("full").kind(), ErrorKind::Quota);
        let names: Vec<_> = storage.list().await.expect("list").into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["b"]);
    });
}
