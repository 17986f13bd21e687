//! Quantizers: a model trained per segment, codes per vector, a scorer per query, each apart and serialized.
//!
//! [`osq`] keeps 1, 2, 4 or 8 bits per component, [`pq`] a byte per group of components; [`nvq`]
//! rows stand for vectors where full precision is given up. A [`rotation`] makes vectors fit for codes of few bits. All arithmetic of models and codes runs in a fixed order without
//! fused operations, so that every platform writes the same bytes.
#![forbid(unsafe_code)]

pub mod nvq;
pub mod osq;
pub mod pq;
pub mod rotation;
