//! The private file system, in a page and in a worker alike.

use bytes::Bytes;
use rangefind::{
    ErrorKind,
    storage::{
        CommitSlot, File, OpenOptions, Storage, Writer,
        opfs::{OpfsOptions, OpfsStorage},
    },
};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::support::{SEARCH, fresh_opfs, fresh_path, js, kind_of, pattern, write_file};

#[wasm_bindgen_test]
async fn a_written_file_reads_back() {
    let storage = fresh_opfs(OpfsOptions::default()).await;
    let bytes = pattern(1, 3 << 20);
    let mut writer = storage.create("a.seg").await.expect("new");
    for part in bytes.chunks(100_001) {
        writer.append(Bytes::copy_from_slice(part)).await.expect("room");
    }
    assert!(storage.list().await.expect("lists").is_empty(), "an unfinished file is not there");
    assert_eq!(kind_of(storage.open("a.seg", SEARCH).await), ErrorKind::NotFound);
    assert_eq!(writer.finish().await.expect("finished"), bytes.len() as u64);

    let file = storage.open("a.seg", OpenOptions { len: Some(bytes.len() as u64), ..SEARCH }).await.expect("open");
    let ranges = [5..5, 0..10, 1_000_000..2_500_000, 7..9, bytes.len() as u64 - 1..bytes.len() as u64];
    let read = file.read_ranges(&ranges).await.expect("reads");
    for (range, found) in ranges.iter().zip(&read) {
        assert_eq!(found[..], bytes[range.start as usize..range.end as usize], "{range:?}");
    }
    assert_eq!(kind_of(file.read_ranges(&[0..bytes.len() as u64 + 1]).await), ErrorKind::InvalidArgument);
    assert_eq!(kind_of(storage.open("a.seg", OpenOptions { len: Some(7), ..SEARCH }).await), ErrorKind::Corrupt);
    assert_eq!(kind_of(storage.create("a.seg").await), ErrorKind::InvalidArgument);
}

#[wasm_bindgen_test]
async fn a_dropped_writer_leaves_nothing() {
    let path = fresh_path();
    let storage = OpfsStorage::open(&path, OpfsOptions::default()).await.expect("open");
    let mut writer = storage.create("gone.seg").await.expect("new");
    writer.append(Bytes::from(pattern(2, 400_000))).await.expect("room");
    drop(writer);
    let count = format!(
        "let directory = await navigator.storage.getDirectory();
         for (const part of '{path}'.split('/')) directory = await directory.getDirectoryHandle(part);
         for (let tries = 0; tries < 50; tries++) {{
           const names = [];
           for await (const name of directory.keys()) names.push(name);
           if (names.length === 0) return 0;
           await new Promise((resolve) => setTimeout(resolve, 20));
         }}
         return 1;"
    );
    assert_eq!(js(&count).await.as_f64(), Some(0.0), "the hidden file goes too");
    write_file(&storage, "gone.seg", pattern(3, 10)).await;
}

#[wasm_bindgen_test]
async fn leftovers_of_a_killed_writer_are_swept_by_the_next_one() {
    let path = fresh_path();
    let storage = OpfsStorage::open(&path, OpfsOptions::default()).await.expect("open");
    let find = format!(
        "let directory = await navigator.storage.getDirectory();
         for (const part of '{path}'.split('/')) directory = await directory.getDirectoryHandle(part);"
    );
    js(&format!("{find} await directory.getFileHandle('x.seg~', {{ create: true }})")).await;
    let lock = storage.lock_writer(0).await.expect("free");
    let count = js(&format!("{find} let n = 0; for await (const name of directory.keys()) n++; return n")).await;
    assert_eq!(count.as_f64(), Some(0.0));
    drop(lock);
}

#[wasm_bindgen_test]
async fn slots_are_replaced_whole() {
    let storage = fresh_opfs(OpfsOptions::default()).await;
    assert!(storage.read_slot(CommitSlot::A).await.expect("reads").is_none());
    for len in [5000, 3, 0, 70_000] {
        let bytes = Bytes::from(pattern(len as u8, len));
        storage.write_slot(CommitSlot::A, bytes.clone()).await.expect("writes");
        assert_eq!(storage.read_slot(CommitSlot::A).await.expect("reads"), Some(bytes));
    }
    assert!(storage.read_slot(CommitSlot::B).await.expect("reads").is_none());
    let names: Vec<String> = storage.list().await.expect("lists").into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, [CommitSlot::A.file_name()]);
}

#[wasm_bindgen_test]
async fn one_writer_at_a_time() {
    let path = fresh_path();
    let [first, second] = [(); 2].map(|()| OpfsStorage::open(&path, OpfsOptions::default()));
    let (first, second) = (first.await.expect("open"), second.await.expect("open"));
    let lock = first.lock_writer(0).await.expect("free");
    let refused = second.lock_writer(0).await.err().expect("held");
    assert_eq!(refused.kind(), ErrorKind::Locked);
    assert_eq!(kind_of(second.lock_writer(60).await), ErrorKind::Locked);
    let waiting = second.lock_writer(5_000);
    let (lock, ()) = futures_util::future::join(waiting, async {
        rangefind::platform::sleep_millis(50).await;
        drop(lock);
    })
    .await;
    let lock = lock.expect("it was released");
    assert_eq!(kind_of(first.lock_writer(0).await), ErrorKind::Locked);
    drop(lock);
    // A request that gave up must not take the lock later.
    drop(first.lock_writer(1_000).await.expect("free again"));
}

#[wasm_bindgen_test]
async fn a_deleted_file_is_gone_for_its_readers_too() {
    let storage = fresh_opfs(OpfsOptions::default()).await;
    write_file(&storage, "a.seg", pattern(4, 100_000)).await;
    let file = storage.open("a.seg", SEARCH).await.expect("open");
    file.read_ranges(&[0..10]).await.expect("reads");
    storage.delete("a.seg").await.expect("deletes although it is open here");
    storage.delete("a.seg").await.expect("an absent file is no error");
    assert_eq!(kind_of(storage.open("a.seg", SEARCH).await), ErrorKind::NotFound);
    // Slices may still reach a snapshot; what they bring is right, or the file is gone.
    match file.read_ranges(&[0..10]).await {
        Ok(read) => assert_eq!(read[0][..], pattern(4, 100_000)[..10]),
        Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
    }
}

#[wasm_bindgen_test]
async fn directories_come_and_go() {
    let path = fresh_path();
    let absent = OpfsStorage::open(&path, OpfsOptions { create: false, ..OpfsOptions::default() }).await;
    assert_eq!(absent.err().expect("absent").kind(), ErrorKind::NotFound);
    let storage = OpfsStorage::open(&path, OpfsOptions::default()).await.expect("made");
    write_file(&storage, "a.seg", pattern(5, 10)).await;
    OpfsStorage::remove(&path).await.expect("removed");
    OpfsStorage::remove(&path).await.expect("an absent one is no error");
    assert_eq!(kind_of(OpfsStorage::open("..", OpfsOptions::default()).await), ErrorKind::InvalidArgument);
}
