//! The one writer of an index: an exclusive Web Lock. The browser releases it when its tab or worker ends, however
//! that happens.
#![forbid(unsafe_code)]

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use js_sys::{Array, Function, Object, Promise};
use wasm_bindgen::{JsCast, JsValue, closure::Closure};

use crate::{
    error::{Error, ErrorKind, Result},
    platform::{self, sleep_millis},
    storage::glue,
};

/// Held while one writer owns a directory; dropping it lets the next one in.
pub struct OpfsLock {
    /// Resolves the promise that keeps the lock.
    release: Function,
}

impl Drop for OpfsLock {
    fn drop(&mut self) {
        let _ = self.release.call0(&JsValue::UNDEFINED);
    }
}

/// Acquires the Web Lock `name`, waiting at most `wait_millis`.
///
/// # Errors
/// `locked`, with the browser's name of the holder; `io` where there are no Web Locks.
pub(super) async fn acquire(name: &str, label: &str, wait_millis: u32) -> Result<OpfsLock> {
    let locks = glue::get(&glue::global("navigator"), "locks");
    let request = glue::method(&locks, "request").ok_or_else(|| {
        Error::new(ErrorKind::Io, format!("{label}: this context has no Web Locks: writing needs a secure context"))
    })?;

    let options = Object::new();
    glue::set(&options, "mode", "exclusive");
    let mut abort = glue::AbortOnDrop::new();
    // A signal and ifAvailable exclude each other.
    if wait_millis == 0 {
        glue::set(&options, "ifAvailable", true);
    } else {
        glue::set(&options, "signal", abort.signal());
    }

    let (granted, grant) = oneshot::channel();
    let callback = Closure::once(move |lock: JsValue| -> JsValue {
        if lock.is_null() {
            let _ = granted.send(None);
            return JsValue::UNDEFINED;
        }
        let mut release = None;
        let held = Promise::new(&mut |resolve, _reject| release = Some(resolve));
        let release = release.expect("a promise calls its executor before it exists");
        // Nobody waits for the lock any more: the guard comes back and is dropped, which resolves the promise.
        let _ = granted.send(Some(OpfsLock { release }));
        held.into()
    });
    let args: Array = [name.into(), options.into(), callback.as_ref().clone()].into_iter().collect();
    let ended = request.apply(&locks, &args).map_err(|thrown| failed(&thrown, label))?;
    // The promise of the whole request rejects when it is aborted; it must be heard by someone.
    let (refused, refusal) = oneshot::channel();
    platform::spawn(async move {
        if let Err(thrown) = glue::settle(ended).await {
            let _ = refused.send(thrown);
        }
    });

    let timeout = std::pin::pin!(async {
        match wait_millis {
            0 => std::future::pending().await,
            millis => sleep_millis(millis).await,
        }
    });
    let outcome = match select(select(grant, refusal), timeout).await {
        Either::Left((Either::Left((grant, _)), _)) => Ok(grant.ok().flatten()),
        Either::Left((Either::Right((Ok(thrown), _)), _)) => Err(failed(&thrown, label)),
        // The request ended without a refusal before its grant was seen: as good as none.
        Either::Left((Either::Right((Err(_), _)), _)) | Either::Right(_) => Ok(None),
    };
    match outcome? {
        Some(lock) => {
            abort.disarm();
            Ok(lock)
        }
        None => {
            abort.abort();
            drop(callback);
            Err(held(&locks, name, label).await)
        }
    }
}

fn failed(thrown: &JsValue, label: &str) -> Error {
    glue::error_from(thrown, ErrorKind::Io, format!("{label}: writer lock"))
}

/// Says who holds the lock, as far as the browser tells.
async fn held(locks: &JsValue, name: &str, label: &str) -> Error {
    let holder = holder(locks, name).await.map(|client| format!(" (client {client})")).unwrap_or_default();
    let context = format!("{label}: another tab or worker of this site is writing{holder}");
    Error::new(ErrorKind::Locked, context)
}

async fn holder(locks: &JsValue, name: &str) -> Option<String> {
    let query = glue::method(locks, "query")?;
    let state = glue::call(&query, locks, &[]).await.ok()?;
    let held: Array = glue::get(&state, "held").dyn_into().ok()?;
    held.iter()
        .find(|lock| glue::get(lock, "name").as_string().as_deref() == Some(name))
        .and_then(|lock| glue::get(&lock, "clientId").as_string())
}
