//! Invariants of the arrangement, its quality against plain assignment, and degenerate sets.

use super::*;
use crate::distance::fixed::{FIXED_NORM, FixedRows};

fn train(rows: &FixedRows, options: CellOptions) -> Cells {
    let mut trainer = CellTrainer::new(rows, options);
    while trainer.step() {}
    trainer.finish()
}

fn clustered(len: usize, dims: usize, seed: u64) -> FixedRows {
    let mut rng = fastrand::Rng::with_seed(seed);
    let centers: Vec<Vec<f32>> = (0..20).map(|_| (0..dims).map(|_| rng.f32() - 0.5).collect()).collect();
    let mut rows = FixedRows::new(dims);
    for _ in 0..len {
        let center = &centers[rng.usize(0..20)];
        let vector: Vec<f32> = center.iter().map(|&v| v + (rng.f32() - 0.5) * 0.3).collect();
        let norm = vector.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
        rows.push(&vector, FIXED_NORM / norm);
    }
    rows
}

fn square(a: &[i16], b: &[i16]) -> i64 {
    a.iter().zip(b).map(|(&a, &b)| (i64::from(a) - i64::from(b)).pow(2)).sum()
}

fn check_invariants(cells: &Cells, len: usize) {
    let mut seen = vec![false; len];
    cells.order.iter().for_each(|&row| assert!(!std::mem::replace(&mut seen[row as usize], true), "row {row} twice"));
    assert!(seen.into_iter().all(|seen| seen), "every row has an ordinal");
    assert_eq!(cells.cell_starts.len(), cells.centers.len() + 1);
    assert_eq!(cells.group_starts.len(), cells.group_centers.len() + 1);
    assert_eq!(*cells.cell_starts.last().unwrap() as usize, len);
    assert_eq!(*cells.group_starts.last().unwrap() as usize, cells.centers.len());
    assert!(cells.cell_starts.is_sorted_by(|a, b| a < b), "no cell is empty");
    assert!(cells.group_starts.is_sorted_by(|a, b| a < b), "no group is empty");
    for cell in cells.cell_starts.windows(2) {
        assert!(cell[1] - cell[0] <= 256);
        assert!(cells.order[cell[0] as usize..cell[1] as usize].is_sorted());
    }
}

#[test]
fn cells_partition_the_rows_and_sit_near_them() {
    for len in [1, 2, 31, 33, 900, 2500] {
        let rows = clustered(len, 24, len as u64);
        let cells = train(&rows, CellOptions::default());
        check_invariants(&cells, len);
        let mut own = 0;
        let mut best = 0;
        for (cell, range) in cells.cell_starts.windows(2).enumerate() {
            for &row in &cells.order[range[0] as usize..range[1] as usize] {
                let row = rows.row(row as usize);
                own += square(row, cells.centers.row(cell));
                best += (0..cells.centers.len()).map(|ix| square(row, cells.centers.row(ix))).min().unwrap();
            }
        }
        // Assignment looks at near groups only, and centers moved once more after it was made.
        assert!(own as f64 <= best as f64 * 1.05 + 1.0, "{len}: {own} against {best}");
    }
}

#[test]
fn the_same_seed_gives_the_same_cells() {
    let rows = clustered(3000, 16, 1);
    let (a, b) = (train(&rows, CellOptions::default()), train(&rows, CellOptions::default()));
    assert_eq!((&a.order, &a.cell_starts), (&b.order, &b.cell_starts));
    let c = train(&rows, CellOptions { seed: 7, ..Default::default() });
    assert_ne!(a.order, c.order);
}

#[test]
fn equal_and_zero_vectors_are_cut_into_short_cells() {
    let mut rows = FixedRows::new(8);
    for ix in 0..4000 {
        rows.push(&[if ix % 2 == 0 { 1.0 } else { 0.0 }; 8], 10_000.0);
    }
    check_invariants(&train(&rows, CellOptions::default()), 4000);
    let few = clustered(200, 8, 2);
    check_invariants(&train(&few, CellOptions { cell_len: 1, group_len: 1, ..Default::default() }), 200);
    let none = FixedRows::new(8);
    let cells = train(&none, CellOptions::default());
    assert!(cells.order.is_empty() && cells.centers.is_empty());
}
