//! Probes against brute force, on real shapes and on degenerate ones, and against damaged bytes.

use super::*;
use crate::{
    distance::fixed::{FIXED_NORM, FixedRows},
    error::Result,
    quant::{
        osq::Bits,
        pq::{PqModel, PqOptions, PqTrainer},
    },
    schema::Metric,
};

pub(in crate::graph) struct Streams {
    pub(in crate::graph) meta: Vec<u8>,
    pub(in crate::graph) centers: Vec<u8>,
    pub(in crate::graph) codes: Vec<u8>,
    pub(in crate::graph) order: Vec<u32>,
}

pub(in crate::graph) fn options(probes: u32, center_factor: u32) -> ProbeOptions {
    ProbeOptions { probes, center_factor, ..ProbeOptions::default() }
}

fn write(vectors: &[Vec<f32>], metric: Metric, bits: Bits) -> Streams {
    write_with(vectors, metric, bits, false)
}

pub(in crate::graph) fn write_with(vectors: &[Vec<f32>], metric: Metric, bits: Bits, inline: bool) -> Streams {
    write_by(CellsWriter::new(vectors[0].len() as u32, metric, bits), vectors, metric, inline)
}

/// With vectors listed in a second cell.
pub(in crate::graph) fn write_spilled(vectors: &[Vec<f32>], metric: Metric, bits: Bits, inline: bool) -> Streams {
    let writer = CellsWriter::new(vectors[0].len() as u32, metric, bits).with_spilled();
    write_by(writer, vectors, metric, inline)
}

fn write_by(mut writer: CellsWriter, vectors: &[Vec<f32>], metric: Metric, inline: bool) -> Streams {
    let dims = vectors[0].len();
    let norm = |v: &[f32]| v.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
    let longest = vectors.iter().map(|v| norm(v)).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut rows = FixedRows::new(dims);
    for vector in vectors {
        let own = norm(vector);
        let scale = if metric == Metric::Cosine && own > 0.0 { own } else { longest };
        rows.push(vector, FIXED_NORM / scale);
    }
    let unit = if metric == Metric::Cosine { 1.0 } else { longest };
    let back =
        |row: &[i16]| -> Vec<f32> { row[..dims].iter().map(|&v| (f64::from(v) * unit / FIXED_NORM) as f32).collect() };
    let mut trainer = CellTrainer::new(&rows, CellOptions { group_len: 200, ..Default::default() });
    while trainer.step() {}
    let cells = trainer.finish();
    let mut out = Streams { meta: vec![], centers: vec![], codes: vec![], order: cells.order.clone() };
    let spills = writer.meta().spills();
    let num_cells = cells.cell_starts.len() - 1;
    // Any other cell will do here: of the third one on, each lists the vectors of the one two before.
    let others = |cell: usize| match cell.checked_sub(2) {
        Some(cell) if spills && num_cells > 3 => cells.cell_starts[cell]..cells.cell_starts[cell + 1],
        _ => 0..0,
    };
    for (group, range) in cells.group_starts.windows(2).enumerate() {
        writer.begin_group(&back(cells.group_centers.row(group)));
        for cell in range[0] as usize..range[1] as usize {
            let ords = cells.cell_starts[cell] as usize..cells.cell_starts[cell + 1] as usize;
            let entries = cells.order[ords].iter().map(|&row| (row * 3, &vectors[row as usize][..]));
            let center = back(cells.centers.row(cell));
            if !spills {
                writer.add_cell(&center, entries, &mut out.codes);
                continue;
            }
            let others = others(cell).map(|ord| {
                let row = cells.order[ord as usize];
                writer::SpilledEntry { ord, doc: row * 3, values: &vectors[row as usize] }
            });
            writer.add_spilled_cell(&center, entries, others, &mut out.codes);
        }
        writer.end_group(&mut out.centers);
    }
    if inline {
        writer.finish(Calibration::default(), std::mem::take(&mut out.centers), &mut out.meta);
    } else {
        writer.finish(Calibration::default(), Vec::new(), &mut out.meta);
    }
    out
}

pub(in crate::graph) fn parse(streams: &Streams) -> Result<CellsMeta> {
    CellsMeta::parse(&streams.meta, streams.centers.len() as u64, streams.codes.len() as u64)
}

fn run(probe: &mut Probe<'_>, streams: &Streams, found: &mut Vec<Candidate>) -> Result<usize> {
    let mut rounds = 0;
    while !probe.is_done() {
        let (stream, wanted) = probe.wanted();
        let bytes = if stream == CellStream::Centers { &streams.centers } else { &streams.codes };
        let blocks: Vec<Vec<u8>> = wanted.iter().map(|r| bytes[r.start as usize..r.end as usize].to_vec()).collect();
        probe.feed(&blocks, true, |candidate| found.push(candidate))?;
        rounds += 1;
    }
    Ok(rounds)
}

pub(in crate::graph) fn vectors(len: usize, dims: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let centers: Vec<Vec<f32>> = (0..12).map(|_| (0..dims).map(|_| rng.f32() * 2.0 - 0.7).collect()).collect();
    (0..len)
        .map(|_| {
            let (center, length) = (&centers[rng.usize(0..12)], 0.5 + rng.f32() * 4.0);
            center.iter().map(|v| (v + (rng.f32() - 0.5) * 0.8) * length).collect()
        })
        .collect()
}

pub(in crate::graph) fn exact(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
    match metric {
        Metric::Dot => dot(a, b),
        Metric::Cosine => dot(a, b) / (dot(a, a) * dot(b, b)).sqrt(),
        Metric::L2 => -a.iter().zip(b).map(|(&x, &y)| f64::from(x - y).powi(2)).sum::<f64>(),
    }
}

/// Centroids for vectors relative to their centers, trained on the vectors as they are: good enough for a twin.
fn product_quantizer(vectors: &[Vec<f32>], metric: Metric, subspaces: usize) -> PqModel {
    let mut trainer = PqTrainer::new(PqModel::new(vectors[0].len(), subspaces).unwrap(), PqOptions::default());
    let norm = |v: &[f32]| v.iter().map(|v| v * v).sum::<f32>().sqrt();
    let mut sample = |components: std::ops::Range<usize>, out: &mut Vec<f32>| {
        for pair in vectors.chunks_exact(2) {
            let [a, b] = [&pair[0], &pair[1]];
            let (x, y) = if metric == Metric::Cosine { (norm(a), norm(b)) } else { (1.0, 1.0) };
            out.extend(a[components.clone()].iter().zip(&b[components.clone()]).map(|(a, b)| (a / x - b / y) / 3.0));
        }
    };
    while trainer.step(&mut sample) {}
    trainer.finish()
}

#[test]
fn codes_of_a_product_quantizer_give_the_product_with_what_they_stand_for() {
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        for weight in [1.0, 4.0] {
            let vectors = vectors(700, 20, 5);
            let model = product_quantizer(&vectors, metric, 10);
            let writer = CellsWriter::with_product_quantizer(metric, model, weight);
            let streams = write_by(writer, &vectors, metric, true);
            let meta = parse(&streams).unwrap();
            assert_eq!(meta.shape().code, CodeKind::Product(10));
            assert_eq!(meta.shape().row_len(), 10);
            let mut probe = Probe::new(&meta, &vectors[3], options(10_000, 1));
            let mut found = Vec::new();
            run(&mut probe, &streams, &mut found).unwrap();
            assert_eq!(found.len(), 700);
            let length = |v: &[f32]| v.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
            let (mut errors, mut sizes) = (0.0, 0.0);
            for candidate in &found {
                let row = &vectors[streams.order[candidate.ord as usize] as usize];
                errors += (f64::from(candidate.estimate) - exact(metric, &vectors[3], row)).abs();
                sizes += if metric == Metric::Cosine { 1.0 } else { length(&vectors[3]) * length(row) };
            }
            // Two components to a byte; more error is allowed across a vector where it weighs less.
            assert!(errors / sizes < 0.02, "{metric:?} {weight}: {}", errors / sizes);
            for len in 0..streams.meta.len().min(400) {
                assert!(CellsMeta::parse(&streams.meta[..len], 0, streams.codes.len() as u64).is_err());
            }
        }
    }
}

#[test]
fn a_probe_of_every_cell_finds_every_vector_once() {
    for (metric, spilled) in [Metric::Cosine, Metric::Dot, Metric::L2].into_iter().flat_map(|m| [(m, false), (m, true)])
    {
        let vectors = vectors(700, 20, 5);
        let streams = if spilled { write_spilled } else { write_with }(&vectors, metric, Bits::Eight, false);
        let meta = parse(&streams).unwrap();
        let own = meta.shape().entry_len() * 700;
        assert_eq!((meta.spills(), streams.codes.len() > own * 3 / 2), (spilled, spilled));
        let mut probe = Probe::new(&meta, &vectors[3], options(10_000, 1));
        let mut found = Vec::new();
        assert_eq!(run(&mut probe, &streams, &mut found).unwrap(), 2, "centers, then codes");
        assert!(probe.is_exhausted());
        found.sort_by_key(|candidate| candidate.ord);
        assert_eq!(found.len(), 700);
        for (ord, candidate) in found.iter().enumerate() {
            let row = streams.order[ord];
            assert_eq!((candidate.ord, candidate.doc), (ord as u32, row * 3));
            let exact = exact(metric, &vectors[3], &vectors[row as usize]);
            let own = f64::from(candidate.estimate);
            let length = |v: &[f32]| v.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
            let size =
                if metric == Metric::Cosine { 1.0 } else { length(&vectors[3]) * length(&vectors[row as usize]) };
            // Two codes of 8 bits each, over components that differ by the whole range.
            let weight = if metric == Metric::L2 { 2.0 } else { 1.0 };
            assert!((own - exact).abs() <= 0.01 * weight * size, "{metric:?} {ord}: {own} for {exact}");
        }
    }
}

#[test]
fn shortlists_hold_the_nearest_vectors() {
    for (bits, floor) in [(Bits::One, 0.80), (Bits::Two, 0.9), (Bits::Four, 0.95), (Bits::Eight, 0.95)] {
        for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
            let vectors = vectors(1200, 48, 9);
            let streams = write(&vectors, metric, bits);
            let meta = parse(&streams).unwrap();
            let mut hits = 0;
            for query in vectors.iter().step_by(60) {
                let query: Vec<f32> = query.iter().map(|v| v + 0.05).collect();
                let mut best: Vec<u32> = (0..1200).collect();
                let key = |row: u32| exact(metric, &query, &vectors[row as usize]);
                best.sort_by(|&a, &b| key(b).total_cmp(&key(a)));
                let mut found = Vec::new();
                let mut probe = Probe::new(&meta, &query, options(24, 4));
                run(&mut probe, &streams, &mut found).unwrap();
                found.sort_by(|a, b| b.estimate.total_cmp(&a.estimate));
                let short: Vec<u32> = found.iter().take(60).map(|candidate| candidate.doc / 3).collect();
                hits += best[..10].iter().filter(|row| short.contains(row)).count();
            }
            let recall = hits as f64 / 200.0;
            assert!(recall >= floor, "{bits:?} {metric:?}: {recall}");
        }
    }
}

#[test]
fn resuming_goes_through_all_cells_without_repeating_one() {
    let vectors = vectors(900, 8, 2);
    for (spilled, request_bytes) in [(false, 0), (true, 0), (false, 500), (true, 2000)] {
        let streams = if spilled { write_spilled } else { write_with }(&vectors, Metric::L2, Bits::Two, false);
        let meta = parse(&streams).unwrap();
        let mut probe = Probe::new(&meta, &vectors[0], ProbeOptions { request_bytes, ..options(3, 2) });
        let mut found = Vec::new();
        loop {
            run(&mut probe, &streams, &mut found).unwrap();
            if probe.is_exhausted() {
                break;
            }
            probe.resume(3);
        }
        assert_eq!(probe.num_probed(), meta.num_cells());
        let mut ords: Vec<u32> = found.iter().map(|candidate| candidate.ord).collect();
        ords.sort_unstable();
        assert!(ords.iter().copied().eq(0..900));
    }
}

#[test]
fn runs_of_cells_take_fewer_requests_and_no_more_bytes() {
    let vectors = vectors(3000, 16, 7);
    let streams = write_with(&vectors, Metric::Cosine, Bits::Two, true);
    let meta = parse(&streams).unwrap();
    let read = |request_bytes: u64, code_bytes: u64| {
        let (mut runs, mut bytes) = (0, 0);
        for query in vectors.iter().step_by(100) {
            let options = ProbeOptions { request_bytes, code_bytes, ..options(20, 4) };
            let probe = Probe::new(&meta, query, options);
            let (stream, wanted) = probe.wanted();
            assert!(stream == CellStream::Codes && !wanted.is_empty() && wanted.is_sorted_by_key(|range| range.start));
            runs += 1 + wanted.windows(2).filter(|pair| pair[0].end < pair[1].start).count();
            let of_query: u64 = wanted.iter().map(|range| range.end - range.start).sum();
            assert!(request_bytes == 0 || of_query <= code_bytes || wanted.len() == 1, "{of_query}");
            bytes += of_query;
        }
        (runs, bytes)
    };
    let (single, joined, small) = (read(0, u64::MAX), read(8 << 10, u64::MAX), read(8 << 10, 3 << 10));
    assert!(joined.0 * 2 < single.0 && joined.1 <= single.1, "{joined:?} {single:?}");
    assert!(small.1 <= 30 * (3 << 10) && small.0 < joined.0, "{small:?}");
}

#[test]
fn degenerate_sets_are_served() {
    let one = vec![vec![0.5, -1.0, 2.0]];
    let equal = vec![vec![0.25; 3]; 600];
    let zero = vec![vec![0.0; 3]; 40];
    let spike = vec![vec![1e18, 0.0, 0.0], vec![0.0, 1e-18, 0.0], vec![-1e18, 1.0, 1.0]];
    for set in [one, equal, zero, spike] {
        for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
            for bits in Bits::ALL {
                let streams = write(&set, metric, bits);
                let meta = parse(&streams).unwrap();
                let mut found = Vec::new();
                let mut probe = Probe::new(&meta, &[1.0, 2.0, 3.0], options(500, 1));
                run(&mut probe, &streams, &mut found).unwrap();
                assert_eq!(found.len(), set.len(), "{metric:?} {bits:?}");
                assert!(found.iter().all(|candidate| !candidate.estimate.is_nan()), "{metric:?} {bits:?}");
            }
        }
    }
}

#[test]
fn damage_is_reported_and_never_panics() {
    let vectors = vectors(400, 12, 1);
    for spilled in [false, true] {
        let streams = if spilled { write_spilled } else { write_with }(&vectors, Metric::Cosine, Bits::One, false);
        damage(streams);
    }
}

fn damage(mut streams: Streams) {
    let mut rng = fastrand::Rng::with_seed(4);
    for _ in 0..1000 {
        let which = rng.usize(0..3);
        let stream = [&mut streams.meta, &mut streams.centers, &mut streams.codes].into_iter().nth(which).unwrap();
        let (at, bit) = (rng.usize(0..stream.len()), 1u8 << rng.u32(0..8));
        stream[at] ^= bit;
        let result = parse(&streams).and_then(|meta| {
            let query = vec![0.5; meta.shape().dims as usize];
            let mut probe = Probe::new(&meta, &query, options(10_000, 1));
            run(&mut probe, &streams, &mut Vec::new())
        });
        // The table has its checksum with the caller, so damage there may only move a center.
        match result {
            Err(error) => assert_eq!(error.kind().code(), "corrupt"),
            Ok(_) => assert_eq!(which, 0, "damage at {at} of stream {which} was not seen"),
        }
        let stream = [&mut streams.meta, &mut streams.centers, &mut streams.codes].into_iter().nth(which).unwrap();
        stream[at] ^= bit;
    }
}

#[test]
fn pinned_centers_save_a_round_and_change_nothing() {
    let vectors = vectors(900, 24, 6);
    let (apart, pinned) =
        (write(&vectors, Metric::Cosine, Bits::One), write_with(&vectors, Metric::Cosine, Bits::One, true));
    let (meta, pinned_meta) = (parse(&apart).unwrap(), parse(&pinned).unwrap());
    let options = options(12, 2);
    let (mut found, mut found_pinned) = (Vec::new(), Vec::new());
    assert_eq!(run(&mut Probe::new(&meta, &vectors[5], options), &apart, &mut found).unwrap(), 2);
    assert_eq!(run(&mut Probe::new(&pinned_meta, &vectors[5], options), &pinned, &mut found_pinned).unwrap(), 1);
    assert_eq!(found, found_pinned);
    let mut again = Vec::new();
    run(&mut Probe::reproducible(&meta, &vectors[5], options), &apart, &mut again).unwrap();
    assert_eq!(again.len(), found.len());
}

#[test]
fn widening_asks_for_what_ranks_high_enough_and_for_nothing_else() {
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        let vectors = vectors(900, 16, 3);
        let streams = write(&vectors, metric, Bits::Four);
        let meta = parse(&streams).unwrap();
        let mut all = Vec::new();
        let mut probe = Probe::new(&meta, &vectors[7], options(1000, 1));
        run(&mut probe, &streams, &mut all).unwrap();
        let mut ranks: Vec<f32> = all.iter().map(|candidate| candidate.cell_rank).collect();
        ranks.sort_by(|a, b| b.total_cmp(a));
        let least = ranks[300];
        let mut probe = Probe::new(&meta, &vectors[7], options(2, 1000));
        let mut found = Vec::new();
        run(&mut probe, &streams, &mut found).unwrap();
        assert!(!probe.widen(f32::INFINITY, 0.0, 1000) && !probe.widen(least, 0.0, 0) && probe.is_done());
        assert!(probe.widen(least, 0.0, 1) && probe.num_probed() == 3);
        run(&mut probe, &streams, &mut found).unwrap();
        assert!(probe.widen(least, 0.0, 1000));
        run(&mut probe, &streams, &mut found).unwrap();
        assert!(!probe.widen(least, 0.0, 1000));
        let mut expected: Vec<u32> = all.iter().filter(|one| one.cell_rank >= least).map(|one| one.ord).collect();
        let mut found: Vec<u32> = found.iter().map(|candidate| candidate.ord).collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{metric:?}");
    }
}

#[test]
fn centered_codes_err_with_the_way_to_the_group_and_not_with_the_length_of_the_query() {
    // Far from the origin, near each other.
    let mut vectors = vectors(1500, 64, 8);
    vectors.iter_mut().flatten().for_each(|value| *value += 50.0);
    let error = |centered: bool| {
        let mut streams = write(&vectors, Metric::L2, Bits::One);
        if !centered {
            // As written before: plain squared norms, and no flag. Each cell's block is sealed anew.
            let meta = parse(&streams).unwrap();
            let entry = meta.shape().entry_len();
            let (mut at, mut ord) = (0, 0);
            for group in 0..meta.num_groups() {
                let block = &streams.centers[meta.groups[group].centers.start as usize..];
                let len = meta.groups[group].centers.end - meta.groups[group].centers.start;
                for place in meta.check_centers(group, &block[..len as usize]).unwrap() {
                    let len = place.len as usize;
                    for ix in 0..len {
                        let row = &vectors[streams.order[ord] as usize];
                        let square: f64 = row.iter().map(|&v| f64::from(v).powi(2)).sum();
                        let place = at + len * 16 + ix * 4;
                        streams.codes[place..place + 4].copy_from_slice(&(square as f32).to_le_bytes());
                        ord += 1;
                    }
                    let crc = crc32c::crc32c(&streams.codes[at..at + len * entry]);
                    streams.codes[at + len * entry..][..4].copy_from_slice(&crc.to_le_bytes());
                    at += len * entry + 4;
                }
            }
            streams.meta[3] &= 0x7f;
        }
        let meta = parse(&streams).unwrap();
        let mut sum = 0.0;
        for query in vectors.iter().step_by(100) {
            let mut found = Vec::new();
            let mut probe = Probe::new(&meta, query, options(10_000, 1));
            run(&mut probe, &streams, &mut found).unwrap();
            assert_eq!(found.len(), 1500);
            let of = |one: &Candidate| exact(Metric::L2, query, &vectors[streams.order[one.ord as usize] as usize]);
            sum += found.iter().map(|one| (f64::from(one.estimate) - of(one)).abs()).sum::<f64>();
        }
        sum
    };
    let (centered, plain) = (error(true), error(false));
    assert!(centered * 4.0 < plain, "{centered} against {plain}");
}
