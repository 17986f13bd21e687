//! The shaders in Rust, loop for loop: what a device must reproduce. Written after the WGSL, not after the Rust
//! that computes the same on the CPU, which is a third, independent check.

mod score_flat;
mod select_top;

pub(super) use score_flat::score_flat;
pub(super) use select_top::select_top;
