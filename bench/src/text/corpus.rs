//! Real documents, their tokens and how often words and pairs of words occur: what queries are drawn from.

use std::{
    collections::HashMap,
    env, fs,
    io::Read,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use rangefind::analysis::Analyzer;
use serde::Deserialize;

/// Analyzer of the text field in both engines: words, folded, not stemmed, no stop words left out.
pub const ANALYZER: &str = "standard";
/// Collections of the whole corpus, in order: 256k short documents.
pub const WHOLE: &[&str] = &["wordnet", "debian", "movies", "tldr"];
/// The collection of a quick run.
pub const SMALL: &[&str] = &["wordnet"];

/// Documents and their words.
pub struct Corpus {
    /// Title, line break, text; each with at least one word.
    pub texts: Vec<String>,
    /// Distinct words, by number.
    pub words: Vec<String>,
    /// Documents that have each word.
    pub doc_freqs: Vec<u32>,
    /// Words of all documents one after another.
    tokens: Vec<u32>,
    /// Where the words of each document end.
    ends: Vec<usize>,
    numbers: HashMap<String, u32>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    title: String,
    #[serde(default)]
    text: String,
}

impl Corpus {
    /// Reads the collections called `names`.
    ///
    /// # Panics
    /// If a collection is not where `$RANGEFIND_DATA` says: a benchmark of nothing proves nothing.
    pub fn load(names: &[&str]) -> Self {
        let mut corpus = Self {
            texts: Vec::new(),
            words: Vec::new(),
            doc_freqs: Vec::new(),
            tokens: Vec::new(),
            ends: Vec::new(),
            numbers: HashMap::new(),
        };
        let analyzer = Analyzer::find(ANALYZER).expect("built in");
        let mut last_doc: Vec<usize> = Vec::new();
        for name in names {
            let path = folder().join(name).join("docs.jsonl.gz");
            for line in read_gz(&path).lines().filter(|line| !line.is_empty()) {
                let line: Line = serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}"));
                corpus.add(format!("{}\n{}", line.title, line.text), &analyzer, &mut last_doc);
            }
        }
        corpus
    }

    fn add(&mut self, text: String, analyzer: &Analyzer, last_doc: &mut Vec<usize>) {
        let (doc, start) = (self.texts.len(), self.tokens.len());
        analyzer.analyze(&text, |token| {
            let next = self.words.len() as u32;
            let number = match self.numbers.get(token.term) {
                Some(&number) => number,
                None => {
                    self.numbers.insert(token.term.to_owned(), next);
                    self.words.push(token.term.to_owned());
                    self.doc_freqs.push(0);
                    last_doc.push(usize::MAX);
                    next
                }
            };
            self.tokens.push(number);
            let seen = std::mem::replace(&mut last_doc[number as usize], doc);
            self.doc_freqs[number as usize] += u32::from(seen != doc);
        });
        if self.tokens.len() > start {
            self.texts.push(text);
            self.ends.push(self.tokens.len());
        }
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Number of words, repetitions counted.
    pub fn num_tokens(&self) -> usize {
        self.tokens.len()
    }

    /// Documents that have `word`.
    pub fn doc_freq(&self, word: &str) -> u32 {
        self.numbers.get(word).map_or(0, |&number| self.doc_freqs[number as usize])
    }

    /// Words of one document.
    pub fn tokens(&self, doc: usize) -> &[u32] {
        let start = doc.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.tokens[start..self.ends[doc]]
    }

    /// In how many documents each pair of neighbouring words occurs; pairs of rare words are left out.
    pub fn pairs(&self, min_doc_freq: u32) -> HashMap<(u32, u32), u32> {
        let mut pairs: HashMap<(u32, u32), (u32, u32)> = HashMap::new();
        let is_common = |word: &u32| self.doc_freqs[*word as usize] >= min_doc_freq;
        for doc in 0..self.len() {
            for pair in self.tokens(doc).windows(2).filter(|pair| pair.iter().all(is_common)) {
                let (count, last) = pairs.entry((pair[0], pair[1])).or_insert((0, u32::MAX));
                *count += u32::from(*last != doc as u32);
                *last = doc as u32;
            }
        }
        pairs.into_iter().map(|(pair, (count, _))| (pair, count)).collect()
    }
}

/// A file of `$RANGEFIND_DATA`, as text.
pub fn read_data(path: &str) -> String {
    let path = folder().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read_gz(path: &Path) -> String {
    let file = fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text
}

fn folder() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    env::var_os("RANGEFIND_DATA").map_or(default, PathBuf::from)
}
