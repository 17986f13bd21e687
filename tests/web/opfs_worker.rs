//! The private file system where there are synchronous handles: few at a time, shared, and slices when refused.

use rangefind::{
    platform::sleep_millis,
    storage::{
        File, Storage,
        opfs::{OpfsOptions, OpfsStorage},
    },
};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::support::{SEARCH, fresh_opfs, fresh_path, js, pattern, write_file};

#[wasm_bindgen_test]
async fn a_hundred_files_share_sixty_four_handles() {
    let storage = fresh_opfs(OpfsOptions::default()).await;
    let mut files = Vec::new();
    for number in 0..100u8 {
        let name = format!("{number}.seg");
        write_file(&storage, &name, pattern(number, 1000 + usize::from(number))).await;
        files.push(storage.open(&name, SEARCH).await.expect("open"));
    }
    for round in 0..2 {
        for (number, file) in files.iter().enumerate() {
            let read = file.read_ranges(&[10..900]).await.expect("reads");
            assert_eq!(read[0][..], pattern(number as u8, 1000)[10..900], "file {number}, round {round}");
            assert!(!file.reads_slices(), "file {number} has a handle");
        }
    }
    let most = OpfsStorage::most_open_handles();
    assert_eq!(most, 64, "the bound was reached and kept");
}

#[wasm_bindgen_test]
async fn a_file_held_elsewhere_is_read_by_slices() {
    let path = fresh_path();
    let storage = OpfsStorage::open(&path, OpfsOptions::default()).await.expect("open");
    write_file(&storage, "a.seg", pattern(7, 50_000)).await;
    // As another worker's engine would in a browser without read-only handles.
    let held = js(&format!(
        "let directory = await navigator.storage.getDirectory();
         for (const part of '{path}'.split('/')) directory = await directory.getDirectoryHandle(part);
         return (await directory.getFileHandle('a.seg')).createSyncAccessHandle();"
    ))
    .await;
    let file = storage.open("a.seg", SEARCH).await.expect("opens without a lock");
    let read = file.read_ranges(&[100..200, 40_000..50_000]).await.expect("reads without a handle");
    assert_eq!(read[1][..], pattern(7, 50_000)[40_000..]);
    assert!(file.reads_slices());

    js_sys::Reflect::get(&held, &"close".into())
        .ok()
        .and_then(|close| js_sys::Function::from(close).call0(&held).ok())
        .expect("handles close");
    sleep_millis(1_100).await;
    file.read_ranges(&[0..1]).await.expect("reads");
    assert!(!file.reads_slices(), "the handle is taken once it is free");
}

#[wasm_bindgen_test]
async fn clones_and_further_openings_share_one_handle() {
    let path = fresh_path();
    let [first, second] = [(); 2].map(|()| OpfsStorage::open(&path, OpfsOptions::default()));
    let (first, second) = (first.await.expect("open"), second.await.expect("open"));
    write_file(&first, "a.seg", pattern(9, 9_000)).await;
    let (a, b) = (first.open("a.seg", SEARCH).await.expect("open"), second.open("a.seg", SEARCH).await.expect("open"));
    let range = [0..9_000];
    let (read_a, read_b) = futures_util::future::join(a.read_ranges(&range), b.read_ranges(&range)).await;
    assert_eq!(read_a.expect("reads"), read_b.expect("reads"));
    assert!(!a.reads_slices() && !b.reads_slices());
    drop(a);
    let read = b.read_ranges(&[8_999..9_000]).await.expect("the other one goes on");
    assert_eq!(read[0][..], pattern(9, 9_000)[8_999..]);
    drop(b);
    // Nothing holds the file any more: another context may write or remove it.
    OpfsStorage::remove(&path).await.expect("free");
}
