//! Some of several scorers: any, or at least so many; their sum, or the best of them.
//!
//! ```text
//! leads:      scorers of which every match has at least one; a heap by document
//! followers:  the others, moved to a document only when it is asked about
//!
//! of a union all lead. With at least m to match, the m - 1 with the most documents follow: they alone are too few.
//! With a minimum score, window by window, the ones with the lowest bounds follow, as long as their bounds together do
//! not pass it (MAXSCORE, document at a time); a window that all together cannot pass is jumped over.
//! ```

use crate::{
    postings::END,
    query::scorer::{
        BoxScorer, Scorer,
        boolean::{Combine, best_of},
    },
    topk::order,
};

/// Documents of a window at least: bounds of many scorers are not asked for block by block.
const MIN_WINDOW: u32 = 512;
/// And at most.
const MAX_WINDOW: u32 = 1 << 16;
/// Documents that a clause may be behind the window: moving it decodes a block.
const MAX_LAG: u32 = 8192;
/// What bounds are widened by where a share of scores is added up in another order than the scores are.
const SLACK: f64 = 1.0 + 1e-6;

/// Documents that at least `min_match` clauses have.
pub(in crate::query) struct OrScorer {
    clauses: Vec<BoxScorer>,
    min_match: usize,
    combine: Combine,
    /// Document and number of each lead, a binary heap with the smallest on top.
    heap: Vec<u64>,
    /// By rising bound, each with the sum of the bounds up to it.
    followers: Vec<(usize, f64)>,
    /// Bounds of all clauses in the window.
    bounds: Vec<f64>,
    /// Bounds of all clauses anywhere, once there is a minimum.
    maxes: Vec<f64>,
    /// Whether followers are too few to match without a lead, in any window.
    are_few: bool,
    min_score: f32,
    window_end: u32,
    is_started: bool,
    /// No document below was asked for: where followers lag behind does not count.
    floor: u32,
    doc: u32,
    known: Option<f64>,
}

fn entry(doc: u32, ix: usize) -> u64 {
    u64::from(doc) << 32 | ix as u64
}

impl OrScorer {
    pub fn new(clauses: Vec<BoxScorer>, min_match: usize, combine: Combine) -> Self {
        let bounds = vec![0.0; clauses.len()];
        Self {
            clauses,
            min_match: min_match.max(1),
            combine,
            heap: Vec::new(),
            followers: Vec::new(),
            bounds,
            maxes: Vec::new(),
            are_few: true,
            min_score: f32::NEG_INFINITY,
            window_end: 0,
            is_started: false,
            floor: 0,
            doc: END,
            known: None,
        }
    }

    fn is_scored(&self) -> bool {
        self.min_score > f32::NEG_INFINITY
    }

    /// What a document with a best score and a sum of scores gets.
    fn combined(&self, best: f64, sum: f64) -> f64 {
        match self.combine {
            Combine::Sum => sum,
            Combine::Best(share) => f64::from(best_of(best as f32, sum, share)),
        }
    }

    /// The same at most, where both are bounds.
    fn upper(&self, best: f64, sum: f64) -> f32 {
        match self.combine {
            Combine::Sum => sum as f32,
            Combine::Best(share) if share <= 1.0 => ((best + f64::from(share) * (sum - best).max(0.0)) * SLACK) as f32,
            Combine::Best(share) => (f64::from(share) * sum * SLACK) as f32,
        }
    }

    fn start(&mut self, target: u32) {
        self.is_started = true;
        let mut docs = Vec::with_capacity(self.clauses.len());
        for clause in &mut self.clauses {
            docs.push(clause.advance(target));
        }
        let mut by_cost: Vec<usize> = (0..self.clauses.len()).collect();
        order::by_largest(&mut by_cost, |&ix| self.clauses[ix].cost());
        let num_followers = (self.min_match - 1).min(by_cost.len());
        self.followers = by_cost[..num_followers].iter().map(|&ix| (ix, 0.0)).collect();
        self.heap = by_cost[num_followers..].iter().map(|&ix| entry(docs[ix], ix)).collect();
        self.heap.sort_unstable();
    }

    fn sift_down(&mut self) {
        let (len, mut at) = (self.heap.len(), 0);
        loop {
            let mut child = 2 * at + 1;
            if child >= len {
                return;
            }
            if child + 1 < len && self.heap[child + 1] < self.heap[child] {
                child += 1;
            }
            if self.heap[at] <= self.heap[child] {
                return;
            }
            self.heap.swap(at, child);
            at = child;
        }
    }

    fn top(&self) -> u32 {
        self.heap.first().map_or(END, |top| (top >> 32) as u32)
    }

    /// Moves leads in front of `target` there.
    fn move_leads(&mut self, target: u32) {
        loop {
            let Some(&top) = self.heap.first() else { return };
            let (doc, ix) = ((top >> 32) as u32, top as u32 as usize);
            if doc >= target {
                return;
            }
            let clause = &mut self.clauses[ix];
            let found = if doc + 1 == target { clause.next() } else { clause.advance(target) };
            self.heap[0] = entry(found, ix);
            self.sift_down();
        }
    }

    /// Where the next window starts, given where the leads are: what the followers have in between counts as well, unless
    /// they cannot pass the minimum anywhere.
    fn next_start(&mut self, doc: u32) -> u32 {
        if self.maxes.is_empty() {
            self.maxes = self.clauses.iter_mut().map(|clause| f64::from(clause.max_score()).max(0.0)).collect();
        }
        if self.are_few {
            return doc;
        }
        let maxes = self.followers.iter().map(|&(ix, _)| self.maxes[ix]);
        let (best, sum) = maxes.fold((0.0, 0.0), |(best, sum): (f64, f64), max| (best.max(max), sum + max));
        if self.upper(best, sum) <= self.min_score {
            return doc;
        }
        // Once no lead is left, followers are moved to where they are.
        let (start, clauses) = (self.window_end.max(self.floor), &mut self.clauses);
        let place = |&(ix, _): &(usize, f64)| if doc == END { clauses[ix].advance(start) } else { clauses[ix].doc() };
        let behind = self.followers.iter().map(place).min().unwrap_or(END);
        doc.min(behind.max(start))
    }

    /// Chooses leads and followers for the window that starts at `doc`; whether it can have a match that passes.
    fn enter_window(&mut self, doc: u32) -> bool {
        let end = self.window_end(doc);
        self.window_end = end;
        let (mut best, mut sum) = (0.0f64, 0.0);
        for (clause, bound) in self.clauses.iter_mut().zip(&mut self.bounds) {
            *bound = f64::from(clause.bound(doc, end)).max(0.0);
            best = best.max(*bound);
            sum += *bound;
        }
        if self.upper(best, sum) <= self.min_score {
            return false;
        }
        let mut order: Vec<usize> = (0..self.clauses.len()).collect();
        order::by(&mut order, |&a, &b| self.bounds[a].total_cmp(&self.bounds[b]));
        let (mut sum, mut by_score, mut cost_by_score) = (0.0, 0, 0);
        for &ix in &order {
            sum += self.bounds[ix];
            if self.upper(self.bounds[ix], sum) > self.min_score {
                break;
            }
            by_score += 1;
            cost_by_score += self.clauses[ix].cost();
        }
        // Those that are too few alone may be more of the work than those that score too little.
        let mut by_cost: Vec<usize> = order.clone();
        order::by_largest(&mut by_cost, |&ix| self.clauses[ix].cost());
        by_cost.truncate(self.min_match - 1);
        let few = by_cost.iter().map(|&ix| self.clauses[ix].cost()).sum::<u64>() > cost_by_score;
        self.are_few = few;
        let (mut below, mut followers) = (0.0, Vec::new());
        self.heap.clear();
        for (place, &ix) in order.iter().enumerate() {
            if if few { by_cost.contains(&ix) } else { place < by_score } {
                below += self.bounds[ix];
                followers.push((ix, below));
            } else {
                let found = self.clauses[ix].advance(doc);
                self.heap.push(entry(found, ix));
            }
        }
        self.heap.sort_unstable();
        self.followers = followers;
        true
    }

    /// Where a window behind the current one can start: no clause has a document before. Clauses that are not far behind
    /// are not moved to know it.
    fn behind_window(&mut self) -> u32 {
        let end = self.window_end;
        let place = |clause: &mut BoxScorer| {
            let doc = clause.doc();
            if doc < end && end - doc > MAX_LAG { clause.advance(end) } else { doc }
        };
        self.clauses.iter_mut().map(place).min().unwrap_or(END).max(end)
    }

    /// Visits the leads on `doc`.
    fn each_lead(heap: &[u64], clauses: &mut [BoxScorer], doc: u32, each: &mut impl FnMut(&mut BoxScorer)) {
        fn visit(heap: &[u64], at: usize, doc: u32, clauses: &mut [BoxScorer], each: &mut impl FnMut(&mut BoxScorer)) {
            let Some(&here) = heap.get(at).filter(|here| (**here >> 32) as u32 == doc) else { return };
            each(&mut clauses[here as u32 as usize]);
            visit(heap, 2 * at + 1, doc, clauses, each);
            visit(heap, 2 * at + 2, doc, clauses, each);
        }
        visit(heap, 0, doc, clauses, each);
    }

    /// Whether enough clauses have `doc`, and with a minimum whether their score passes it.
    fn holds(&mut self, doc: u32) -> bool {
        let is_scored = self.is_scored();
        let (mut found, mut best, mut sum) = (0, f64::NEG_INFINITY, 0.0);
        Self::each_lead(&self.heap, &mut self.clauses, doc, &mut |clause| {
            found += 1;
            if is_scored {
                let score = f64::from(clause.score());
                best = best.max(score);
                sum += score;
            }
        });
        let mut left = self.followers.len();
        while left > 0 {
            if found + left < self.min_match || (!is_scored && found >= self.min_match) {
                break;
            }
            let (ix, below) = self.followers[left - 1];
            if is_scored && self.upper(best.max(self.bounds[ix]), sum + below) <= self.min_score {
                return false;
            }
            left -= 1;
            if self.clauses[ix].advance(doc) == doc {
                found += 1;
                if is_scored {
                    let score = f64::from(self.clauses[ix].score());
                    best = best.max(score);
                    sum += score;
                }
            }
        }
        if found < self.min_match {
            return false;
        }
        if is_scored {
            let score = self.combined(best, sum);
            self.known = Some(score);
            return score as f32 > self.min_score;
        }
        true
    }

    /// The first document from where the leads are that holds.
    fn settle(&mut self) -> u32 {
        loop {
            let doc = self.top();
            (self.doc, self.known) = (doc, None);
            if doc == END && (self.are_few || !self.is_scored()) {
                return END;
            }
            if self.is_scored() && doc >= self.window_end {
                let mut start = self.next_start(doc);
                while start != END && !self.enter_window(start) {
                    start = self.behind_window();
                }
                if start == END {
                    self.heap.clear();
                    self.doc = END;
                    return END;
                }
                continue;
            }
            if (self.min_match == 1 && !self.is_scored()) || self.holds(doc) {
                return doc;
            }
            self.move_leads(doc + 1);
        }
    }
}

impl Scorer for OrScorer {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn next(&mut self) -> u32 {
        if !self.is_started {
            self.start(0);
        } else if self.doc != END {
            self.floor = self.doc + 1;
            self.move_leads(self.floor);
        }
        self.settle()
    }

    fn advance(&mut self, target: u32) -> u32 {
        if self.is_started {
            if self.doc == END || self.doc >= target {
                return self.doc;
            }
            self.floor = target;
            self.move_leads(target);
        } else {
            self.floor = target;
            self.start(target);
        }
        self.settle()
    }

    fn score(&mut self) -> f32 {
        self.part_score() as f32
    }

    fn part_score(&mut self) -> f64 {
        if let Some(score) = self.known {
            return score;
        }
        let (doc, mut best, mut sum) = (self.doc, f64::NEG_INFINITY, 0.0);
        let mut add = |clause: &mut BoxScorer| {
            let score = f64::from(clause.score());
            best = best.max(score);
            sum += score;
        };
        Self::each_lead(&self.heap, &mut self.clauses, doc, &mut add);
        for &(ix, _) in &self.followers {
            if self.clauses[ix].advance(doc) == doc {
                add(&mut self.clauses[ix]);
            }
        }
        self.combined(best, sum)
    }

    fn cost(&self) -> u64 {
        let mut costs: Vec<u64> = self.clauses.iter().map(|clause| clause.cost()).collect();
        costs.sort_unstable();
        // Of those that must match, the ones with the most documents are only asked.
        costs[..costs.len().saturating_sub(self.min_match - 1)].iter().sum()
    }

    fn bound(&mut self, from: u32, to: u32) -> f32 {
        if self.doc == END {
            return f32::NEG_INFINITY;
        }
        let (mut best, mut sum) = (0.0f64, 0.0);
        for clause in &mut self.clauses {
            let bound = f64::from(clause.bound(from, to)).max(0.0);
            best = best.max(bound);
            sum += bound;
        }
        self.upper(best, sum)
    }

    fn window_end(&mut self, target: u32) -> u32 {
        let ends = self.clauses.iter_mut().map(|clause| clause.window_end(target));
        let end = ends.min().unwrap_or(END);
        end.clamp(target.saturating_add(MIN_WINDOW), target.saturating_add(MAX_WINDOW))
    }

    fn max_score(&mut self) -> f32 {
        let (mut best, mut sum) = (0.0f64, 0.0);
        for clause in &mut self.clauses {
            let bound = f64::from(clause.max_score()).max(0.0);
            best = best.max(bound);
            sum += bound;
        }
        self.upper(best, sum)
    }

    fn set_min_score(&mut self, min: f32) {
        if !self.is_scored() {
            self.window_end = 0;
        }
        self.min_score = min;
    }
}
