//! Where vectors come from: the buffer of a builder, or the segments of a merge.

use std::future::Future;

use crate::{
    error::Result,
    platform::{MaybeSend, now_millis, yield_now},
    quant::pq::PqModel,
    vectors::ResidentRows,
};

/// Rows that are read front to back, more than once.
pub trait RowSource: MaybeSend {
    /// Vectors there are: exact where each document has one, else about.
    fn count(&self) -> u64;

    /// Starts over with one row in about `part`, chosen evenly.
    fn restart(&mut self, part: u32);

    /// Appends some rows with their checksums and their documents; `false` at the end.
    ///
    /// # Errors
    /// `corrupt`, `aborted`, storage's own.
    fn next(&mut self, rows: &mut Vec<u8>, docs: &mut Vec<u32>) -> impl Future<Output = Result<bool>> + MaybeSend;

    /// Gives way if it is time to.
    ///
    /// # Errors
    /// `aborted`.
    fn turn(&mut self) -> impl Future<Output = Result<()>> + MaybeSend;

    /// Notes how many bytes of buffers are held.
    fn account(&mut self, bytes: usize);

    /// A product quantizer that codes such vectors already, to start from.
    fn product_quantizer(&self) -> Option<&PqModel>;

    /// The rows by their number in the order of a reading of all, where they are in memory.
    fn resident(&self) -> Option<&ResidentRows>;
}

/// The buffer of a builder.
#[derive(Debug)]
pub(in crate::segment) struct BufferedRows {
    rows: ResidentRows,
    at: u32,
    part: u32,
    last_turn: f64,
}

/// Rows handed out at a time.
const STEP_ROWS: u32 = 1024;
/// How long a flush computes before it gives way to the event loop.
const TURN_MILLIS: f64 = 8.0;

impl BufferedRows {
    pub(in crate::segment) fn new(rows: ResidentRows) -> Self {
        Self { rows, at: 0, part: 1, last_turn: now_millis() }
    }
}

impl RowSource for BufferedRows {
    fn count(&self) -> u64 {
        self.rows.count().into()
    }

    fn restart(&mut self, part: u32) {
        (self.at, self.part) = (0, part.max(1));
    }

    async fn next(&mut self, rows: &mut Vec<u8>, docs: &mut Vec<u32>) -> Result<bool> {
        for _ in 0..STEP_ROWS {
            if self.at >= self.rows.count() {
                return Ok(false);
            }
            rows.extend_from_slice(self.rows.row(self.at));
            docs.push(self.rows.doc(self.at));
            self.at = self.at.saturating_add(self.part);
        }
        Ok(true)
    }

    async fn turn(&mut self) -> Result<()> {
        if now_millis() - self.last_turn >= TURN_MILLIS {
            yield_now().await;
            self.last_turn = now_millis();
        }
        Ok(())
    }

    fn account(&mut self, _bytes: usize) {}

    fn product_quantizer(&self) -> Option<&PqModel> {
        None
    }

    fn resident(&self) -> Option<&ResidentRows> {
        Some(&self.rows)
    }
}
