//! What a schema says of an analyzer: its name, or a pipeline of a tokenizer and filters, as JSON.

use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::analysis::{
    Analyzer, CustomAnalyzers,
    analyzer::{EDGE_GRAMS, INNER_GRAMS},
    grams::Grams,
    languages::{self, Language, Spelling, Trim},
    pipeline::{Pipeline, Step, Tokenizer},
    stop_words::WordSet,
    synonyms::Synonyms,
};

/// Why there is no analyzer, or no token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AnalyzerError {
    /// A definition that makes no sense.
    #[error("{what}")]
    Definition {
        /// What is wrong with it.
        what: String,
    },
    /// A name that is neither built in nor registered.
    #[error(
        "there is no analyzer {name:?}: a custom one must be given when the index is opened, a new one needs a newer version"
    )]
    Unknown {
        /// The name.
        name: String,
    },
    /// A custom analyzer that failed, or gave what are no tokens.
    #[error("analyzer {name:?}: {reason}")]
    Failed {
        /// Its name.
        name: String,
        /// Why, in words.
        reason: String,
    },
}

/// Filters of one pipeline.
const MAX_FILTERS: usize = 32;
/// Stop words that a definition lists.
const MAX_STOP_WORDS: usize = 10_000;
/// Bytes of a definition: a schema is part of every commit.
const MAX_DEFINITION_BYTES: usize = 512 << 10;

const TOKENIZERS: &str = "standard, whitespace, keyword, code, edgeNgram or ngram";
const FILTERS: &str = "\"nfkc\", \"lowercase\", \"fold\", \"apostrophe\", { \"stop\": … }, { \"stem\": … }, \
    { \"synonyms\": … }, { \"length\": … }, { \"elision\": … } or { \"spelling\": … }";

/// An analyzer as a schema records it. Two are equal if they say the same.
///
/// # Examples
/// ```
/// use rangefind::analysis::AnalyzerSpec;
/// use serde_json::json;
///
/// let spec = AnalyzerSpec::from_json(&json!({
///     "tokenizer": "standard",
///     "filters": ["lowercase", { "stop": "german" }, { "stem": "german" }, "fold"],
/// }))?;
/// let analyzer = spec.analyzer().expect("a pipeline is complete in itself");
/// assert_eq!(analyzer.tokens("Häuser")[0].term, "haus");
/// # Ok::<(), rangefind::analysis::AnalyzerError>(())
/// ```
#[derive(Debug, Clone)]
pub struct AnalyzerSpec {
    definition: Value,
    analyzer: Option<Analyzer>,
}

impl PartialEq for AnalyzerSpec {
    fn eq(&self, other: &Self) -> bool {
        self.definition == other.definition
    }
}

impl Default for AnalyzerSpec {
    fn default() -> Self {
        "english".into()
    }
}

impl From<&str> for AnalyzerSpec {
    /// A name, known or not.
    fn from(name: &str) -> Self {
        let analyzer = Analyzer::find(name);
        let name = analyzer.as_ref().map_or(name, Analyzer::name).to_owned();
        Self { definition: Value::String(name), analyzer }
    }
}

impl From<String> for AnalyzerSpec {
    fn from(name: String) -> Self {
        name.as_str().into()
    }
}

impl AnalyzerSpec {
    /// Reads a name or a pipeline: `{ "tokenizer": "standard", "filters": ["lowercase", { "stem": "german" }] }`.
    ///
    /// # Errors
    /// [`AnalyzerError::Definition`]. An unknown name is none: it may be one of the caller's.
    pub fn from_json(value: &Value) -> Result<Self, AnalyzerError> {
        match value {
            Value::String(name) => Ok(name.as_str().into()),
            Value::Object(map) => {
                let (definition, pipeline) = pipeline(map)?;
                let text = definition.to_string();
                if text.len() > MAX_DEFINITION_BYTES {
                    return Err(bad(format!("{} bytes, at most {MAX_DEFINITION_BYTES}", text.len())));
                }
                Ok(Self { definition, analyzer: Some(Analyzer::of_pipeline(text, pipeline)) })
            }
            _ => Err(bad("expected a name, or an object with a \"tokenizer\" and \"filters\"".to_owned())),
        }
    }

    /// The same as JSON, with every default written out. [`Self::from_json`] reads it back.
    pub fn to_json(&self) -> &Value {
        &self.definition
    }

    /// The name, if it is one.
    pub fn name(&self) -> Option<&str> {
        self.definition.as_str()
    }

    /// Looks an unknown name up among the caller's analyzers.
    pub fn bind(&mut self, custom: &CustomAnalyzers) {
        if self.analyzer.as_ref().is_none_or(Analyzer::is_custom)
            && let Some(found) = self.name().and_then(|name| custom.get(name))
        {
            self.analyzer = Some(found);
        }
    }

    /// The analyzer.
    ///
    /// # Errors
    /// [`AnalyzerError::Unknown`] if it is a name that is neither built in nor bound.
    pub fn analyzer(&self) -> Result<Analyzer, AnalyzerError> {
        let unknown = || AnalyzerError::Unknown { name: self.name().unwrap_or_default().to_owned() };
        self.analyzer.clone().ok_or_else(unknown)
    }
}

fn bad(what: String) -> AnalyzerError {
    AnalyzerError::Definition { what: format!("analyzer: {what}") }
}

fn known_keys(map: &Map<String, Value>, known: &[&str]) -> Result<(), AnalyzerError> {
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(bad(format!("unknown option {key:?}, expected {}", known.join(" or ")))),
        None => Ok(()),
    }
}

/// A definition with its defaults, and what it defines.
fn pipeline(map: &Map<String, Value>) -> Result<(Value, Pipeline), AnalyzerError> {
    known_keys(map, &["tokenizer", "filters"])?;
    let mut pipeline = Pipeline::default();
    let tokenizer = tokenizer(map.get("tokenizer").unwrap_or(&Value::Null), &mut pipeline)?;
    let filters = match map.get("filters") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(list)) if list.len() <= MAX_FILTERS => list,
        Some(_) => return Err(bad(format!("\"filters\" is a list of at most {MAX_FILTERS}"))),
    };
    let mut rules = None;
    let filters: Vec<Value> =
        filters.iter().map(|value| filter(value, &mut pipeline, &mut rules)).collect::<Result<_, _>>()?;
    if let Some((rules, at_index)) = rules {
        if pipeline.grams.is_some() || pipeline.tokenizer == Tokenizer::Code {
            return Err(bad("synonyms do not go with n-grams or code".to_owned()));
        }
        // The sides of rules are words of this very pipeline.
        let synonyms = Synonyms::parse(&rules, at_index, &|side| pipeline.side(side))?;
        pipeline.synonyms = Some(synonyms);
    }
    Ok((json!({ "tokenizer": tokenizer, "filters": filters }), pipeline))
}

fn tokenizer(value: &Value, pipeline: &mut Pipeline) -> Result<Value, AnalyzerError> {
    let empty = Map::new();
    let (name, options) = match value {
        Value::Null => ("standard", &empty),
        Value::String(name) => (name.as_str(), &empty),
        Value::Object(options) => match options.get("type").and_then(Value::as_str) {
            Some(name) => (name, options),
            None => return Err(bad(format!("a tokenizer needs a \"type\": {TOKENIZERS}"))),
        },
        _ => return Err(bad(format!("a tokenizer is {TOKENIZERS}"))),
    };
    let grams = match name {
        "standard" => None,
        "whitespace" => {
            pipeline.tokenizer = Tokenizer::Whitespace;
            None
        }
        "keyword" => {
            pipeline.tokenizer = Tokenizer::Whole;
            None
        }
        "code" => {
            pipeline.tokenizer = Tokenizer::Code;
            None
        }
        "edgeNgram" => Some(EDGE_GRAMS),
        "ngram" => Some(INNER_GRAMS),
        other => return Err(bad(format!("unknown tokenizer {other:?}, expected {TOKENIZERS}"))),
    };
    let Some(usual) = grams else {
        known_keys(options, &["type"])?;
        return Ok(json!(name));
    };
    known_keys(options, &["type", "min", "max"])?;
    let min = count(options, "min")?.unwrap_or(usual.min);
    let max = count(options, "max")?.unwrap_or(usual.max.max(min));
    let lengths = if usual.edge { Grams::MAX_LEN } else { Grams::MAX_LENGTHS };
    if min == 0 || max < min || max > Grams::MAX_LEN || max - min >= lengths {
        return Err(bad(format!(
            "{name} from {min} to {max} characters: 1 to {} with at most {lengths} lengths are possible",
            Grams::MAX_LEN
        )));
    }
    pipeline.grams = Some(Grams { min, max, ..usual });
    Ok(json!({ "type": name, "min": min, "max": max }))
}

fn count(options: &Map<String, Value>, name: &str) -> Result<Option<usize>, AnalyzerError> {
    let Some(value) = options.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
    let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
    count.map(Some).ok_or_else(|| bad(format!("{name:?} is a number from 0 on")))
}

fn language(name: &Value) -> Result<&'static Language, AnalyzerError> {
    let found = name.as_str().and_then(languages::find);
    found.ok_or_else(|| bad(format!("{name} is none of the languages, such as \"german\" or \"de\"")))
}

fn strings(list: &[Value], what: &str, at_most: usize) -> Result<Vec<String>, AnalyzerError> {
    if list.len() > at_most {
        return Err(bad(format!("{what}: {} entries, at most {at_most}", list.len())));
    }
    let strings = list.iter().map(|one| one.as_str().map(str::to_owned)).collect::<Option<_>>();
    strings.ok_or_else(|| bad(format!("{what}: a list of strings is needed")))
}

/// Rules of synonyms, and whether they are applied when documents are indexed.
type Rules = Option<(Vec<String>, bool)>;

/// Adds a filter to the pipeline; returns it with its defaults.
fn filter(value: &Value, pipeline: &mut Pipeline, rules: &mut Rules) -> Result<Value, AnalyzerError> {
    let unknown = || bad(format!("unknown filter {value}, expected {FILTERS}"));
    if let Some(name) = value.as_str() {
        match name {
            "nfkc" => pipeline.steps.push(Step::Nfkc),
            "lowercase" => pipeline.steps.push(Step::Lowercase),
            "fold" => pipeline.steps.push(Step::Fold),
            "apostrophe" => pipeline.trims.push(Trim::Apostrophe),
            _ => return Err(unknown()),
        }
        return Ok(value.clone());
    }
    let (name, options) = match value.as_object().map(|map| (map.len(), map.iter().next())) {
        Some((1, Some((name, options)))) => (name.as_str(), options),
        _ => return Err(unknown()),
    };
    Ok(match name {
        "lowercase" => {
            let language = language(options)?;
            pipeline.steps.push(match language.name {
                "turkish" => Step::TurkishLowercase,
                _ => Step::Lowercase,
            });
            json!({ name: language.name })
        }
        "stop" => match options {
            Value::Array(list) => {
                let words = strings(list, "stop words", MAX_STOP_WORDS)?;
                pipeline.steps.push(Step::Stop(WordSet::of_words(words)));
                value.clone()
            }
            _ => {
                let language = language(options)?;
                if language.stop_words.is_empty() {
                    return Err(bad(format!("there are no stop words of {}", language.name)));
                }
                pipeline.steps.push(Step::Stop(WordSet::of_list(language.stop_words)));
                json!({ name: language.name })
            }
        },
        "stem" => {
            let language = language(options)?;
            pipeline.steps.push(Step::Stem(language.stemmer));
            json!({ name: language.name })
        }
        "elision" => {
            let language = language(options)?;
            let trim = language.trim.filter(|trim| matches!(trim, Trim::Elision(_)));
            let none = || bad(format!("{} leaves out no letters before an apostrophe", language.name));
            pipeline.trims.push(trim.ok_or_else(none)?);
            json!({ name: language.name })
        }
        "spelling" => {
            let language = language(options)?;
            let spelling: Option<Spelling> = language.spelling;
            let none = || bad(format!("there are no rules for the spelling of {}", language.name));
            pipeline.steps.push(Step::Spelling(spelling.ok_or_else(none)?));
            json!({ name: language.name })
        }
        "length" => {
            let options = options.as_object().ok_or_else(|| bad("length: { \"min\", \"max\" }".to_owned()))?;
            known_keys(options, &["min", "max"])?;
            let min = count(options, "min")?.unwrap_or(0);
            let max = count(options, "max")?.unwrap_or(super::MAX_TERM_BYTES);
            if max < min {
                return Err(bad(format!("length from {min} to {max}")));
            }
            pipeline.steps.push(Step::Length(min, max));
            json!({ name: { "min": min, "max": max } })
        }
        "synonyms" => {
            if rules.is_some() {
                return Err(bad("synonyms come once".to_owned()));
            }
            let (list, at_index) = match options {
                Value::Array(list) => (list, false),
                Value::Object(map) => {
                    known_keys(map, &["rules", "at"])?;
                    let at_index = match map.get("at").map(|at| at.as_str().unwrap_or_default()) {
                        None | Some("query") => false,
                        Some("index") => true,
                        Some(_) => return Err(bad("synonyms are applied \"at\" \"query\" or \"index\"".to_owned())),
                    };
                    let list = map.get("rules").and_then(Value::as_array);
                    (list.ok_or_else(|| bad("synonyms need \"rules\"".to_owned()))?, at_index)
                }
                _ => return Err(bad("synonyms are a list of rules, as \"a, b\" or \"a => b\"".to_owned())),
            };
            let list = strings(list, "synonyms", super::synonyms::MAX_RULES)?;
            let at = if at_index { "index" } else { "query" };
            let full = json!({ name: { "rules": list, "at": at } });
            *rules = Some((list, at_index));
            full
        }
        _ => return Err(unknown()),
    })
}
