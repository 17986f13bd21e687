//! Classes of queries: named as luceneutil names them, drawn from our corpus by document frequency, and the sets of the
//! search benchmark game as they are.
//!
//! luceneutil's own words are of Wikipedia. Words and pairs of neighbouring words of the corpus fall into bands by the
//! share of documents that have them; a seeded generator draws from the bands, so that every run asks the same.

use std::ops::Range;

use rangefind::analysis::Analyzer;
use serde::Deserialize;

use super::{
    ask::Ask,
    corpus::{ANALYZER, Corpus, read_data},
    engines::{Mode, id_of},
};
use crate::Effort;

/// Share of the documents that have a word of each band. What is rarer than low is not drawn.
const HIGH: Range<f64> = 0.05..1.0;
const MED: Range<f64> = 0.005..0.05;
const LOW: Range<f64> = 0.0002..0.005;
/// The same for phrases of two words.
const HIGH_PHRASE: Range<f64> = 0.005..1.0;
const MED_PHRASE: Range<f64> = 0.0005..0.005;
const LOW_PHRASE: Range<f64> = 0.00003..0.0005;
const SEED: u64 = 104;
const PHRASE_SLOP: u32 = 4;

const ALL_MODES: &[Mode] = &[Mode::Top(10), Mode::Top(100), Mode::Count, Mode::TopAndCount];
/// Of matches with one score for all.
const SET_MODES: &[Mode] = &[Mode::Top(10), Mode::Count];

/// Queries of one kind.
pub struct Class {
    pub name: String,
    pub asks: Vec<Ask>,
    pub modes: &'static [Mode],
}

/// All classes.
pub fn classes(corpus: &Corpus, effort: Effort) -> Vec<Class> {
    let per_class = if effort == Effort::Quick { 20 } else { 50 };
    let mut classes = game(corpus, effort);
    classes.extend(nightly(corpus));
    classes.extend(Drawer::new(corpus, per_class).classes());
    classes.retain(|class| !class.asks.is_empty());
    classes
}

#[derive(Deserialize)]
struct GameLine {
    query: String,
    tags: Vec<String>,
}

/// The sets of the search benchmark game: queries of the AOL log.
fn game(corpus: &Corpus, effort: Effort) -> Vec<Class> {
    let lines = read_data("queries/search-benchmark-game.queries.jsonl");
    let lines: Vec<GameLine> = lines.lines().map(|line| serde_json::from_str(line).expect("lines of JSON")).collect();
    let step = if effort == Effort::Quick { 5 } else { 1 };
    let kinds = [
        ("Union", "union"),
        ("Intersection", "intersection"),
        ("AolPhrase", "phrase"),
        ("AolTerm", "term"),
        ("Negated", "negated"),
    ];
    kinds
        .into_iter()
        .map(|(name, tag)| {
            let of_kind = lines.iter().filter(|line| line.tags.iter().any(|own| own == tag));
            let asks = of_kind.step_by(step).filter_map(|line| parse(&line.query, corpus)).collect();
            Class { name: name.to_owned(), asks, modes: ALL_MODES }
        })
        .collect()
}

/// Classes of whole sentences, with luceneutil's own words.
fn nightly(corpus: &Corpus) -> Vec<Class> {
    const NAMES: &[&str] = &[
        "And2Terms2StopWords",
        "And3Terms",
        "AndStopWords",
        "Or2Terms2StopWords",
        "Or3Terms",
        "OrStopWords",
        "OrMany",
        "OrHighRare",
    ];
    let text = read_data("queries/luceneutil.wikinightly.tasks");
    let of_class = |name: &str| -> Vec<Ask> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        lines.filter_map(|line| parse(line.split(" # ").next().unwrap_or_default(), corpus)).collect()
    };
    NAMES.iter().map(|&name| Class { name: name.to_owned(), asks: of_class(name), modes: ALL_MODES }).collect()
}

/// Reads `+all +of`, `any of`, `"a phrase"` and `word -"not this"`; `None` where it has none of our words.
fn parse(text: &str, corpus: &Corpus) -> Option<Ask> {
    let analyzer = Analyzer::find(ANALYZER).expect("built in");
    let words = |text: &str| analyzer.tokens(text).into_iter().map(|token| token.term).collect::<Vec<_>>();
    let one = |text: &str| -> Option<Ask> {
        let mut found = words(text);
        match found.len() {
            0 => None,
            1 => Some(Ask::Term(found.remove(0))),
            _ => Some(Ask::Phrase(found, 0)),
        }
    };
    let (mut must, mut should, mut must_not) = (Vec::new(), Vec::new(), Vec::new());
    let mut rest = text.trim();
    while !rest.is_empty() {
        let sign = rest.chars().next().filter(|sign| "+-".contains(*sign));
        rest = rest.trim_start_matches(['+', '-']);
        let (part, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        rest = behind.trim_start();
        let into = match sign {
            Some('+') => &mut must,
            Some(_) => &mut must_not,
            None => &mut should,
        };
        into.extend(one(part));
    }
    let single =
        |mut asks: Vec<Ask>, make: fn(Vec<Ask>) -> Ask| if asks.len() == 1 { asks.remove(0) } else { make(asks) };
    let is_known =
        |ask: &Ask| matches!(ask, Ask::Term(word) if corpus.doc_freq(word) > 0) || !matches!(ask, Ask::Term(_));
    if !must.iter().chain(&should).any(is_known) {
        return None;
    }
    let positive = match (must.is_empty(), should.is_empty()) {
        (true, true) => return None,
        (false, true) => single(must, Ask::And),
        (true, false) => single(should, Ask::Or),
        (false, false) => Ask::Prefer(must, should),
    };
    Some(if must_not.is_empty() { positive } else { Ask::Without(Box::new(positive), must_not) })
}

/// Draws words by band.
pub struct Drawer<'a> {
    corpus: &'a Corpus,
    random: fastrand::Rng,
    per_class: usize,
    high: Vec<&'a str>,
    med: Vec<&'a str>,
    low: Vec<&'a str>,
}

impl<'a> Drawer<'a> {
    pub fn new(corpus: &'a Corpus, per_class: usize) -> Self {
        let mut words: Vec<(&str, u32)> =
            corpus.words.iter().map(String::as_str).zip(corpus.doc_freqs.iter().copied()).collect();
        words.retain(|(word, _)| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase()));
        words.sort_unstable();
        let band = |range: Range<f64>| {
            let within = |freq: u32| range.contains(&(f64::from(freq) / corpus.len() as f64));
            words.iter().filter(|(_, freq)| within(*freq)).map(|(word, _)| *word).collect()
        };
        let (high, med, low) = (band(HIGH), band(MED), band(LOW));
        Self { corpus, random: fastrand::Rng::with_seed(SEED), per_class, high, med, low }
    }

    /// So many frequent words.
    pub fn words_of_high(&mut self) -> Vec<String> {
        (0..self.per_class).map(|_| self.draw(&[Band::High])[0].to_owned()).collect()
    }

    /// So many words of middling frequency.
    pub fn words_of_med(&mut self) -> Vec<String> {
        (0..self.per_class).map(|_| self.draw(&[Band::Med])[0].to_owned()).collect()
    }

    /// Distinct words, one of each band.
    fn draw(&mut self, bands: &[Band]) -> Vec<&'a str> {
        let mut found: Vec<&str> = Vec::with_capacity(bands.len());
        while found.len() < bands.len() {
            let band = match bands[found.len()] {
                Band::High => &self.high,
                Band::Med => &self.med,
                Band::Low => &self.low,
            };
            let word = band[self.random.usize(0..band.len())];
            if !found.contains(&word) {
                found.push(word);
            }
        }
        found
    }

    fn class(&mut self, name: &str, bands: &[Band], modes: &'static [Mode], make: impl Fn(&[&str]) -> Ask) -> Class {
        let asks = (0..self.per_class).map(|_| make(&self.draw(bands))).collect();
        Class { name: name.to_owned(), asks, modes }
    }

    pub fn classes(&mut self) -> Vec<Class> {
        use Band::{High, Low, Med};
        let mut classes = Vec::new();
        let term = |words: &[&str]| Ask::term(words[0]);
        for (name, band) in [("HighTerm", High), ("MedTerm", Med), ("LowTerm", Low)] {
            classes.push(self.class(name, &[band], ALL_MODES, term));
        }
        for (name, bands) in [("HighHigh", [High, High]), ("HighMed", [High, Med]), ("HighLow", [High, Low])] {
            let and = format!("And{name}");
            classes.push(self.class(&and, &bands, ALL_MODES, |words| Ask::terms(words, Ask::And)));
            let or = format!("Or{name}");
            classes.push(self.class(&or, &bands, ALL_MODES, |words| Ask::terms(words, Ask::Or)));
        }
        let high_or_med_med = |words: &[&str]| Ask::And(vec![Ask::term(words[0]), Ask::terms(&words[1..], Ask::Or)]);
        classes.push(self.class("AndHighOrMedMed", &[High, Med, Med], ALL_MODES, high_or_med_med));
        classes.push(self.class("AndMedOrHighHigh", &[Med, High, High], ALL_MODES, high_or_med_med));
        let not = |words: &[&str]| Ask::Without(Box::new(Ask::term(words[0])), vec![Ask::term(words[1])]);
        classes.push(self.class("OrHighNotMed", &[High, Med], ALL_MODES, not));
        let min_two = |words: &[&str]| Ask::terms(words, |asks| Ask::AtLeast(2, asks));
        classes.push(self.class("BM25MSM2", &[High, Med, Med], ALL_MODES, min_two));
        for (name, range) in [("HighPhrase", HIGH_PHRASE), ("MedPhrase", MED_PHRASE), ("LowPhrase", LOW_PHRASE)] {
            let phrases = self.phrases(range);
            let of_slop = |slop| phrases.iter().map(|words| Ask::Phrase(words.clone(), slop)).collect();
            if name == "MedPhrase" {
                let asks = of_slop(PHRASE_SLOP);
                classes.push(Class { name: "SloppyPhrase".to_owned(), asks, modes: ALL_MODES });
                let filtered = phrases.iter().map(|words| Ask::Phrase(words.clone(), 0)).collect();
                classes.push(self.filtered("FilteredPhrase", filtered));
            }
            classes.push(Class { name: name.to_owned(), asks: of_slop(0), modes: ALL_MODES });
        }
        for name in ["HighTerm", "AndHighHigh", "AndHighMed", "OrHighHigh", "OrHighMed"] {
            let asks = classes.iter().find(|class| class.name == name).map(|class| class.asks.clone());
            let name = format!("Filtered{}", name.trim_start_matches("HighT").replace("erm", "Term"));
            classes.push(self.filtered(&name, asks.unwrap_or_default()));
        }
        classes.push(self.prefixes());
        let keys = (0..self.per_class * 4).map(|_| Ask::Key(id_of(self.random.usize(0..self.corpus.len()))));
        classes.push(Class { name: "PKLookup".to_owned(), asks: keys.collect(), modes: &[Mode::Top(10)] });
        classes
    }

    fn filtered(&mut self, name: &str, asks: Vec<Ask>) -> Class {
        let parts = super::engines::PARTS;
        let asks = asks.into_iter().map(|ask| Ask::InPart(Box::new(ask), self.random.u32(0..parts))).collect();
        Class { name: name.to_owned(), asks, modes: ALL_MODES }
    }

    /// Pairs of neighbouring words of the band.
    fn phrases(&mut self, range: Range<f64>) -> Vec<Vec<String>> {
        let len = self.corpus.len() as f64;
        let word = |number: u32| self.corpus.words[number as usize].clone();
        let mut pairs: Vec<_> = self.corpus.pairs(((LOW.start * len) as u32).max(2)).into_iter().collect();
        pairs.retain(|(_, count)| range.contains(&(f64::from(*count) / len)));
        pairs.sort_unstable();
        self.random.shuffle(&mut pairs);
        pairs.truncate(self.per_class);
        pairs.into_iter().map(|((first, second), _)| vec![word(first), word(second)]).collect()
    }

    /// The first three letters of words.
    fn prefixes(&mut self) -> Class {
        let mut prefixes: Vec<String> = Vec::new();
        while prefixes.len() < self.per_class {
            let word = self.med[self.random.usize(0..self.med.len())];
            if word.len() > 3 && !prefixes.contains(&word[..3].to_owned()) {
                prefixes.push(word[..3].to_owned());
            }
        }
        let asks = prefixes.into_iter().map(Ask::Prefix).collect();
        Class { name: "Prefix3".to_owned(), asks, modes: SET_MODES }
    }

    /// A query of up to three levels with conditions of every kind.
    pub fn nested(&mut self, depth: u32) -> Ask {
        let kind = if depth == 0 { 0 } else { self.random.u32(1..6) };
        let some = |drawer: &mut Self, least: usize| -> Vec<Ask> {
            (0..drawer.random.usize(least..4)).map(|_| drawer.nested(depth - 1)).collect()
        };
        match kind {
            0 => {
                let band = [Band::High, Band::Med, Band::Low][self.random.usize(0..3)];
                if self.random.u32(0..6) > 0 {
                    return Ask::term(self.draw(&[band])[0]);
                }
                let doc = self.random.usize(0..self.corpus.len());
                let tokens = self.corpus.tokens(doc);
                let start = self.random.usize(0..tokens.len());
                let run = &tokens[start..tokens.len().min(start + 2)];
                match run {
                    [one] => Ask::term(&self.corpus.words[*one as usize]),
                    run => Ask::Phrase(run.iter().map(|&word| self.corpus.words[word as usize].clone()).collect(), 0),
                }
            }
            1 => Ask::And(some(self, 2)),
            2 => Ask::Or(some(self, 2)),
            3 => Ask::Without(Box::new(self.nested(depth - 1)), some(self, 1)),
            4 => Ask::Prefer(some(self, 1), some(self, 1)),
            _ => Ask::AtLeast(2, some(self, 2)),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Band {
    High,
    Med,
    Low,
}
