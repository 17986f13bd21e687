// select_top: per query the k largest keys and their rows, sorted; ties go to the smaller row.
//
// Twin:      src/gpu/twin/select_top.rs (same name, same binding order)
// Dispatch:  num_queries workgroups of WG_SIZE, 1 workgroup = 1 query
// In:        params, keys [num_queries x key_stride] u32; key 0 is never selected
// Out:       top_keys, top_rows [num_queries x k] u32, descending key, then ascending row
//            counts [num_queries] u32: how many were selected, the rest of the lists is zero. More than k would
//            mean that a list ran over; the host checks it.
// Method:    bisection of the value range, 256 ways a pass: 4 passes over 8 bits each find the k-th key, then 4
//            more find the last row where only some of its equals are wanted. What passes is gathered and
//            sorted bitonically in workgroup memory.
// Invariant: k <= MAX_SELECT
struct Params {
    num_queries: u32,
    num_rows: u32,
    key_stride: u32,
    k: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> keys: array<u32>;
@group(0) @binding(2) var<storage, read_write> top_keys: array<u32>;
@group(0) @binding(3) var<storage, read_write> top_rows: array<u32>;
@group(0) @binding(4) var<storage, read_write> counts: array<u32>;

// Set from Rust (gpu::layout).
override WG_SIZE: u32 = 256u;

const MAX_SELECT: u32 = 1024u;
const NUM_BINS: u32 = 256u;
const DIGIT_BITS: u32 = 8u;
const NUM_PASSES: u32 = 4u;
const NO_ROW: u32 = 0xFFFFFFFFu;

var<workgroup> sh_bins: array<atomic<u32>, NUM_BINS>;
var<workgroup> sh_filled: atomic<u32>;
var<workgroup> sh_top_keys: array<u32, MAX_SELECT>;
var<workgroup> sh_top_rows: array<u32, MAX_SELECT>;
// Digits found so far, in their places.
var<workgroup> sh_prefix: u32;
// Entries still wanted among those that share the digits found.
var<workgroup> sh_wanted: u32;
// Entries that share them.
var<workgroup> sh_equals: u32;

fn clear_bins(local_ix: u32) {
    for (var bin = local_ix; bin < NUM_BINS; bin += WG_SIZE) {
        atomicStore(&sh_bins[bin], 0u);
    }
    workgroupBarrier();
}

// Finds the digit that holds the last wanted entry: from the largest down, or from the smallest up.
fn choose_digit(local_ix: u32, shift: u32, descending: bool) {
    workgroupBarrier();
    if local_ix == 0u {
        var wanted = sh_wanted;
        for (var step = 0u; step < NUM_BINS; step += 1u) {
            let digit = select(step, NUM_BINS - 1u - step, descending);
            let here = atomicLoad(&sh_bins[digit]);
            if wanted <= here {
                sh_prefix = sh_prefix | (digit << shift);
                sh_equals = here;
                break;
            }
            wanted -= here;
        }
        sh_wanted = wanted;
    }
    workgroupBarrier();
}

// Whether the digits of `value` above the one at `shift` are those found.
fn shares_prefix(value: u32, prefix: u32, shift: u32) -> bool {
    return shift + DIGIT_BITS >= 32u || ((value ^ prefix) >> (shift + DIGIT_BITS)) == 0u;
}

// Whether the entry at `a` comes behind the one at `b`.
fn is_behind(a: u32, b: u32) -> bool {
    return sh_top_keys[a] < sh_top_keys[b]
        || (sh_top_keys[a] == sh_top_keys[b] && sh_top_rows[a] > sh_top_rows[b]);
}

@compute @workgroup_size(WG_SIZE)
fn select_top(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(local_invocation_index) local_ix: u32,
) {
    let query_ix = group_id.x;
    let first = query_ix * params.key_stride;

    // How many there are to select from.
    if local_ix == 0u {
        atomicStore(&sh_filled, 0u);
        sh_prefix = 0u;
    }
    workgroupBarrier();
    for (var row_ix = local_ix; row_ix < params.num_rows; row_ix += WG_SIZE) {
        if keys[first + row_ix] != 0u { atomicAdd(&sh_filled, 1u); }
    }
    workgroupBarrier();
    if local_ix == 0u {
        sh_wanted = min(params.k, atomicLoad(&sh_filled));
        atomicStore(&sh_filled, 0u);
    }
    let num_selected = workgroupUniformLoad(&sh_wanted);

    // The k-th key.
    for (var pass_ix = 0u; pass_ix < NUM_PASSES; pass_ix += 1u) {
        let shift = 32u - DIGIT_BITS * (pass_ix + 1u);
        clear_bins(local_ix);
        let prefix = workgroupUniformLoad(&sh_prefix);
        for (var row_ix = local_ix; row_ix < params.num_rows; row_ix += WG_SIZE) {
            let key = keys[first + row_ix];
            if key != 0u && shares_prefix(key, prefix, shift) {
                atomicAdd(&sh_bins[extractBits(key, shift, DIGIT_BITS)], 1u);
            }
        }
        choose_digit(local_ix, shift, true);
    }
    let last_key = workgroupUniformLoad(&sh_prefix);

    // The last row among those of that key, where not all of them are wanted.
    let wanted_equals = workgroupUniformLoad(&sh_wanted);
    let all_equals = workgroupUniformLoad(&sh_equals);
    var last_row = NO_ROW;
    if wanted_equals < all_equals {
        if local_ix == 0u { sh_prefix = 0u; }
        workgroupBarrier();
        for (var pass_ix = 0u; pass_ix < NUM_PASSES; pass_ix += 1u) {
            let shift = 32u - DIGIT_BITS * (pass_ix + 1u);
            clear_bins(local_ix);
            let prefix = workgroupUniformLoad(&sh_prefix);
            for (var row_ix = local_ix; row_ix < params.num_rows; row_ix += WG_SIZE) {
                if keys[first + row_ix] == last_key && shares_prefix(row_ix, prefix, shift) {
                    atomicAdd(&sh_bins[extractBits(row_ix, shift, DIGIT_BITS)], 1u);
                }
            }
            choose_digit(local_ix, shift, false);
        }
        last_row = workgroupUniformLoad(&sh_prefix);
    }

    // Gather what passes; the places behind it sort last.
    for (var slot = local_ix; slot < MAX_SELECT; slot += WG_SIZE) {
        sh_top_keys[slot] = 0u;
        sh_top_rows[slot] = NO_ROW;
    }
    workgroupBarrier();
    if num_selected > 0u {
        for (var row_ix = local_ix; row_ix < params.num_rows; row_ix += WG_SIZE) {
            let key = keys[first + row_ix];
            if key > last_key || (key == last_key && row_ix <= last_row) {
                let slot = atomicAdd(&sh_filled, 1u);
                if slot < MAX_SELECT {
                    sh_top_keys[slot] = key;
                    sh_top_rows[slot] = row_ix;
                }
            }
        }
    }
    workgroupBarrier();

    // Bitonic sort of the first `sort_len` places.
    var sort_len = 1u;
    while sort_len < params.k { sort_len *= 2u; }
    for (var run = 2u; run <= sort_len; run *= 2u) {
        for (var gap = run / 2u; gap > 0u; gap /= 2u) {
            for (var pair_ix = local_ix; pair_ix < sort_len / 2u; pair_ix += WG_SIZE) {
                let low = 2u * gap * (pair_ix / gap) + pair_ix % gap;
                let high = low + gap;
                let forward = (low & run) == 0u;
                if is_behind(low, high) == forward {
                    let key = sh_top_keys[low];
                    let row = sh_top_rows[low];
                    sh_top_keys[low] = sh_top_keys[high];
                    sh_top_rows[low] = sh_top_rows[high];
                    sh_top_keys[high] = key;
                    sh_top_rows[high] = row;
                }
            }
            workgroupBarrier();
        }
    }

    for (var slot = local_ix; slot < params.k; slot += WG_SIZE) {
        let used = slot < num_selected;
        top_keys[query_ix * params.k + slot] = select(0u, sh_top_keys[slot], used);
        top_rows[query_ix * params.k + slot] = select(0u, sh_top_rows[slot], used);
    }
    if local_ix == 0u { counts[query_ix] = atomicLoad(&sh_filled); }
}
