//! Storage in a caller's object.

use bytes::Bytes;
use rangefind::{
    ErrorKind,
    storage::{CommitSlot, File, OpenOptions, Storage, Writer, js::JsStorage},
};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::support::{SEARCH, function, kind_of, map_store, pattern, set, unset, write_file};

async fn written(object: &JsValue) -> JsStorage {
    let storage = JsStorage::new(object.clone()).expect("a whole object");
    write_file(&storage, "a.seg", pattern(1, 10_000)).await;
    storage
}

#[wasm_bindgen_test]
async fn answers_may_be_values_or_promises() {
    for answer in ["x => x", "async x => x", "x => ({ then(resolve) { resolve(x) } })"] {
        let storage = written(&map_store(answer)).await;
        let file = storage.open("a.seg", SEARCH).await.expect(answer);
        let read = file.read_ranges(&[3..5, 9_000..10_000]).await.expect(answer);
        assert_eq!(read[1][..], pattern(1, 10_000)[9_000..]);
        storage.write_slot(CommitSlot::B, Bytes::from_static(b"commit")).await.expect(answer);
        assert_eq!(storage.read_slot(CommitSlot::B).await.expect(answer), Some(Bytes::from_static(b"commit")));
        assert_eq!(storage.read_slot(CommitSlot::A).await.expect(answer), None);
        assert_eq!(storage.list().await.expect(answer).len(), 2);
    }
}

#[wasm_bindgen_test]
async fn a_list_may_be_an_async_iterable() {
    let object = map_store("x => x");
    let storage = written(&object).await;
    set(
        &object,
        "list",
        function(
            "",
            "return (async function* () { yield { name: 'b.seg', size: 3 }; yield { name: '.git', size: 1 } })()",
        ),
    );
    let entries = storage.list().await.expect("lists");
    assert_eq!(entries.len(), 1, "names of others are left out");
    assert_eq!((entries[0].name.as_str(), entries[0].len), ("b.seg", 3));
}

#[wasm_bindgen_test]
async fn an_object_without_the_needed_functions_is_refused() {
    let object = map_store("x => x");
    unset(&object, "read");
    assert_eq!(kind_of(JsStorage::new(object)), ErrorKind::InvalidArgument);
    assert_eq!(kind_of(JsStorage::new(JsValue::NULL)), ErrorKind::InvalidArgument);
}

#[wasm_bindgen_test]
async fn an_object_without_writing_functions_is_read_only() {
    let object = map_store("x => x");
    written(&object).await;
    for name in ["create", "put", "delete", "list"] {
        unset(&object, name);
    }
    let storage = JsStorage::new(object).expect("enough for reading");
    assert_eq!(kind_of(storage.create("b.seg").await), ErrorKind::ReadOnly);
    assert_eq!(kind_of(storage.delete("a.seg").await), ErrorKind::ReadOnly);
    assert_eq!(kind_of(storage.write_slot(CommitSlot::A, Bytes::new()).await), ErrorKind::ReadOnly);
    assert_eq!(kind_of(storage.lock_writer(0).await), ErrorKind::ReadOnly);
    assert_eq!(kind_of(storage.list().await), ErrorKind::ReadOnly);
    storage.open("a.seg", SEARCH).await.expect("reading goes on");
}

#[wasm_bindgen_test]
async fn an_object_without_size_trusts_the_length_on_record() {
    let object = map_store("x => x");
    written(&object).await;
    unset(&object, "size");
    let storage = JsStorage::new(object).expect("enough");
    let file = storage.open("a.seg", OpenOptions { len: Some(10_000), ..SEARCH }).await.expect("trusted");
    assert_eq!(file.read_ranges(&[0..4]).await.expect("reads")[0][..], pattern(1, 4));
    assert!(storage.open("a.seg", SEARCH).await.is_err(), "no length is known");
}

#[wasm_bindgen_test]
async fn short_and_long_answers_are_refused() {
    for body in ["return new Uint8Array(length - 1)", "return new Uint8Array(length + 1)", "return 'text'", ""] {
        let object = map_store("x => x");
        written(&object).await;
        set(&object, "read", function("name, offset, length", body));
        let storage = JsStorage::new(object).expect("a whole object");
        let file = storage.open("a.seg", SEARCH).await.expect("open");
        assert_eq!(kind_of(file.read_ranges(&[0..100]).await), ErrorKind::Io, "{body}");
    }
}

#[wasm_bindgen_test]
async fn thrown_codes_and_names_are_kept() {
    for (thrown, kind) in [
        ("Object.assign(new Error('x'), { code: 'index_changed' })", ErrorKind::IndexChanged),
        ("new DOMException('x', 'QuotaExceededError')", ErrorKind::Quota),
        ("new DOMException('x', 'AbortError')", ErrorKind::Aborted),
        ("new TypeError('x')", ErrorKind::Io),
        ("'text'", ErrorKind::Io),
        ("undefined", ErrorKind::Io),
    ] {
        for form in [format!("throw {thrown}"), format!("return Promise.reject({thrown})")] {
            let object = map_store("x => x");
            set(&object, "create", function("name", &form));
            let storage = JsStorage::new(object).expect("a whole object");
            assert_eq!(kind_of(storage.create("b.seg").await), kind, "{form}");
        }
    }
}

#[wasm_bindgen_test]
async fn reads_that_nobody_waits_for_are_aborted() {
    let object = map_store("x => x");
    written(&object).await;
    set(
        &object,
        "read",
        function("name, offset, length, signal", "this.signal = signal; return new Promise(() => {})"),
    );
    let storage = JsStorage::new(object.clone()).expect("a whole object");
    let file = storage.open("a.seg", SEARCH).await.expect("open");
    {
        let range = [0..10];
        let read = std::pin::pin!(file.read_ranges(&range));
        let timeout = std::pin::pin!(rangefind::platform::sleep_millis(20));
        let outcome = futures_util::future::select(read, timeout).await;
        assert!(matches!(outcome, futures_util::future::Either::Right(_)), "the read never ends");
    }
    let signal = js_sys::Reflect::get(&object, &"signal".into()).expect("it was called");
    assert_eq!(js_sys::Reflect::get(&signal, &"aborted".into()), Ok(JsValue::TRUE));
}

#[wasm_bindgen_test]
async fn requests_in_flight_are_bounded() {
    let object = map_store("x => x");
    written(&object).await;
    let body = "this.now = (this.now ?? 0) + 1; this.most = Math.max(this.most ?? 0, this.now);
        return new Promise((resolve) => setTimeout(() => { this.now--; resolve(this.files.get(name).slice(offset, offset + length)) }, 5))";
    set(&object, "read", function("name, offset, length", body));
    let profile = function("", "return { inFlight: 3, gapBytes: 0 }").call0(&JsValue::UNDEFINED).expect("an object");
    set(&object, "profile", profile);
    let storage = JsStorage::new(object.clone()).expect("a whole object");
    let (a, b) =
        (storage.open("a.seg", SEARCH).await.expect("open"), storage.open("a.seg", SEARCH).await.expect("open"));
    let ranges: Vec<_> = (0..20u64).map(|at| at * 400..at * 400 + 4).collect();
    let (first, second) = futures_util::future::join(a.read_ranges(&ranges), b.read_ranges(&ranges)).await;
    assert_eq!(first.expect("reads"), second.expect("reads"));
    assert_eq!(js_sys::Reflect::get(&object, &"most".into()).ok().and_then(|most| most.as_f64()), Some(3.0));
}

#[wasm_bindgen_test]
async fn a_dropped_writer_is_aborted() {
    let object = map_store("x => x");
    set(
        &object,
        "create",
        function("name", "return { append() {}, finish() {}, abort: () => { this.aborted = name } }"),
    );
    let storage = JsStorage::new(object.clone()).expect("a whole object");
    let mut writer = storage.create("b.seg").await.expect("new");
    writer.append(Bytes::from_static(b"x")).await.expect("room");
    drop(writer);
    rangefind::platform::sleep_millis(10).await;
    let aborted = js_sys::Reflect::get(&object, &"aborted".into()).ok().and_then(|name| name.as_string());
    assert_eq!(aborted.as_deref(), Some("b.seg"));
}

#[wasm_bindgen_test]
async fn one_writer_at_a_time() {
    for with_lock in [true, false] {
        let object = map_store("x => x");
        if !with_lock {
            unset(&object, "lock");
        }
        let storage = JsStorage::new(object).expect("a whole object");
        let lock = storage.lock_writer(0).await.expect("free");
        assert_eq!(kind_of(storage.lock_writer(30).await), ErrorKind::Locked);
        drop(lock);
        drop(storage.lock_writer(200).await.expect("free again"));
    }
}
