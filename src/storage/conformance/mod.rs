//! What every backend must do, as one list of calls.
//!
//! No cfg and no test attribute: the same functions run natively and from tests inside browsers. A check panics with
//! what it saw. [`run_all`] is for backends that write, [`run_read_only`] for those that do not.

#![forbid(unsafe_code)]

mod fixture;
mod reading;
mod writing;

pub use fixture::{Fixture, Random};

use super::Storage;

/// Counts the checks of one run, so that a list that became empty does not pass.
#[derive(Debug, Default)]
pub struct Suite {
    ran: usize,
}

impl Suite {
    /// Notes a check that ran to its end.
    pub fn passed(&mut self) {
        self.ran += 1;
    }

    /// How many checks ran.
    ///
    /// # Panics
    /// If there were none: an empty suite proves nothing.
    pub fn finish(self) -> usize {
        assert!(self.ran > 0, "the conformance suite ran no check");
        self.ran
    }
}

/// Runs checks one after another: `checks!(suite, argument; module::name, ...)`.
macro_rules! checks {
    ($suite:ident, $argument:expr; $($check:path),+ $(,)?) => {
        $( $check($argument).await; $suite.passed(); )+
    };
}

/// Runs everything on a writable, empty storage. Returns the number of checks.
///
/// # Panics
/// At the first thing that is not as it must be.
pub async fn run_all<S: Storage>(storage: S) -> usize {
    let mut suite = Suite::default();
    checks!(suite, &storage;
        writing::starts_empty,
        writing::keeps_what_was_written,
        writing::joins_appends,
        writing::an_unfinished_file_is_not_there,
        writing::names_are_never_reused,
        writing::refuses_bad_names,
        writing::deletes,
        writing::slots_are_replaced_one_by_one,
        writing::one_writer_at_a_time,
        writing::more_files_than_handles,
        writing::reads_go_on_while_others_write,
    );
    let fixture = Fixture::new();
    fixture.write_to(&storage).await;
    let place = reading::Place { storage: &storage, fixture: &fixture };
    reads(&mut suite, &place).await;
    checks!(suite, &place;
        reading::lengths_on_record_are_compared,
    );
    suite.finish()
}

/// What every storage must do that holds the files of a fixture.
async fn reads<S: Storage>(suite: &mut Suite, place: &reading::Place<'_, S>) {
    checks!(suite, place;
        reading::tells_lengths,
        reading::reads_in_the_order_asked,
        reading::reads_random_batches,
        reading::reads_more_than_one_request,
        reading::refuses_ranges_outside,
        reading::misses_are_not_found,
        reading::prefetch_changes_no_bytes,
        reading::every_access_reads_the_same,
        reading::reads_in_parallel,
        reading::reads_through_a_cache,
        reading::slots_are_read,
    );
}

/// Runs what a read-only storage must do; it holds exactly the files of `fixture`. Returns the number of checks.
///
/// # Panics
/// At the first thing that is not as it must be.
pub async fn run_read_only<S: Storage>(storage: S, fixture: &Fixture) -> usize {
    let mut suite = Suite::default();
    let place = reading::Place { storage: &storage, fixture };
    reads(&mut suite, &place).await;
    checks!(suite, &place;
        reading::refuses_to_write,
    );
    suite.finish()
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
