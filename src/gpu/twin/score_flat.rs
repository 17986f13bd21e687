//! Twin of `shaders/score_flat.wgsl`.

use crate::gpu::layout::{
    MAX_COMPONENT, METRIC_COSINE, METRIC_L2, MICRO, MIN_COMPONENT, ScoreParams, Tile, UNSURE_KEY, WG_SIZE,
};

const SH_QUERIES: usize = 1024;
const SH_ROWS: usize = 2048;
const MICRO_LEN: usize = MICRO as usize;
const MAGNITUDE_BITS: u32 = 0x7FFF_FFFF;

fn sortable(score: f32) -> u32 {
    let bits = score.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 0x8000_0000 }
}

fn upper_bound(params: &ScoreParams, sum: f32, query_norm: f32, row_square: f32) -> f32 {
    if params.metric == METRIC_L2 {
        return (1.0 + params.error_scale) / (1.0 + sum * (1.0 - params.error_scale));
    }
    let lengths = query_norm * row_square.sqrt();
    if params.metric == METRIC_COSINE {
        let cosine = if lengths > 0.0 { (sum / lengths).clamp(-1.0, 1.0) } else { 0.0 };
        return 0.5 + 0.5 * cosine + params.error_scale;
    }
    0.5 + 0.5 * sum + params.error_scale * (1.0 + lengths)
}

/// Registers of one invocation.
#[derive(Clone, Copy, Default)]
struct Invocation {
    sums: [[f32; MICRO_LEN]; MICRO_LEN],
    row_squares: [f32; MICRO_LEN],
    magnitudes: [u32; MICRO_LEN],
}

#[expect(clippy::needless_range_loop, reason = "shaped like the shader")]
pub(in crate::gpu) fn score_flat(
    tile: Tile,
    params: &ScoreParams,
    queries: &[f32],
    query_norms: &[f32],
    rows: &[u32],
    accept: &[u32],
    keys: &mut [u32],
) {
    let tile_queries = tile.queries();
    let tile_rows = tile.rows();
    for group_y in 0..params.num_queries.div_ceil(tile_queries) {
        for group_x in 0..params.num_rows.div_ceil(tile_rows) {
            let first_query = group_y * tile_queries;
            let first_row = group_x * tile_rows;
            let mut sh_queries = [0.0f32; SH_QUERIES];
            let mut sh_rows = [0.0f32; SH_ROWS];
            let mut invocations = [Invocation::default(); WG_SIZE as usize];
            let mut base = 0;
            while base < params.dims {
                for cell in 0..tile_queries * tile.slice_dims {
                    let query_ix = first_query + cell / tile.slice_dims;
                    let dim = base + cell % tile.slice_dims;
                    let mut value = 0.0;
                    if query_ix < params.num_queries && dim < params.dims {
                        value = queries[(query_ix * params.dims + dim) as usize];
                    }
                    sh_queries[((cell % tile.slice_dims) * tile_queries + cell / tile.slice_dims) as usize] = value;
                }
                for cell in 0..tile_rows * tile.slice_dims {
                    let row_ix = first_row + cell / tile.slice_dims;
                    let dim = base + cell % tile.slice_dims;
                    let mut value = 0.0;
                    if row_ix < params.num_rows && dim < params.dims {
                        value = f32::from_bits(rows[(row_ix * params.row_words + dim) as usize]);
                    }
                    sh_rows[((cell % tile.slice_dims) * tile_rows + cell / tile.slice_dims) as usize] = value;
                }
                // workgroupBarrier
                for local_ix in 0..WG_SIZE {
                    let query_at = MICRO * (local_ix / tile.row_threads);
                    let row_at = MICRO * (local_ix % tile.row_threads);
                    let own = &mut invocations[local_ix as usize];
                    for dim in 0..tile.slice_dims {
                        let mut query_values = [0.0; MICRO_LEN];
                        for i in 0..MICRO_LEN {
                            query_values[i] = sh_queries[(dim * tile_queries + query_at) as usize + i];
                        }
                        for j in 0..MICRO_LEN {
                            let value = sh_rows[(dim * tile_rows + row_at) as usize + j];
                            own.row_squares[j] += value * value;
                            own.magnitudes[j] = own.magnitudes[j].max(value.to_bits() & MAGNITUDE_BITS);
                            for i in 0..MICRO_LEN {
                                if params.metric == METRIC_L2 {
                                    let difference = query_values[i] - value;
                                    own.sums[i][j] += difference * difference;
                                } else {
                                    own.sums[i][j] += query_values[i] * value;
                                }
                            }
                        }
                    }
                }
                // workgroupBarrier
                base += tile.slice_dims;
            }
            for local_ix in 0..WG_SIZE {
                let query_at = MICRO * (local_ix / tile.row_threads);
                let row_at = MICRO * (local_ix % tile.row_threads);
                let own = &invocations[local_ix as usize];
                for j in 0..MICRO {
                    let row_ix = first_row + row_at + j;
                    if row_ix >= params.num_rows {
                        continue;
                    }
                    let magnitude = own.magnitudes[j as usize];
                    let accepted = accept[row_ix as usize / 32] >> (row_ix % 32) & 1 == 1;
                    let too_small =
                        params.metric == METRIC_COSINE && magnitude != 0 && magnitude < MIN_COMPONENT.to_bits();
                    let unsure = too_small || magnitude > MAX_COMPONENT.to_bits();
                    for i in 0..MICRO {
                        let query_ix = first_query + query_at + i;
                        if query_ix >= params.num_queries {
                            continue;
                        }
                        let sum = own.sums[i as usize][j as usize];
                        let score =
                            upper_bound(params, sum, query_norms[query_ix as usize], own.row_squares[j as usize]);
                        keys[(query_ix * params.key_stride + row_ix) as usize] = match (accepted, unsure) {
                            (false, _) => 0,
                            (true, true) => UNSURE_KEY,
                            (true, false) => sortable(score),
                        };
                    }
                }
            }
        }
    }
}
