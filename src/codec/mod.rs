//! Bytes: checked little-endian reading and writing, variable-length integers, bit packing, checksums.
//!
//! Everything here is pure and synchronous. Reading goes through [`Reader`], which never reads past its end
//! and never panics: damaged bytes become a [`DecodeError`], and that becomes [`crate::Error`] of kind
//! `corrupt` with `?`. Writing goes through [`Write`], implemented for `Vec<u8>`.
//!
//! ```
//! use rangefind::codec::{Reader, Write};
//!
//! let mut out = Vec::new();
//! out.put_vint(300);
//! out.put_prefixed(b"bytes");
//! let mut reader = Reader::new(&out);
//! assert_eq!((reader.vint()?, reader.prefixed()?), (300, &b"bytes"[..]));
//! assert!(reader.vint().is_err(), "the end is an error, not a zero");
//! # Ok::<(), rangefind::Error>(())
//! ```
//!
//! | what | where |
//! |---|---|
//! | fixed width, VInt, VLong, zig-zag, VInt15, length-prefixed bytes | [`Reader`], [`Write`] |
//! | four integers behind one tag byte | [`group_varint`] |
//! | any number of integers of equal width, one after another | `pack` |
//! | 128 integers of equal width in four lanes (FOR) | [`bitpack`] |
//! | the same with up to 7 exceptions (PFOR) | [`pfor`] |
//! | reading those with the instruction set of this machine | [`Unpacker`] |
//! | CRC32C | [`checksum`] |
//! | names of the codecs of postings | [`PostingsCodec`] |

pub mod bitpack;
pub mod checksum;
mod error;
pub mod group_varint;
mod kind;
pub(crate) mod pack;
pub mod pfor;
mod read;
mod unpack;
#[cfg(target_arch = "x86_64")]
mod unpack_avx2;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod unpack_simd128;
mod write;

pub use error::DecodeError;
pub use kind::PostingsCodec;
pub use read::Reader;
pub use unpack::Unpacker;
pub use write::Write;
