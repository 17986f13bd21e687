//! Suite `storage`: what prefetching and access per handle are worth, in virtual time.
//!
//! Times are those of a modelled link (see `rangefind::storage::testing::latency`): the same on every machine. What the
//! processor does is not in them, except where a note says so.

mod merge_access;
mod rescore;
mod vectors;

use crate::{Effort, report::Row};

/// Suite `rescore`: the exact scores of a shortlist alone.
pub fn rescore(effort: Effort) -> Vec<Row> {
    rescore::run(effort)
}

pub fn run(effort: Effort) -> Vec<Row> {
    let mut rows = rescore::run(effort);
    rows.extend(merge_access::run(effort));
    rows
}
