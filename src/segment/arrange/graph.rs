//! The graph over the vectors of a segment, where the field has one: built when all rows are written, out of a copy of
//! them in fixed point. A merge builds it anew.

use super::{RowSource, cells::Streams};
use crate::{
    distance::fixed::FixedRows,
    error::Result,
    graph::{
        GraphBuilder, GraphMeta, GraphOptions, GraphStream, Walk, WalkOptions,
        cells::{Calibration, CellStream, FixedScale, Recorder, Trial},
    },
    storage::Storage,
};

/// Rows for the graph, in the order of the file.
#[derive(Debug)]
pub(super) struct GraphParts {
    options: GraphOptions,
    scale: FixedScale,
    rows: FixedRows,
    cell_starts: Vec<u32>,
    group_starts: Vec<u32>,
}

/// A graph, not yet written.
pub(super) struct Graph {
    pub(super) meta: GraphMeta,
    pub(super) adjacency: Vec<u8>,
}

impl GraphParts {
    /// For `count` vectors of `dims` components.
    pub(super) fn new(degree: u16, dims: usize, count: u64, scale: FixedScale) -> Self {
        let options = GraphOptions { degree: degree.into(), ..GraphOptions::default() };
        let rows = FixedRows::with_capacity(dims, usize::try_from(count).unwrap_or(usize::MAX));
        Self { options, scale, rows, cell_starts: vec![0], group_starts: vec![0] }
    }

    /// Takes a group: its vectors, and where its cells start and end among them.
    pub(super) fn add_group(&mut self, values: &[f32], starts: &[u32]) {
        let first = self.rows.len() as u32;
        values.chunks_exact(self.rows.dims()).for_each(|vector| self.scale.push(vector, &mut self.rows));
        self.cell_starts.extend(starts[1..].iter().map(|start| first + start));
        self.group_starts.push(self.cell_starts.len() as u32 - 1);
    }

    /// Builds the graph.
    pub(super) async fn build<R: RowSource>(self, held: usize, source: &mut R) -> Result<Graph> {
        let (count, dims, degree) = (self.rows.len() as u64, self.rows.dims() as u32, self.options.degree);
        source.account(held + GraphBuilder::memory_bytes(count, dims, degree) as usize);
        let mut builder = GraphBuilder::new(self.rows, self.cell_starts, self.group_starts, self.options);
        while builder.step() {
            source.turn().await?;
        }
        let (meta, adjacency) = builder.finish();
        Ok(Graph { meta, adjacency })
    }
}

impl Graph {
    /// What walks find of the `neighbours` of `queries`, both by ordinal.
    pub(super) async fn measure<S: Storage, R: RowSource>(
        &self,
        streams: &Streams<'_, S>,
        queries: &[Vec<f32>],
        neighbours: &[Vec<u32>],
        source: &mut R,
    ) -> Result<Calibration> {
        let cells = streams.writer.meta();
        let mut recorder = Recorder::of_walks(cells);
        for (query_ix, (query, neighbours)) in queries.iter().zip(neighbours).enumerate() {
            for stage in 0..recorder.probes().len() {
                let options = WalkOptions { breadth: recorder.probes()[stage], ..WalkOptions::default() };
                let mut walk = Walk::reproducible(&self.meta, cells, query, options);
                let mut trial = Trial::new(neighbours, cells.count());
                while !walk.is_done() {
                    let (stream, wanted) = walk.wanted();
                    let blocks = match stream {
                        GraphStream::Cells(CellStream::Centers) => streams.centers.read(wanted).await?,
                        GraphStream::Cells(CellStream::Codes) => streams.codes.read(wanted).await?,
                        GraphStream::Adjacency => {
                            let part = |range: &std::ops::Range<u64>| {
                                let part = &self.adjacency[range.start as usize..range.end as usize];
                                bytes::Bytes::copy_from_slice(part)
                            };
                            wanted.iter().map(part).collect()
                        }
                    };
                    walk.feed(&blocks, true, &mut trial)?;
                }
                recorder.record(query_ix, stage, &mut trial);
                source.turn().await?;
            }
        }
        Ok(recorder.finish())
    }
}
