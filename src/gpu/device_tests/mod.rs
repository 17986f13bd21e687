//! Tests on a real device: natively a software Vulkan driver will do. Without any device they skip and say so,
//! unless `RANGEFIND_REQUIRE_GPU=1` makes that an error.

mod compare;
mod kernels;
mod search;

use std::sync::OnceLock;

use crate::platform::block_on;

use super::device::{Adapter, Gpu};

/// A fresh device, or `None` with the reason printed.
fn open(budget_bytes: u64) -> Option<Gpu> {
    let opened = block_on(async { Adapter::find().await?.open(budget_bytes).await });
    match opened {
        Ok(gpu) => Some(gpu),
        Err(reason) => {
            assert!(std::env::var("RANGEFIND_REQUIRE_GPU").as_deref() != Ok("1"), "a device is required: {reason}");
            println!("skipped: {reason}");
            None
        }
    }
}

/// The device that tests share.
fn shared() -> Option<&'static Gpu> {
    static GPU: OnceLock<Option<Gpu>> = OnceLock::new();
    let gpu = GPU.get_or_init(|| open(64 << 20)).as_ref();
    if let Some(gpu) = gpu {
        println!("device: {}, software {}", gpu.name, gpu.name.is_software);
    }
    gpu
}
