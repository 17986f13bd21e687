//! Peak memory of a merge follows its budget, not the index: measured at the allocator. A file of its own, since the
//! allocator counts whatever else the process does.

#![cfg(not(target_arch = "wasm32"))]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use rangefind::{
    engine::{Cancel, DocumentBatch, FieldVectors, Index, MergeOptions, OpenOptions, no_progress},
    platform::block_on,
    schema::Schema,
    storage::local::{LocalOptions, LocalStorage},
};
use serde_json::json;

/// Counts bytes in use and the most there were.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    let now = IN_USE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call goes to the system allocator with the arguments given; only counters are added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from `alloc` with this layout, as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const DIMS: usize = 224;
const SEGMENTS: u64 = 4;
const DOCS: u64 = 4000;
const BUDGET: u64 = 5 << 19;

#[test]
fn the_peak_of_a_merge_follows_its_budget() {
    block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let storage = LocalStorage::new(directory.path(), LocalOptions::default());
        let schema = json!({ "title": "text", "tag": "keyword", "year": "integer",
            "embedding": { "type": "vector", "dims": DIMS } });
        let options = OpenOptions {
            schema: Some(Schema::from_json(&schema).unwrap()),
            auto_merge: false,
            grace_millis: 0,
            cache_bytes: 1 << 20,
            ..OpenOptions::default()
        };
        let index = Index::open(storage, options).await.unwrap();
        let mut random = fastrand::Rng::with_seed(7);
        for segment in 0..SEGMENTS {
            let docs = (0..DOCS).map(|nth| {
                let id = segment * DOCS + nth;
                let words: Vec<String> = (0..12).map(|_| format!("w{}", random.u32(..5000))).collect();
                json!({ "id": id, "title": words.join(" "), "tag": format!("t{}", id % 50), "year": id % 30 })
            });
            let docs = docs.collect();
            let values = (0..DOCS as usize * DIMS).map(|_| random.f32()).collect();
            let vectors = FieldVectors { field: "embedding".to_owned(), values, counts: None };
            index.add(DocumentBatch::from_values(docs).with_vectors(vectors)).await.unwrap();
            index.commit().await.unwrap();
        }
        let bytes = index.info().unwrap().bytes;
        assert!(bytes > 5 * BUDGET, "{bytes} bytes of index say nothing about a budget of {BUDGET}");
        let before = IN_USE.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let merge = MergeOptions { max_segments: Some(1), memory_bytes: BUDGET, ..MergeOptions::default() };
        let report = index.merge(merge, &no_progress, &Cancel::new()).await.unwrap();
        let peak = (PEAK.load(Ordering::Relaxed) - before) as u64;
        println!("index {bytes} bytes, budget {BUDGET}, peak {peak}, accounted {}", report.peak_memory_bytes);
        assert_eq!((report.num_segments, report.docs), (1, SEGMENTS * DOCS));
        assert!(report.peak_memory_bytes <= BUDGET, "{report:?}");
        // A quarter more for what is not buffers: futures, parsed metadata of the result, the allocator's rounding.
        assert!(peak <= BUDGET + BUDGET / 4, "peak {peak}, {report:?}");
    });
}
