//! Graphs and walks against their slow twins, on real shapes and on degenerate ones, and against damaged bytes.

use super::{
    adjacency::RowShape,
    build::Steps,
    cells::{
        Candidate, CellStream, CellsMeta, FixedScale, Probe,
        probe_tests::{Streams, exact, options, parse, vectors, write_spilled, write_with},
    },
    prune::{Neighbour, Pruner, Space, smallest},
    *,
};
use crate::{
    bitset::BitSet,
    distance::fixed::{FIXED_NORM, FixedRows, fixed_dots_block},
    error::Result,
    quant::osq::Bits,
    schema::Metric,
};

/// Cells, and the graph over them.
struct Made {
    streams: Streams,
    cells: CellsMeta,
    meta: Vec<u8>,
    adjacency: Vec<u8>,
}

fn cell_table(cells: &CellsMeta, streams: &Streams) -> Vec<Vec<(u32, u32)>> {
    let block = |group: usize| match cells.center_range(group) {
        Some(range) => &streams.centers[range.start as usize..range.end as usize],
        None => cells.pinned_centers(group).unwrap(),
    };
    let places = |group: usize| cells.check_centers(group, block(group)).unwrap();
    (0..cells.num_groups())
        .map(|group| places(group).iter().map(|place| (place.first_ord, place.len)).collect())
        .collect()
}

fn make(set: &[Vec<f32>], metric: Metric, bits: Bits, options: GraphOptions, inline: bool) -> Made {
    make_in(Steps::default(), set, metric, bits, options, inline).0
}

/// The same in steps of some length; how many there were, too.
fn make_in(
    steps: Steps,
    set: &[Vec<f32>],
    metric: Metric,
    bits: Bits,
    options: GraphOptions,
    inline: bool,
) -> (Made, usize) {
    // Walks come by their vectors alike, whether cells list those of others or not.
    let streams = if set.len().is_multiple_of(2) { write_spilled } else { write_with }(set, metric, bits, inline);
    let cells = parse(&streams).unwrap();
    let scale = FixedScale::new(metric, set.iter().map(|vector| &vector[..]));
    let mut rows = FixedRows::new(set[0].len());
    streams.order.iter().for_each(|&row| scale.push(&set[row as usize], &mut rows));
    let (mut cell_starts, mut group_starts) = (Vec::new(), vec![0]);
    for group in cell_table(&cells, &streams) {
        cell_starts.extend(group.iter().map(|&(first, _)| first));
        group_starts.push(cell_starts.len() as u32);
    }
    cell_starts.push(set.len() as u32);
    let mut builder = GraphBuilder::new(rows, cell_starts, group_starts, options);
    builder.steps = steps;
    let num_steps = 1 + std::iter::repeat_with(|| builder.step()).take_while(|more| *more).count();
    let ((graph, adjacency), mut meta) = (builder.finish(), Vec::new());
    graph.write(graph.calibration(), &mut meta);
    (Made { streams, cells, meta, adjacency }, num_steps)
}

impl Made {
    fn graph(&self) -> Result<GraphMeta> {
        GraphMeta::parse(&self.meta, self.adjacency.len() as u64)
    }

    fn check(&self, graph: &GraphMeta) -> Result<()> {
        let mut check = AdjacencyCheck::new(graph);
        let mut cell = 0;
        for group in cell_table(&self.cells, &self.streams) {
            let range = graph.group_range(cell, &group);
            check.group(&self.adjacency[range.start as usize..range.end as usize], &group)?;
            cell += group.len() as u32;
        }
        check.finish()
    }

    fn run(&self, walk: &mut Walk<'_>, found: &mut Vec<Candidate>) -> Result<usize> {
        let mut rounds = 0;
        while !walk.is_done() {
            let (stream, wanted) = walk.wanted();
            let bytes = match stream {
                GraphStream::Cells(CellStream::Centers) => &self.streams.centers,
                GraphStream::Cells(CellStream::Codes) => &self.streams.codes,
                GraphStream::Adjacency => &self.adjacency,
            };
            let blocks: Vec<Vec<u8>> =
                wanted.iter().map(|range| bytes[range.start as usize..range.end as usize].to_vec()).collect();
            walk.feed(&blocks, true, |candidate| found.push(candidate))?;
            rounds += 1;
        }
        Ok(rounds)
    }
}

/// Sets that graphs have come apart on, and one plain one.
fn sets() -> Vec<(&'static str, Vec<Vec<f32>>)> {
    let plain = vectors(500, 20, 3);
    let mut doubled = plain[..200].to_vec();
    (0..3).for_each(|_| doubled.extend_from_slice(&plain[..100]));
    let constant =
        plain.iter().map(|v| v.iter().enumerate().map(|(ix, &v)| if ix % 4 == 0 { v } else { 0.5 }).collect());
    let skewed = plain.iter().map(|v| v.iter().enumerate().map(|(ix, &v)| if ix < 2 { v * 1e4 } else { v }).collect());
    vec![
        ("one", vec![vec![0.5, -1.0, 2.0]]),
        ("two", vec![vec![0.5, -1.0, 2.0], vec![0.0, 0.0, 0.0]]),
        ("few", vectors(20, 6, 8)),
        ("equal", vec![vec![0.25; 5]; 500]),
        ("zero", vec![vec![0.0; 3]; 300]),
        ("doubled", doubled),
        ("constant dimensions", constant.collect()),
        ("skewed", skewed.collect()),
        ("line", (0..600).map(|ix| vec![1.0, ix as f32]).collect()),
        ("plain", plain),
    ]
}

#[test]
fn graphs_keep_their_invariants_and_walks_reach_everything() {
    for (name, set) in sets() {
        for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
            for degree in [1, 16] {
                let made = make(&set, metric, Bits::Four, GraphOptions { degree, near_cells: 6 }, false);
                let graph = made.graph().unwrap();
                made.check(&graph).unwrap_or_else(|error| panic!("{name} {metric:?} {degree}: {error}"));
                let mut walk = Walk::new(
                    &graph,
                    &made.cells,
                    &set[0],
                    None,
                    WalkOptions { breadth: set.len() as u32, starts: 1, ..WalkOptions::default() },
                );
                let mut found = Vec::new();
                made.run(&mut walk, &mut found).unwrap();
                let mut ords: Vec<u32> = found.iter().map(|candidate| candidate.ord).collect();
                ords.sort_unstable();
                assert!(ords.into_iter().eq(0..set.len() as u32), "{name} {metric:?} {degree}: each vector once");
            }
        }
    }
}

#[test]
fn estimates_are_those_of_a_probe_of_every_cell() {
    let (odd, even) = (vectors(401, 30, 4), vectors(400, 30, 4));
    for (metric, set) in [Metric::Cosine, Metric::Dot, Metric::L2].into_iter().flat_map(|m| [(m, &odd), (m, &even)]) {
        for (bits, inline) in [(Bits::One, true), (Bits::Two, false), (Bits::Four, true), (Bits::Eight, false)] {
            let made = make(set, metric, bits, GraphOptions::default(), inline);
            let graph = made.graph().unwrap();
            // Codes of vectors in their own cells are the same, whether others list them too.
            let plain = write_with(set, metric, bits, inline);
            let cells = parse(&plain).unwrap();
            let mut twin = Vec::new();
            let mut probe = Probe::new(&cells, &set[7], options(10_000, 1));
            while !probe.is_done() {
                let (stream, wanted) = probe.wanted();
                let bytes = if stream == CellStream::Centers { &plain.centers } else { &plain.codes };
                let blocks: Vec<&[u8]> =
                    wanted.iter().map(|range| &bytes[range.start as usize..range.end as usize]).collect();
                probe.feed(&blocks, true, |candidate| twin.push(candidate)).unwrap();
            }
            let options = WalkOptions { breadth: 401, starts: 1, ..WalkOptions::default() };
            let mut walk = Walk::new(&graph, &made.cells, &set[7], None, options);
            let mut found = Vec::new();
            made.run(&mut walk, &mut found).unwrap();
            twin.sort_by_key(|candidate| candidate.ord);
            found.sort_by_key(|candidate| candidate.ord);
            assert_eq!(found.len(), twin.len());
            let different = found.iter().zip(&twin).filter(|(found, twin)| found != twin).count();
            // Those that the cell it starts from lists of another one are estimated from there.
            let most = if made.cells.spills() { 64 } else { 0 };
            assert!(different <= most, "{metric:?} {bits:?}: {different}");
        }
    }
}

/// Recall@10 of walks whose 40 best estimates are scored exactly, among documents of `accept`.
fn recall(made: &Made, set: &[Vec<f32>], metric: Metric, accept: Option<&BitSet>, options: WalkOptions) -> f64 {
    let graph = made.graph().unwrap();
    let (mut hits, mut wanted) = (0, 0);
    for query in set.iter().step_by(set.len() / 30) {
        let query: Vec<f32> = query.iter().map(|v| v + 0.05).collect();
        let passes = |row: &u32| accept.is_none_or(|accept| accept.contains(row * 3));
        let mut best: Vec<u32> = (0..set.len() as u32).filter(passes).collect();
        let key = |row: u32| exact(metric, &query, &set[row as usize]);
        best.sort_by(|&a, &b| key(b).total_cmp(&key(a)));
        best.truncate(10);
        let mut found = Vec::new();
        let mut walk = Walk::new(&graph, &made.cells, &query, accept, options);
        made.run(&mut walk, &mut found).unwrap();
        // As searches do where too few pass on the way.
        let (mut breadth, enough) = (options.breadth, options.breadth as usize);
        while found.iter().filter(|one| passes(&(one.doc / 3))).count() < enough && !walk.is_exhausted() {
            breadth *= 2;
            walk.resume(breadth);
            made.run(&mut walk, &mut found).unwrap();
        }
        found.retain(|candidate| passes(&(candidate.doc / 3)));
        found.sort_by(|a, b| b.estimate.total_cmp(&a.estimate));
        let short: Vec<u32> = found.iter().take(40).map(|candidate| candidate.doc / 3).collect();
        hits += best.iter().filter(|row| short.contains(row)).count();
        wanted += best.len();
    }
    hits as f64 / wanted as f64
}

#[test]
fn walks_find_the_nearest_vectors() {
    let set = vectors(1500, 32, 11);
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        let made = make(&set, metric, Bits::Four, GraphOptions::default(), true);
        let options = WalkOptions { breadth: 64, starts: 1, expansions: 4 };
        let own = recall(&made, &set, metric, None, options);
        assert!(own >= 0.95, "{metric:?}: {own}");
        // The graph does it, not the cells that the walk starts from.
        let short = recall(&made, &set, metric, None, WalkOptions { breadth: 1, ..options });
        assert!(short < own - 0.02, "{metric:?}: {short} without walking, {own} with it");
    }
}

#[test]
fn filtered_walks_find_the_nearest_that_pass() {
    let set = vectors(1500, 24, 12);
    let made = make(&set, Metric::Cosine, Bits::Four, GraphOptions::default(), true);
    let mut rng = fastrand::Rng::with_seed(5);
    for (name, part) in [("half", 0.5), ("tenth", 0.1), ("correlated", 0.0)] {
        let mut accept = BitSet::new(4500);
        for (row, vector) in set.iter().enumerate() {
            if if part > 0.0 { rng.f64() < part } else { vector[0] > 1.0 } {
                accept.insert(row as u32 * 3);
            }
        }
        let options = WalkOptions { breadth: 96, starts: 4, expansions: 4 };
        let own = recall(&made, &set, Metric::Cosine, Some(&accept), options);
        assert!(own >= 0.85, "{name}: {own}");
    }
}

#[test]
fn resuming_goes_on_until_every_vector_that_passes_is_found() {
    let set = vectors(900, 12, 6);
    let made = make(&set, Metric::L2, Bits::Four, GraphOptions::default(), false);
    let graph = made.graph().unwrap();
    let mut accept = BitSet::new(4500);
    [3u32, 900, 1800, 2697].into_iter().for_each(|doc| {
        accept.insert(doc);
    });
    let options = WalkOptions { breadth: 4, starts: 1, expansions: 2 };
    let mut walk = Walk::new(&graph, &made.cells, &set[40], Some(&accept), options);
    let mut found = Vec::new();
    made.run(&mut walk, &mut found).unwrap();
    let mut breadth = 4;
    while !walk.is_exhausted() {
        breadth *= 2;
        walk.resume(breadth);
        made.run(&mut walk, &mut found).unwrap();
    }
    let mut ords: Vec<u32> = found.iter().map(|candidate| candidate.ord).collect();
    ords.sort_unstable();
    assert!(ords.is_sorted_by(|a, b| a < b), "no vector twice");
    assert_eq!(found.iter().filter(|candidate| accept.contains(candidate.doc)).count(), 4);

    // Without a filter, a resumed walk has found what a broad one finds.
    let mut broad = Vec::new();
    let wide = WalkOptions { breadth: 200, ..options };
    made.run(&mut Walk::new(&graph, &made.cells, &set[40], None, wide), &mut broad).unwrap();
    let mut resumed = Vec::new();
    let mut walk = Walk::new(&graph, &made.cells, &set[40], None, options);
    made.run(&mut walk, &mut resumed).unwrap();
    walk.resume(200);
    made.run(&mut walk, &mut resumed).unwrap();
    let best = |found: &mut Vec<Candidate>| -> Vec<u32> {
        found.sort_by(|a, b| b.estimate.total_cmp(&a.estimate));
        found.iter().take(100).map(|candidate| candidate.ord).collect()
    };
    let (broad, resumed) = (best(&mut broad), best(&mut resumed));
    let same = broad.iter().filter(|ord| resumed.contains(ord)).count();
    assert!(same >= 95, "{same} of 100");
}

#[test]
fn pruning_agrees_with_the_plain_rule() {
    let mut rng = fastrand::Rng::with_seed(9);
    for round in 0..60 {
        let (count, dims, degree) = (rng.usize(2..90), rng.usize(1..40), rng.usize(1..20));
        let mut rows = FixedRows::new(dims);
        for _ in 0..count {
            let vector: Vec<f32> = (0..dims).map(|_| rng.i8(-3..4).into()).collect();
            rows.push(&vector, FIXED_NORM / (3.0 * (dims as f64).sqrt()));
        }
        let halves: Vec<i32> = (0..count).map(|ix| cells::half_square(rows.row(ix))).collect();
        let space = Space { rows, halves };
        let between = |a: usize, b: usize| {
            let mut dot = [0];
            fixed_dots_block(space.rows.stride(), space.rows.row(a), space.rows.row(b), &mut dot);
            Space::half_distance(space.halves[a], space.halves[b], dot[0])
        };
        let mut candidates: Vec<Neighbour> =
            (1..count).map(|ord| Neighbour::new(0, ord as u32, between(0, ord))).collect();
        smallest(&mut candidates, 64);
        let mut plain: Vec<Neighbour> = Vec::new();
        for alpha in [100u64, 144] {
            for candidate in &candidates {
                let is_near = |kept: &Neighbour| {
                    let apart = between(kept.ord as usize, candidate.ord as usize);
                    u64::from(apart) * alpha < u64::from(candidate.half_distance) * 100
                };
                if plain.len() < degree && !plain.contains(candidate) && !plain.iter().any(is_near) {
                    plain.push(*candidate);
                }
            }
        }
        plain.sort_unstable();
        Pruner::new(dims, degree).prune(&space, &mut candidates);
        assert_eq!(candidates, plain, "round {round}");
    }
}

#[test]
fn rows_read_back() {
    let mut rng = fastrand::Rng::with_seed(2);
    for count in [1u32, 2, 3, 255, 256, 257, 70_000, u32::MAX] {
        for degree in [1u32, 7, 32, 256] {
            let shape = RowShape::new(degree, count);
            let mut bytes = Vec::new();
            let mut rows = Vec::new();
            for ix in 0..5 {
                let ord = rng.u32(0..count);
                let len = rng.u32(0..=degree);
                let row: Vec<u32> = (0..len).map(|_| rng.u32(0..count)).filter(|&other| other != ord).collect();
                shape.write_row(ord, &row, &mut bytes);
                rows.push((ix, ord, row));
            }
            for (ix, ord, row) in rows {
                let mut own = Vec::new();
                shape.read_row(&bytes, ix, ord, &mut own);
                assert_eq!(own, row, "{count} {degree}");
            }
        }
    }
}

#[test]
fn the_same_vectors_give_the_same_bytes_everywhere() {
    let set: Vec<Vec<f32>> =
        (0..700u32).map(|ix| (0..9).map(|at| ((ix * 37 + at * 101) % 211) as f32 / 211.0 - 0.4).collect()).collect();
    let made = make(&set, Metric::Cosine, Bits::Two, GraphOptions { degree: 12, near_cells: 8 }, true);
    assert_eq!(crate::codec::checksum::crc32c(&made.adjacency), 0xccbe_83f4);
}

#[test]
fn damage_is_reported_and_never_panics() {
    let set = vectors(500, 12, 1);
    let mut made = make(&set, Metric::Cosine, Bits::One, GraphOptions { degree: 6, near_cells: 4 }, false);
    let mut rng = fastrand::Rng::with_seed(4);
    for _ in 0..600 {
        let in_meta = rng.bool();
        let at = rng.usize(0..if in_meta { made.meta.len() } else { made.adjacency.len() });
        let flip = |made: &mut Made, bit: u8| if in_meta { made.meta[at] ^= bit } else { made.adjacency[at] ^= bit };
        let bit = 1u8 << rng.u32(0..8);
        flip(&mut made, bit);
        let result = made.graph().and_then(|graph| {
            made.check(&graph)?;
            let options = WalkOptions { breadth: 600, starts: 1, expansions: 3 };
            made.run(&mut Walk::new(&graph, &made.cells, &set[0], None, options), &mut Vec::new())
        });
        // The metadata has its checksum with the caller: damage there may move the entry or a measured recall.
        match result {
            Err(error) => assert_eq!(error.kind().code(), "corrupt"),
            Ok(_) => assert!(in_meta, "damage at {at} of the neighbours was not seen"),
        }
        flip(&mut made, bit);
    }
}

#[test]
fn checks_see_what_checksums_do_not() {
    let set = vectors(300, 8, 7);
    let made = make(&set, Metric::L2, Bits::Two, GraphOptions { degree: 6, near_cells: 4 }, false);
    let graph = made.graph().unwrap();
    let table = cell_table(&made.cells, &made.streams);
    type Change<'a> = &'a dyn Fn(u32, &mut Vec<u32>);
    let rewrite = |change: Change<'_>| {
        let mut adjacency = Vec::new();
        for (cell, &(first, len)) in (0..).zip(table.iter().flatten()) {
            let start = adjacency.len();
            let range = graph.shape.block(cell, first, len);
            for ix in 0..len {
                let mut row = Vec::new();
                graph.shape.read_row(&made.adjacency[range.start as usize..], ix, first + ix, &mut row);
                change(first + ix, &mut row);
                graph.shape.write_row(first + ix, &row, &mut adjacency);
            }
            crate::codec::checksum::seal(&mut adjacency, start);
        }
        let mut check = AdjacencyCheck::new(&graph);
        let mut cell = 0;
        for group in &table {
            let range = graph.group_range(cell, group);
            check.group(&adjacency[range.start as usize..range.end as usize], group)?;
            cell += group.len() as u32;
        }
        check.finish()
    };
    rewrite(&|_, _| {}).unwrap();
    let wrong: [(&str, Change<'_>); 3] = [
        ("twice", &|ord, row| {
            if ord == 200 {
                row[1] = row[0];
            }
        }),
        ("not ascending", &|ord, row| {
            if ord == 17 {
                row.reverse();
            }
        }),
        ("unreachable", &|ord, row| {
            row.retain(|&other| other != 99);
            if ord == 99 {
                row.truncate(1);
            }
        }),
    ];
    for (name, change) in wrong {
        let error = rewrite(change).expect_err(name);
        assert_eq!(error.kind().code(), "corrupt", "{name}");
    }
}

#[test]
fn bytes_of_graphs_stay_what_they_are_however_short_the_steps() {
    let known = [
        ("one", 0x234c_2c6a, 0x4867_4bc7),
        ("two", 0x8bdf_2b69, 0x4867_4bc7),
        ("few", 0xb40a_2e64, 0x4867_4bc7),
        ("equal", 0xd3ed_09a0, 0x7665_140d),
        ("zero", 0x38dc_d807, 0xcc01_4e3d),
        ("doubled", 0x69a7_1c39, 0x7575_e67f),
        ("constant dimensions", 0x4e39_d0ff, 0x5795_5a3e),
        ("skewed", 0x12bd_e94f, 0x81c7_38dd),
        ("line", 0x16e1_8438, 0x4bf5_9db0),
        ("plain", 0xacae_36c9, 0x9756_fb95),
    ];
    let options = GraphOptions { degree: 16, near_cells: 6 };
    let short = Steps { cells: 1, components: 1, neighbours: 1, linked: 1, searched: 1 };
    for ((name, set), (known_name, meta_crc, adjacency_crc)) in sets().iter().zip(known) {
        assert_eq!(*name, known_name);
        for steps in [Steps::default(), short] {
            let (made, num_steps) = make_in(steps, set, Metric::L2, Bits::Four, options, false);
            let found = (crc32c::crc32c(&made.meta), crc32c::crc32c(&made.adjacency));
            assert_eq!(found, (meta_crc, adjacency_crc), "{name} {steps:?}");
            // Each vector is linked, filled in, offered to others, summed, compared with the mean and reached.
            assert!(steps.linked > 1 || num_steps >= 6 * set.len(), "{name}: {num_steps} steps");
        }
    }
}
