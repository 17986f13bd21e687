//! Twin of `shaders/select_top.wgsl`.

use crate::gpu::layout::{MAX_SELECT, SelectParams};

const NUM_BINS: usize = 256;
const DIGIT_BITS: u32 = 8;
const NUM_PASSES: u32 = 4;
const NO_ROW: u32 = u32::MAX;

/// Workgroup memory.
struct Shared {
    bins: [u32; NUM_BINS],
    filled: u32,
    top_keys: [u32; MAX_SELECT as usize],
    top_rows: [u32; MAX_SELECT as usize],
    prefix: u32,
    wanted: u32,
    equals: u32,
}

fn choose_digit(sh: &mut Shared, shift: u32, descending: bool) {
    let mut wanted = sh.wanted;
    for step in 0..NUM_BINS {
        let digit = if descending { NUM_BINS - 1 - step } else { step };
        let here = sh.bins[digit];
        if wanted <= here {
            sh.prefix |= (digit as u32) << shift;
            sh.equals = here;
            break;
        }
        wanted -= here;
    }
    sh.wanted = wanted;
}

fn shares_prefix(value: u32, prefix: u32, shift: u32) -> bool {
    shift + DIGIT_BITS >= 32 || (value ^ prefix) >> (shift + DIGIT_BITS) == 0
}

fn digit(value: u32, shift: u32) -> usize {
    (value >> shift & 0xFF) as usize
}

fn is_behind(sh: &Shared, a: usize, b: usize) -> bool {
    sh.top_keys[a] < sh.top_keys[b] || (sh.top_keys[a] == sh.top_keys[b] && sh.top_rows[a] > sh.top_rows[b])
}

/// `top_keys`, `top_rows` and `counts` as the shader leaves them.
pub(in crate::gpu) fn select_top(
    params: &SelectParams,
    keys: &[u32],
    top_keys: &mut [u32],
    top_rows: &mut [u32],
    counts: &mut [u32],
) {
    for query_ix in 0..params.num_queries {
        let first = query_ix * params.key_stride;
        let key_of = |row_ix: u32| keys[(first + row_ix) as usize];
        let mut sh = Shared {
            bins: [0; NUM_BINS],
            filled: 0,
            top_keys: [0; MAX_SELECT as usize],
            top_rows: [NO_ROW; MAX_SELECT as usize],
            prefix: 0,
            wanted: 0,
            equals: 0,
        };
        for row_ix in 0..params.num_rows {
            if key_of(row_ix) != 0 {
                sh.filled += 1;
            }
        }
        sh.wanted = params.k.min(sh.filled);
        sh.filled = 0;
        let num_selected = sh.wanted;

        for pass_ix in 0..NUM_PASSES {
            let shift = 32 - DIGIT_BITS * (pass_ix + 1);
            sh.bins = [0; NUM_BINS];
            for row_ix in 0..params.num_rows {
                let key = key_of(row_ix);
                if key != 0 && shares_prefix(key, sh.prefix, shift) {
                    sh.bins[digit(key, shift)] += 1;
                }
            }
            choose_digit(&mut sh, shift, true);
        }
        let last_key = sh.prefix;

        let mut last_row = NO_ROW;
        if sh.wanted < sh.equals {
            sh.prefix = 0;
            for pass_ix in 0..NUM_PASSES {
                let shift = 32 - DIGIT_BITS * (pass_ix + 1);
                sh.bins = [0; NUM_BINS];
                for row_ix in 0..params.num_rows {
                    if key_of(row_ix) == last_key && shares_prefix(row_ix, sh.prefix, shift) {
                        sh.bins[digit(row_ix, shift)] += 1;
                    }
                }
                choose_digit(&mut sh, shift, false);
            }
            last_row = sh.prefix;
        }

        if num_selected > 0 {
            for row_ix in 0..params.num_rows {
                let key = key_of(row_ix);
                if key > last_key || (key == last_key && row_ix <= last_row) {
                    let slot = sh.filled as usize;
                    sh.filled += 1;
                    if slot < MAX_SELECT as usize {
                        sh.top_keys[slot] = key;
                        sh.top_rows[slot] = row_ix;
                    }
                }
            }
        }

        let mut sort_len = 1;
        while sort_len < params.k {
            sort_len *= 2;
        }
        let mut run = 2;
        while run <= sort_len {
            let mut gap = run / 2;
            while gap > 0 {
                for pair_ix in 0..sort_len / 2 {
                    let low = 2 * gap * (pair_ix / gap) + pair_ix % gap;
                    let (low_at, high_at) = (low as usize, (low + gap) as usize);
                    let forward = low & run == 0;
                    if is_behind(&sh, low_at, high_at) == forward {
                        sh.top_keys.swap(low_at, high_at);
                        sh.top_rows.swap(low_at, high_at);
                    }
                }
                gap /= 2;
            }
            run *= 2;
        }

        for slot in 0..params.k {
            let used = slot < num_selected;
            let at = (query_ix * params.k + slot) as usize;
            top_keys[at] = if used { sh.top_keys[slot as usize] } else { 0 };
            top_rows[at] = if used { sh.top_rows[slot as usize] } else { 0 };
        }
        counts[query_ix as usize] = sh.filled;
    }
}
