// score_flat: several queries against a chunk of stored rows; an upper bound of each score, as a sortable key.
//
// Twin:      src/gpu/twin/score_flat.rs (same name, same binding order)
// Dispatch:  x = ceil(num_rows / tile rows), y = ceil(num_queries / tile queries) workgroups of WG_SIZE;
//            tile rows = 4 * ROW_THREADS, tile queries = 4 * QUERY_THREADS, 1 invocation = 4 queries x 4 rows
// In:        params, queries      [num_queries x dims] f32
//                    query_norms  [num_queries] f32, Euclidean
//                    rows         [num_rows x row_words] u32 as stored: dims f32, then a checksum, which is skipped
//                    accept       [ceil(num_rows / 32)] u32, 1 bit per row: may it be returned
// Out:       keys [num_queries x key_stride] u32: 0 for rows not accepted, UNSURE_KEY for rows whose components
//            leave the range in which the bound below holds, else the sortable key of
//              cosine  (1 + s) / 2 + error_scale,                  s = 0 for a zero row
//              dot     (1 + s) / 2 + error_scale * (1 + |q| |r|)
//              L2      1 / (1 + d² (1 - error_scale)) * (1 + error_scale)
//            The CPU's score is at most that: error_scale covers the rounding of both sides.
// Invariant: QUERY_THREADS * ROW_THREADS == WG_SIZE; a slice of a tile fits SH_QUERIES and SH_ROWS.
// Sums run over the components in ascending order, one accumulator per pair; multiply-adds may be fused.
struct Params {
    num_queries: u32,
    num_rows: u32,
    dims: u32,
    row_words: u32,
    key_stride: u32,
    metric: u32,
    error_scale: f32,
    _pad: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> queries: array<f32>;
@group(0) @binding(2) var<storage, read> query_norms: array<f32>;
@group(0) @binding(3) var<storage, read> rows: array<u32>;
@group(0) @binding(4) var<storage, read> accept: array<u32>;
@group(0) @binding(5) var<storage, read_write> keys: array<u32>;

// Set from Rust (gpu::layout).
override WG_SIZE: u32 = 256u;
override QUERY_THREADS: u32 = 16u;
override ROW_THREADS: u32 = 16u;
override SLICE_DIMS: u32 = 16u;
override METRIC_COSINE: u32 = 0u;
override METRIC_L2: u32 = 2u;
// Rows with a component above this, or under cosine with none above its inverse, are left to the CPU.
override MAX_COMPONENT: f32 = 1e13;
override MIN_COMPONENT: f32 = 1e-13;

const MICRO: u32 = 4u;
const SH_QUERIES: u32 = 1024u;
const SH_ROWS: u32 = 2048u;
const MAGNITUDE_BITS: u32 = 0x7FFFFFFFu;
const UNSURE_KEY: u32 = 0xFFFFFFFFu;

// [SLICE_DIMS][tile queries] and [SLICE_DIMS][tile rows]
var<workgroup> sh_queries: array<f32, SH_QUERIES>;
var<workgroup> sh_rows: array<f32, SH_ROWS>;

fn sortable(score: f32) -> u32 {
    let bits = bitcast<u32>(score);
    return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}

fn upper_bound(sum: f32, query_norm: f32, row_square: f32) -> f32 {
    if params.metric == METRIC_L2 {
        return (1.0 + params.error_scale) / (1.0 + sum * (1.0 - params.error_scale));
    }
    let lengths = query_norm * sqrt(row_square);
    if params.metric == METRIC_COSINE {
        // Zero rows and a zero query have similarity 0.
        var cosine = 0.0;
        if lengths > 0.0 { cosine = clamp(sum / lengths, -1.0, 1.0); }
        return 0.5 + 0.5 * cosine + params.error_scale;
    }
    return 0.5 + 0.5 * sum + params.error_scale * (1.0 + lengths);
}

@compute @workgroup_size(WG_SIZE)
fn score_flat(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(local_invocation_index) local_ix: u32,
) {
    let tile_queries = MICRO * QUERY_THREADS;
    let tile_rows = MICRO * ROW_THREADS;
    let first_query = group_id.y * tile_queries;
    let first_row = group_id.x * tile_rows;
    // This invocation's 4 queries and 4 rows inside the tile.
    let query_at = MICRO * (local_ix / ROW_THREADS);
    let row_at = MICRO * (local_ix % ROW_THREADS);

    var sums: array<array<f32, MICRO>, MICRO>;
    var row_squares: array<f32, MICRO>;
    var magnitudes: array<u32, MICRO>;

    for (var base = 0u; base < params.dims; base += SLICE_DIMS) {
        for (var cell = local_ix; cell < tile_queries * SLICE_DIMS; cell += WG_SIZE) {
            let query_ix = first_query + cell / SLICE_DIMS;
            let dim = base + cell % SLICE_DIMS;
            var value = 0.0;
            if query_ix < params.num_queries && dim < params.dims {
                value = queries[query_ix * params.dims + dim];
            }
            sh_queries[(cell % SLICE_DIMS) * tile_queries + cell / SLICE_DIMS] = value;
        }
        for (var cell = local_ix; cell < tile_rows * SLICE_DIMS; cell += WG_SIZE) {
            let row_ix = first_row + cell / SLICE_DIMS;
            let dim = base + cell % SLICE_DIMS;
            var value = 0.0;
            if row_ix < params.num_rows && dim < params.dims {
                value = bitcast<f32>(rows[row_ix * params.row_words + dim]);
            }
            sh_rows[(cell % SLICE_DIMS) * tile_rows + cell / SLICE_DIMS] = value;
        }
        workgroupBarrier();
        for (var dim = 0u; dim < SLICE_DIMS; dim += 1u) {
            var query_values: array<f32, MICRO>;
            for (var i = 0u; i < MICRO; i += 1u) {
                query_values[i] = sh_queries[dim * tile_queries + query_at + i];
            }
            for (var j = 0u; j < MICRO; j += 1u) {
                let value = sh_rows[dim * tile_rows + row_at + j];
                row_squares[j] += value * value;
                magnitudes[j] = max(magnitudes[j], bitcast<u32>(value) & MAGNITUDE_BITS);
                for (var i = 0u; i < MICRO; i += 1u) {
                    if params.metric == METRIC_L2 {
                        let difference = query_values[i] - value;
                        sums[i][j] += difference * difference;
                    } else {
                        sums[i][j] += query_values[i] * value;
                    }
                }
            }
        }
        workgroupBarrier();
    }

    for (var j = 0u; j < MICRO; j += 1u) {
        let row_ix = first_row + row_at + j;
        if row_ix >= params.num_rows { continue; }
        let accepted = extractBits(accept[row_ix / 32u], row_ix % 32u, 1u) == 1u;
        let too_small = params.metric == METRIC_COSINE && magnitudes[j] != 0u
            && magnitudes[j] < bitcast<u32>(MIN_COMPONENT);
        let unsure = too_small || magnitudes[j] > bitcast<u32>(MAX_COMPONENT);
        for (var i = 0u; i < MICRO; i += 1u) {
            let query_ix = first_query + query_at + i;
            if query_ix >= params.num_queries { continue; }
            let key = sortable(upper_bound(sums[i][j], query_norms[query_ix], row_squares[j]));
            keys[query_ix * params.key_stride + row_ix] = select(0u, select(key, UNSURE_KEY, unsure), accepted);
        }
    }
}
