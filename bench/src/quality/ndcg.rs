//! Normalised discounted cumulative gain (Järvelin and Kekäläinen, 2002), with the gain of trec_eval: the relevance
//! itself, divided by log2(rank + 1).

use std::collections::HashMap;

/// nDCG of a ranking of ids, cut at `depth`. 0 if nothing is relevant.
pub fn ndcg(ranked: &[String], relevant: &HashMap<String, f64>, depth: usize) -> f64 {
    let discounted = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
        gains.take(depth).enumerate().map(|(rank, gain)| gain / (rank as f64 + 2.0).log2()).sum()
    };
    let mut best: Vec<f64> = relevant.values().copied().collect();
    best.sort_by(|a, b| b.total_cmp(a));
    let ideal = discounted(&mut best.into_iter());
    let found = discounted(&mut ranked.iter().map(|id| relevant.get(id).copied().unwrap_or(0.0)));
    if ideal > 0.0 { found / ideal } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(ids: &str) -> Vec<String> {
        ids.chars().map(String::from).collect()
    }

    #[test]
    fn golden_values() {
        let relevant = HashMap::from([("a".to_owned(), 1.0), ("b".to_owned(), 1.0)]);
        assert_eq!(ndcg(&ranked("abx"), &relevant, 10), 1.0);
        assert_eq!(ndcg(&ranked("xyz"), &relevant, 10), 0.0);
        // 1/log2(2) + 1/log2(4) over 1/log2(2) + 1/log2(3).
        assert!((ndcg(&ranked("axb"), &relevant, 10) - 1.5 / 1.630_929_753_571_457_4).abs() < 1e-12);
        assert!((ndcg(&ranked("xa"), &relevant, 2) - 0.386_852_807_234_541_6).abs() < 1e-9);
        assert_eq!(ndcg(&ranked("xa"), &relevant, 1), 0.0);
        assert_eq!(ndcg(&ranked("a"), &HashMap::new(), 10), 0.0);
    }

    #[test]
    fn higher_relevance_counts_more() {
        let relevant = HashMap::from([("a".to_owned(), 2.0), ("b".to_owned(), 1.0)]);
        assert!(ndcg(&ranked("ab"), &relevant, 10) > ndcg(&ranked("ba"), &relevant, 10));
    }
}
