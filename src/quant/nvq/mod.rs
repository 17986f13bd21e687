//! Non-uniform quantization of vectors that are scored as they are: 8 or 4 bits per component, on levels that lie closer
//! where a vector has most of its components.
//!
//! A vector is cut into one or two parts. Each has an interval [lower, upper] and a growth; its components go
//! through a curve with the shape of a logistic function before they are rounded to equidistant levels, and back through
//! its inverse. The growth that loses least is found for each part ([`fit`](fit::fit)). Powers and logarithms are linear
//! between powers of two, made of the bits of a float: no transcendental function, and the same bytes everywhere.
//!
//! Rows stand for themselves: no mean of a segment is subtracted, so merges copy rows and nothing is lost again and
//! again. The curve bends around zero, or around the end of the interval that is nearest to it.
//!
//! Source: the quantizer of that name in JVector (Tepper and Willke, 2024), which subtracts a mean, keeps 28 bytes per part
//! and has no 4 bits.
//!
//! ```text
//! row
//!   9 x p  parts, 1 below 32 dimensions, else 2, the first one having ceil(dims / 2): lower f32 | upper f32 | growth u8,
//!          in tenths, 0..=200; 0: levels are equidistant
//!       .  levels: a byte per component; or of 4 bits, component 2i in the low half of byte i, 2i + 1 in its high one
//! ```

mod curve;
mod fit;
mod row;

#[cfg(test)]
mod tests;

pub use row::{NvqBits, append_row, read_row, row_len};
