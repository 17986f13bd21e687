//! What the browser tests share: fresh directories, a store in a JavaScript object, short names for common steps.
#![allow(dead_code, reason = "each test target uses its own part")]

use bytes::Bytes;
use js_sys::{Function, Reflect};
use rangefind::{
    Error, ErrorKind,
    storage::{
        Access, OpenOptions, Storage, Writer,
        opfs::{OpfsOptions, OpfsStorage},
    },
};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// Opens for a search, trusting no length.
pub const SEARCH: OpenOptions = OpenOptions { access: Access::SEARCH, len: None };

/// A path no other test has.
pub fn fresh_path() -> String {
    format!("tests/{:016x}", getrandom::u64().expect("browsers have randomness"))
}

/// An empty directory of the private file system.
pub async fn fresh_opfs(options: OpfsOptions) -> OpfsStorage {
    OpfsStorage::open(&fresh_path(), options).await.expect("browsers have a private file system")
}

/// Writes a whole file.
pub async fn write_file<S: Storage>(storage: &S, name: &str, bytes: Vec<u8>) {
    let mut writer = storage.create(name).await.expect("a new file");
    writer.append(Bytes::from(bytes)).await.expect("room for it");
    writer.finish().await.expect("it is finished");
}

/// `len` bytes that differ from file to file.
pub fn pattern(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at as u32).wrapping_mul(2_654_435_761).to_le_bytes()[2] ^ seed).collect()
}

/// The error of a result that must be one.
#[track_caller]
pub fn kind_of<T>(result: Result<T, Error>) -> ErrorKind {
    match result {
        Ok(_) => panic!("an error was expected"),
        Err(error) => error.kind(),
    }
}

/// Evaluates the body of an async function.
pub async fn js(body: &str) -> JsValue {
    let function = Function::new_no_args(&format!("return (async () => {{ {body} }})()"));
    let promise = function.call0(&JsValue::UNDEFINED).expect("it parses");
    JsFuture::from(promise.unchecked_into::<js_sys::Promise>()).await.expect("it resolves")
}

/// A store in a `Map`, as a caller may write one. `answer` wraps every answer: `x => x` answers at once,
/// `async x => x` with promises.
pub fn map_store(answer: &str) -> JsValue {
    let body = format!(
        r#"
        const answer = {answer};
        const files = new Map();
        const held = {{ lock: false }};
        return {{
          files,
          label: "map",
          read: (name, offset, length) => {{
            if (!files.has(name)) throw Object.assign(new Error(name), {{ name: "NotFoundError" }});
            return answer(files.get(name).slice(offset, offset + length));
          }},
          get: (name) => answer(files.get(name)),
          size: (name) => answer(files.get(name)?.length),
          list: () => answer([...files].map(([name, bytes]) => ({{ name, size: bytes.length }}))),
          create: (name) => {{
            const parts = [];
            return answer({{
              append: (bytes) => answer(void parts.push(bytes)),
              finish: () => {{
                const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
                let at = 0;
                for (const part of parts) {{ whole.set(part, at); at += part.length; }}
                files.set(name, whole);
                return answer();
              }},
              abort: () => answer(),
            }});
          }},
          put: (name, bytes) => answer(void files.set(name, bytes)),
          delete: (name) => answer(void files.delete(name)),
          lock: async (wait) => {{
            const end = Date.now() + wait;
            while (held.lock) {{
              if (Date.now() >= end) return undefined;
              await new Promise((resolve) => setTimeout(resolve, 5));
            }}
            held.lock = true;
            return () => {{ held.lock = false; }};
          }},
        }};"#
    );
    Function::new_no_args(&body).call0(&JsValue::UNDEFINED).expect("it parses")
}

/// `object[name] = value`.
pub fn set(object: &JsValue, name: &str, value: impl Into<JsValue>) {
    Reflect::set(object, &name.into(), &value.into()).expect("a plain object");
}

/// Removes `object[name]`.
pub fn unset(object: &JsValue, name: &str) {
    Reflect::delete_property(object.unchecked_ref::<js_sys::Object>(), &name.into()).expect("a plain object");
}

/// A function with the given parameters and body.
pub fn function(parameters: &str, body: &str) -> Function {
    Function::new_with_args(parameters, body)
}
