//! The entry to wgpu. In JavaScript hosts `navigator.gpu` is looked for first: wgpu panics where neither a window
//! nor a worker is, as in Node.

/// A wgpu instance; the error says in words why there is none.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn create() -> Result<wgpu::Instance, String> {
    let descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    Ok(wgpu::Instance::new(descriptor))
}

/// A wgpu instance; the error says in words why there is none.
#[cfg(target_arch = "wasm32")]
pub(super) fn create() -> Result<wgpu::Instance, String> {
    use js_sys::{Object, Reflect};
    use wasm_bindgen::JsValue;

    let global = js_sys::global();
    let get = |object: &JsValue, key: &str| {
        Reflect::get(object, &key.into()).ok().filter(|value| !value.is_undefined() && !value.is_null())
    };
    let navigator = get(&global, "navigator");
    if navigator.and_then(|navigator| get(&navigator, "gpu")).is_none() {
        return Err("no WebGPU in this runtime".to_owned());
    }
    // wgpu looks whether the global is a window or a worker. Hosts with a GPU that are neither (Node with Dawn)
    // get a stand-in for the moment it looks.
    const WORKER: &str = "WorkerGlobalScope";
    let lend = get(&global, "Window").is_none() && get(&global, WORKER).is_none();
    if lend && Reflect::set(&global, &WORKER.into(), &Object::new()) != Ok(true) {
        return Err("no WebGPU in this runtime".to_owned());
    }
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::BROWSER_WEBGPU,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    if lend {
        let _ = Reflect::delete_property(&global, &WORKER.into());
    }
    Ok(instance)
}
