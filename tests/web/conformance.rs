//! The conformance suite on the browser's backends, in a page and in a worker alike.

use rangefind::storage::{AnyStorage, conformance::run_all, js::JsStorage, opfs::OpfsOptions};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::support::{fresh_opfs, map_store};

#[wasm_bindgen_test]
async fn opfs_conforms() {
    run_all(fresh_opfs(OpfsOptions::default()).await).await;
}

#[wasm_bindgen_test]
async fn opfs_conforms_by_slices_alone() {
    run_all(fresh_opfs(OpfsOptions { slices_only: true, ..OpfsOptions::default() }).await).await;
}

#[wasm_bindgen_test]
async fn js_objects_conform() {
    for answer in ["x => x", "async x => x"] {
        run_all(JsStorage::new(map_store(answer)).expect("a whole object")).await;
    }
}

#[wasm_bindgen_test]
async fn the_enum_of_all_backends_conforms() {
    run_all(AnyStorage::from(fresh_opfs(OpfsOptions::default()).await)).await;
}
