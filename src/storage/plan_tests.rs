//! Tests of [`super`]: a table, and a naive twin that marks bytes one by one.

use std::ops::Range;

use bytes::Bytes;

use super::*;

const fn limits(gap_bytes: u64, max_request_bytes: u64) -> PlanLimits {
    PlanLimits { gap_bytes, max_request_bytes }
}

fn plan(wanted: &[Range<u64>], gap: u64, max: u64) -> Vec<Range<u64>> {
    ReadPlan::new(wanted, limits(gap, max)).requests().to_vec()
}

/// Requests without a length limit, by marking every byte and filling the gaps.
fn naive_runs(wanted: &[Range<u64>], gap: u64, len: u64) -> Vec<Range<u64>> {
    let mut marked: Vec<u64> = (0..len).filter(|at| wanted.iter().any(|range| range.contains(at))).collect();
    marked.dedup();
    let mut runs: Vec<Range<u64>> = Vec::new();
    for at in marked {
        match runs.last_mut() {
            Some(run) if at <= run.end + gap => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

#[test]
fn joins_across_gaps_and_sorts() {
    assert_eq!(plan(&[], 10, 100), []);
    assert_eq!(plan(&[5..5], 10, 100), []);
    assert_eq!(plan(&[0..1, 2..3, 20..21], 1, 100), [0..3, 20..21]);
    assert_eq!(plan(&[20..30, 0..10, 5..12], 0, 100), [0..12, 20..30]);
    assert_eq!(plan(&[0..10, 10..20], 0, 100), [0..20]);
    assert_eq!(plan(&[7..8, 7..8, 7..8], 0, 100), &[7..8]);
}

#[test]
fn no_request_is_longer_than_the_limit() {
    assert_eq!(plan(&[0..25], 0, 10), [0..10, 10..20, 20..25]);
    // A cut falls between wanted ranges where it can.
    assert_eq!(plan(&[0..6, 6..12, 12..18], 0, 12), [0..12, 12..18]);
    // An overlap is not asked for twice.
    assert_eq!(plan(&[0..8, 4..12], 0, 10), [0..8, 8..12]);
    assert_eq!(plan(&[0..3], 0, 0), [0..1, 1..2, 2..3]);
}

#[test]
fn agrees_with_the_naive_twin_on_random_ranges() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..2_000 {
        let len = random.u64(1..300);
        let file: Bytes = (0..len).map(|_| random.u8(..)).collect();
        let wanted: Vec<_> = (0..random.usize(0..12))
            .map(|_| {
                let start = random.u64(0..=len);
                start..random.u64(start..=(start + 40).min(len))
            })
            .collect();
        let (gap, max) = (random.u64(0..30), random.u64(1..80));
        let plan = ReadPlan::new(&wanted, limits(gap, max));

        assert_eq!(ReadPlan::new(&wanted, limits(gap, u64::MAX)).requests(), naive_runs(&wanted, gap, len));
        for pair in plan.requests().windows(2) {
            assert!(pair[0].end <= pair[1].start, "{:?}", plan.requests());
        }
        for request in plan.requests() {
            assert!(request.start < request.end && request.end - request.start <= max && request.end <= len);
        }
        let answers = slice_ranges(&file, plan.requests()).expect("inside the file");
        let expected = slice_ranges(&file, &wanted).expect("inside the file");
        assert_eq!(plan.assemble(&answers), expected);
        assert_eq!(plan.request_bytes(), answers.iter().map(|answer| answer.len() as u64).sum::<u64>());
    }
}

#[test]
#[should_panic(expected = "another length")]
fn a_short_answer_is_never_cut_up() {
    ReadPlan::new(&[0..4], limits(0, 10)).assemble(&[Bytes::from_static(b"abc")]);
}

#[test]
fn ranges_are_checked_and_clamped() {
    check_ranges(&[0..0, 3..5, 5..5], 5).expect("inside");
    assert!(check_ranges(&[3..6], 5).is_err());
    #[expect(clippy::reversed_empty_ranges, reason = "what is tested")]
    let reversed = 4..3;
    assert!(check_ranges(std::slice::from_ref(&reversed), 5).is_err());
    assert_eq!(clamp_ranges(&[3..9, 7..9, reversed, 0..0, 1..2], 5), [3..5, 1..2]);
}
