//! Kernels of product quantization: nearest of 256 centroids, products with all of them, sums of table entries.
//!
//! A codebook of one subspace is `[components x 256]`, component by component, so that all loops run over centroids
//! that lie next to each other. They are written once, in a form compilers vectorise without reordering an addition:
//! every target adds in the same order, so codes are the same everywhere. On x86-64 they are compiled a second time with
//! AVX2 (not FMA, which rounds otherwise). Sums of table entries stay scalar: gathers of AVX2 load one by one as well.

/// Centroids of a subspace: what a byte can name.
pub const CENTROIDS: usize = 256;
/// Centroids compared at a time: their sums stay in registers.
const BLOCK: usize = 32;
/// Independent sums of a row.
const CHAINS: usize = 4;

/// Calls a body compiled for AVX2 where there is AVX2.
macro_rules! dispatch {
    ($body:ident, $function:ident($($argument:expr),*)) => {{
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: avx2 was detected on this CPU just above.
            unsafe { x86::$function($($argument),*) };
            return;
        }
        $body($($argument),*);
    }};
}

/// Squared distances of `value`, `[components]`, to the centroids of `codebook`, `[components x 256]`.
///
/// # Panics
/// If a length does not fit; so do the other functions of this file.
pub fn centroid_distances(value: &[f32], codebook: &[f32], out: &mut [f32; CENTROIDS]) {
    assert_eq!(codebook.len(), value.len() * CENTROIDS, "centroids of as many components");
    dispatch!(distances_body, centroid_distances(value, codebook, out));
}

/// Dot products of `value`, `[components]`, with the centroids of `codebook`.
pub fn centroid_dots(value: &[f32], codebook: &[f32], out: &mut [f32; CENTROIDS]) {
    assert_eq!(codebook.len(), value.len() * CENTROIDS, "centroids of as many components");
    dispatch!(dots_body, centroid_dots(value, codebook, out));
}

/// Number of the smallest of `values`, the first one of equal ones; 0 if none is finite.
pub fn smallest(values: &[f32; CENTROIDS]) -> u8 {
    let mut least = [f32::INFINITY; 8];
    for chunk in values.as_chunks::<8>().0 {
        for (least, &value) in least.iter_mut().zip(chunk) {
            *least = if value < *least { value } else { *least };
        }
    }
    let least = least.into_iter().fold(f32::INFINITY, |a, b| if b < a { b } else { a });
    values.iter().position(|&value| value == least).unwrap_or(0) as u8
}

/// Sums of table entries: per row of `rows`, `[out x subspaces]`, the entries of `table`, `[subspaces x 256]`, that its
/// bytes name.
pub fn table_sums(table: &[f32], rows: &[u8], out: &mut [f32]) {
    let (table, rest) = table.as_chunks::<CENTROIDS>();
    assert!(rest.is_empty() && rows.len() == out.len() * table.len(), "a byte per subspace");
    if table.is_empty() {
        out.fill(0.0);
        return;
    }
    for (row, out) in rows.chunks_exact(table.len()).zip(out) {
        let mut sums = [0.0f32; CHAINS];
        let (tables, last_tables) = table.as_chunks::<CHAINS>();
        let (codes, last_codes) = row.as_chunks::<CHAINS>();
        for (tables, codes) in tables.iter().zip(codes) {
            for chain in 0..CHAINS {
                sums[chain] += tables[chain][usize::from(codes[chain])];
            }
        }
        for ((sum, table), &code) in sums.iter_mut().zip(last_tables).zip(last_codes) {
            *sum += table[usize::from(code)];
        }
        *out = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}

#[inline(always)]
fn fold_centroids(value: &[f32], codebook: &[f32], out: &mut [f32; CENTROIDS], term: impl Fn(f32, f32) -> f32) {
    for (block, out) in out.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
        let mut sums = [0.0f32; BLOCK];
        for (&value, centroids) in value.iter().zip(codebook.as_chunks::<CENTROIDS>().0) {
            let centroids: &[f32; BLOCK] = &centroids.as_chunks::<BLOCK>().0[block];
            for (sum, &centroid) in sums.iter_mut().zip(centroids) {
                *sum += term(value, centroid);
            }
        }
        *out = sums;
    }
}

#[inline(always)]
fn distances_body(value: &[f32], codebook: &[f32], out: &mut [f32; CENTROIDS]) {
    fold_centroids(value, codebook, out, |value, centroid| (value - centroid) * (value - centroid));
}

#[inline(always)]
fn dots_body(value: &[f32], codebook: &[f32], out: &mut [f32; CENTROIDS]) {
    fold_centroids(value, codebook, out, |value, centroid| value * centroid);
}

/// The same loops for x86-64 with AVX2.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::CENTROIDS;

    #[target_feature(enable = "avx2")]
    pub(super) fn centroid_distances(value: &[f32], codebook: &[f32], out: &mut [f32; CENTROIDS]) {
        super::distances_body(value, codebook, out);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn centroid_dots(value: &[f32], codebook: &[f32], out: &mut [f32; CENTROIDS]) {
        super::dots_body(value, codebook, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_set_gives_the_same_bits_near_the_plain_sums() {
        let mut rng = fastrand::Rng::with_seed(21);
        for width in (0..=130).chain([300, 384]) {
            let value: Vec<f32> = (0..width).map(|_| rng.f32() * 2.0 - 1.0).collect();
            let codebook: Vec<f32> = (0..width * CENTROIDS).map(|_| rng.f32() * 2.0 - 1.0).collect();
            for is_dot in [false, true] {
                let (mut own, mut twin) = ([1.0; CENTROIDS], [2.0; CENTROIDS]);
                if is_dot {
                    centroid_dots(&value, &codebook, &mut own);
                    dots_body(&value, &codebook, &mut twin);
                } else {
                    centroid_distances(&value, &codebook, &mut own);
                    distances_body(&value, &codebook, &mut twin);
                }
                assert_eq!(own, twin, "{width}");
                for (centroid, &own) in own.iter().enumerate() {
                    let terms = value.iter().enumerate().map(|(ix, &a)| {
                        let (a, b) = (f64::from(a), f64::from(codebook[ix * CENTROIDS + centroid]));
                        if is_dot { a * b } else { (a - b) * (a - b) }
                    });
                    let plain: f64 = terms.sum();
                    // One rounding of a partial sum per component.
                    assert!((f64::from(own) - plain).abs() <= 1e-6 * (1.0 + width as f64), "{width} {centroid}");
                }
            }
        }
    }

    #[test]
    fn sums_of_entries_equal_plain_ones() {
        let mut rng = fastrand::Rng::with_seed(22);
        for subspaces in (0..=130).chain([192, 512]) {
            let table: Vec<f32> = (0..subspaces * CENTROIDS).map(|_| rng.f32() - 0.5).collect();
            let rows: Vec<u8> = (0..subspaces * 5).map(|_| rng.u8(..)).collect();
            let mut out = [7.0; 5];
            table_sums(&table, &rows, &mut out);
            for (row, &sum) in rows.chunks(subspaces.max(1)).zip(&out) {
                let entry = |(ix, &code): (usize, &u8)| f64::from(table[ix * CENTROIDS + usize::from(code)]);
                let plain: f64 = row.iter().enumerate().map(entry).sum();
                assert!((f64::from(sum) - plain).abs() <= 1e-6 * (1.0 + subspaces as f64), "{subspaces}");
            }
            assert!(subspaces > 0 || out == [0.0; 5]);
        }
    }

    #[test]
    fn the_first_of_the_smallest_wins_and_nothing_finite_is_zero() {
        let mut values = [3.0; CENTROIDS];
        (values[200], values[91]) = (1.0, 1.0);
        assert_eq!(smallest(&values), 91);
        assert_eq!(smallest(&[f32::INFINITY; CENTROIDS]), 0);
        assert_eq!(smallest(&[f32::NAN; CENTROIDS]), 0);
        (values[91], values[255]) = (f32::NAN, -2.0);
        assert_eq!(smallest(&values), 255);
    }
}
