//! Vector fields with cells: what is built, merged, reopened and asked, against brute force.
#![cfg(not(target_arch = "wasm32"))]

mod ask;
mod budgets;
mod demo;
mod generations;
mod npy;
mod reads;
mod recall;
mod rows;
mod second;
mod set;
mod sets;
