//! Queries: what a caller asks ([`request`]), the query tree, its parsers, weights and scorers.

pub mod request;
