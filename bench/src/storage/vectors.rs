//! Synthetic vectors in cell order, and shortlists as a first phase over 1-bit codes gives them.
//!
//! Rows come from topics in a space of few dimensions, embedded into 384 with noise, as sentence vectors are. They lie in
//! the file as a recursive bisection of that space orders them: near rows are mostly near, as in the engine's cells, but not
//! all. A shortlist is what a probe of the best 128 cells gives under 1-bit codes, as in the engine's remote search.

use bytes::Bytes;
use rangefind::storage::conformance::Random;

pub const DIMS: usize = 384;
/// A row and its CRC32C beside it.
pub const ROW_BYTES: usize = DIMS * 4 + 4;
/// Dimensions in which rows really differ, and how many topics they gather around.
const LATENT_DIMS: usize = 16;
const TOPICS: usize = 400;
/// Spread of a topic's rows, and noise of a component beside an embedded one, both against topics of spread 1.
const TOPIC_SPREAD: f32 = 0.7;
const NOISE: f32 = 0.5;
/// Bisection ends at cells of about this many rows.
const CELL_ROWS: usize = 32;
/// Cells whose rows a query looks at.
const PROBES: usize = 128;

pub struct Vectors {
    /// Rows as the file holds them.
    pub file: Bytes,
    /// Sign bits as -1 and 1, row after row.
    signs: Vec<i8>,
    /// Sum of each cell's rows.
    centers: Vec<Vec<f32>>,
    count: usize,
}

/// Roughly normal, mean 0, variance 1: a sum of uniform numbers.
fn normal(random: &mut Random) -> f32 {
    let bits = random.next_u64();
    let sum: u64 = (0..4).map(|part| (bits >> (16 * part)) & 0xffff).sum();
    (sum as f32 / 65_536.0 - 2.0) * 1.732
}

fn noise(random: &mut Random, dims: usize) -> Vec<f32> {
    (0..dims).map(|_| normal(random)).collect()
}

fn mix(base: &[f32], noise: &[f32], weight: f32) -> Vec<f32> {
    base.iter().zip(noise).map(|(base, noise)| base + weight * noise).collect()
}

/// Orders points so that near ones are near: halves them at the median of the widest dimension, again and again.
fn bisect(points: &mut [Vec<f32>]) {
    if points.len() <= CELL_ROWS {
        return;
    }
    let variance = |dim: usize| {
        let count = points.len() as f32;
        let mean = points.iter().map(|point| point[dim]).sum::<f32>() / count;
        points.iter().map(|point| (point[dim] - mean).powi(2)).sum::<f32>()
    };
    let widest = (0..LATENT_DIMS).max_by(|&left, &right| variance(left).total_cmp(&variance(right))).expect("some");
    let middle = points.len() / 2;
    points.select_nth_unstable_by(middle, |left, right| left[widest].total_cmp(&right[widest]));
    let (left, right) = points.split_at_mut(middle);
    bisect(left);
    bisect(right);
}

impl Vectors {
    pub fn generate(count: usize) -> Self {
        let mut random = Random::new(384);
        let topics: Vec<Vec<f32>> = (0..TOPICS).map(|_| noise(&mut random, LATENT_DIMS)).collect();
        let mut points: Vec<Vec<f32>> = (0..count)
            .map(|_| {
                let topic = random.below(TOPICS as u64) as usize;
                mix(&topics[topic], &noise(&mut random, LATENT_DIMS), TOPIC_SPREAD)
            })
            .collect();
        bisect(&mut points);
        let basis: Vec<Vec<f32>> = (0..LATENT_DIMS).map(|_| noise(&mut random, DIMS)).collect();
        let (mut file, mut signs) = (Vec::with_capacity(count * ROW_BYTES), Vec::with_capacity(count * DIMS));
        let mut centers = vec![vec![0.0; DIMS]; count.div_ceil(CELL_ROWS)];
        for (row, point) in points.iter().enumerate() {
            let mut values: Vec<f32> = noise(&mut random, DIMS).iter().map(|value| value * NOISE).collect();
            for (latent, direction) in point.iter().zip(&basis) {
                values.iter_mut().zip(direction).for_each(|(value, direction)| *value += latent * direction);
            }
            let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
            values.iter_mut().for_each(|value| *value /= length);
            centers[row / CELL_ROWS].iter_mut().zip(&values).for_each(|(center, value)| *center += value);
            let start = file.len();
            values.iter().for_each(|value| file.extend_from_slice(&value.to_le_bytes()));
            let checksum = crc32c::crc32c(&file[start..]);
            file.extend_from_slice(&checksum.to_le_bytes());
            signs.extend(values.iter().map(|value| if *value < 0.0 { -1i8 } else { 1 }));
        }
        Self { file: file.into(), signs, centers, count }
    }

    /// Values of a row.
    pub fn parse_row(bytes: &[u8]) -> Vec<f32> {
        let (values, checksum) = bytes.split_at(DIMS * 4);
        assert_eq!(crc32c::crc32c(values).to_le_bytes(), checksum, "a row arrives as it was written");
        values.chunks_exact(4).map(|value| f32::from_le_bytes(value.try_into().expect("four bytes"))).collect()
    }

    fn row(&self, row: usize) -> Vec<f32> {
        Self::parse_row(&self.file[row * ROW_BYTES..(row + 1) * ROW_BYTES])
    }

    /// A query near a row. `topics` rows are asked about, the first ones more often (Zipf-like), so that some of the data
    /// is hot.
    pub fn query(&self, random: &mut Random, topics: u64) -> Vec<f32> {
        let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        // Inverse of a 1/x density over 1..=topics.
        let topic = ((topics as f64).powf(uniform) as u64).clamp(1, topics) - 1;
        // Scattered over the file, the same row for the same topic.
        let row = Random::new(topic).below(self.count as u64) as usize;
        mix(&self.row(row), &noise(random, DIMS), 0.02)
    }

    /// The `len` best rows of the best cells under 1-bit codes, best first.
    pub fn shortlist(&self, query: &[f32], len: usize) -> Vec<usize> {
        let mut cells: Vec<(f32, usize)> =
            self.centers.iter().enumerate().map(|(cell, center)| (-dot(query, center), cell)).collect();
        cells.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        let rows = cells.iter().take(PROBES).flat_map(|&(_, cell)| {
            let start = cell * CELL_ROWS;
            start..(start + CELL_ROWS).min(self.count)
        });
        let score = |row: usize| {
            let signs = &self.signs[row * DIMS..(row + 1) * DIMS];
            signs.iter().zip(query).map(|(&sign, value)| f32::from(sign) * value).sum::<f32>()
        };
        let mut scored: Vec<(f32, usize)> = rows.map(|row| (-score(row), row)).collect();
        scored.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        scored.into_iter().take(len).map(|(_, row)| row).collect()
    }
}

/// Exact score, larger is better.
pub fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}
