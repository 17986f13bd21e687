//! What happens when an assertion of ours fails: the face hears of it before the instance traps.

use std::cell::RefCell;

use js_sys::Function;
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

thread_local! {
    static HANDLER: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Writes every panic of this instance to the console, with JavaScript's stack, and calls `handler(message)`. The
/// face rejects all calls in flight there: after the trap that follows, no promise of this instance is ever settled.
#[wasm_bindgen(js_name = onPanic)]
pub fn on_panic(handler: Function) {
    HANDLER.set(Some(handler));
    std::panic::set_hook(Box::new(|panic| {
        console_error_panic_hook::hook(panic);
        let message = panic.to_string();
        // A panic while the handler is borrowed is a second one: the first has been told.
        let handler = HANDLER.try_with(|handler| handler.try_borrow().ok()?.clone()).ok().flatten();
        if let Some(handler) = handler {
            let _ = handler.call1(&JsValue::UNDEFINED, &message.into());
        }
    }));
}

/// Panics if `query` is the one the tests of the face use for that. In published builds it does nothing.
pub(super) fn on_request(query: Option<&str>) {
    if cfg!(feature = "crash-test") && query == Some(CRASH_QUERY) {
        panic!("the query of the crash test");
    }
}

/// Nobody looks for this.
const CRASH_QUERY: &str = "\u{0}crash-test";
