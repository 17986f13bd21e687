//! Languages with a stemmer, and what else each of them needs.

use frostem::Algorithm;

use crate::analysis::stop_lists;

/// What to take off a word before anything else is done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trim {
    /// An article or pronoun in front of an apostrophe: `l'homme` is `homme`. The letters that may stand there.
    Elision(&'static [&'static str]),
    /// An ending behind an apostrophe: Turkish `Türkiye'nin` is `Türkiye`.
    Apostrophe,
}

/// Spelling that is made one after stemming, by the rules of Lucene's normalizers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    Arabic,
    Persian,
    Hindi,
}

/// One language.
#[derive(Debug, Clone, Copy)]
pub(super) struct Language {
    /// Name of its analyzer.
    pub name: &'static str,
    /// Subtags of BCP 47 that mean it.
    pub tags: &'static [&'static str],
    pub stemmer: Algorithm,
    /// Empty if there is no list.
    pub stop_words: &'static str,
    pub trim: Option<Trim>,
    pub spelling: Option<Spelling>,
}

const FRENCH: &[&str] = &["l", "m", "t", "qu", "n", "s", "j", "d", "c", "jusqu", "quoiqu", "lorsqu", "puisqu"];
const ITALIAN: &[&str] = &[
    "c", "l", "all", "dall", "dell", "nell", "sull", "coll", "pell", "gl", "agl", "dagl", "degl", "negl", "sugl", "un",
    "m", "t", "s", "v", "d",
];
const CATALAN: &[&str] = &["d", "l", "m", "n", "s", "t"];
const IRISH: &[&str] = &["d", "m", "b"];

const fn plain(
    name: &'static str,
    tags: &'static [&'static str],
    stemmer: Algorithm,
    stop_words: &'static str,
) -> Language {
    Language { name, tags, stemmer, stop_words, trim: None, spelling: None }
}

const fn trimmed(language: Language, trim: Trim) -> Language {
    Language { trim: Some(trim), ..language }
}

const fn spelled(language: Language, spelling: Spelling) -> Language {
    Language { spelling: Some(spelling), ..language }
}

/// All of them, by name. Serbian, Ukrainian, Yiddish and Esperanto are left out: their tables would be a third of all.
pub(super) const LANGUAGES: &[Language] = &[
    spelled(plain("arabic", &["ar"], Algorithm::Arabic, stop_lists::ARABIC), Spelling::Arabic),
    plain("armenian", &["hy"], Algorithm::Armenian, stop_lists::ARMENIAN),
    plain("basque", &["eu"], Algorithm::Basque, stop_lists::BASQUE),
    trimmed(plain("catalan", &["ca"], Algorithm::Catalan, stop_lists::CATALAN), Trim::Elision(CATALAN)),
    plain("czech", &["cs"], Algorithm::Czech, stop_lists::CZECH),
    plain("danish", &["da"], Algorithm::Danish, stop_lists::DANISH),
    plain("dutch", &["nl"], Algorithm::Dutch, stop_lists::DUTCH),
    plain("english", &["en"], Algorithm::English, stop_lists::ENGLISH),
    plain("estonian", &["et"], Algorithm::Estonian, ""),
    plain("finnish", &["fi"], Algorithm::Finnish, stop_lists::FINNISH),
    trimmed(plain("french", &["fr"], Algorithm::French, stop_lists::FRENCH), Trim::Elision(FRENCH)),
    plain("german", &["de"], Algorithm::German, stop_lists::GERMAN),
    plain("greek", &["el"], Algorithm::Greek, stop_lists::GREEK),
    spelled(plain("hindi", &["hi"], Algorithm::Hindi, stop_lists::HINDI), Spelling::Hindi),
    plain("hungarian", &["hu"], Algorithm::Hungarian, stop_lists::HUNGARIAN),
    plain("indonesian", &["id"], Algorithm::Indonesian, stop_lists::INDONESIAN),
    trimmed(plain("irish", &["ga"], Algorithm::Irish, stop_lists::IRISH), Trim::Elision(IRISH)),
    trimmed(plain("italian", &["it"], Algorithm::Italian, stop_lists::ITALIAN), Trim::Elision(ITALIAN)),
    plain("lithuanian", &["lt"], Algorithm::Lithuanian, stop_lists::LITHUANIAN),
    spelled(plain("nepali", &["ne"], Algorithm::Nepali, stop_lists::NEPALI), Spelling::Hindi),
    plain("norwegian", &["no", "nb", "nn"], Algorithm::Norwegian, stop_lists::NORWEGIAN),
    spelled(plain("persian", &["fa"], Algorithm::Persian, stop_lists::PERSIAN), Spelling::Persian),
    plain("polish", &["pl"], Algorithm::Polish, stop_lists::POLISH),
    plain("portuguese", &["pt"], Algorithm::Portuguese, stop_lists::PORTUGUESE),
    plain("romanian", &["ro"], Algorithm::Romanian, stop_lists::ROMANIAN),
    plain("russian", &["ru"], Algorithm::Russian, stop_lists::RUSSIAN),
    plain("spanish", &["es"], Algorithm::Spanish, stop_lists::SPANISH),
    plain("swedish", &["sv"], Algorithm::Swedish, stop_lists::SWEDISH),
    plain("tamil", &["ta"], Algorithm::Tamil, ""),
    trimmed(plain("turkish", &["tr"], Algorithm::Turkish, stop_lists::TURKISH), Trim::Apostrophe),
];

/// Languages written without spaces between words: bigrams of the analyzer `standard` are what they need.
const UNSPACED: [&str; 7] = ["zh", "ja", "ko", "th", "lo", "km", "my"];

/// The language called `name`, or tagged so.
pub(super) fn find(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.name == name).or_else(|| {
        let primary = primary_subtag(name)?;
        LANGUAGES.iter().find(|language| language.tags.contains(&primary.as_str()))
    })
}

/// The analyzer without a stemmer that serves the language tagged `tag`.
pub(super) fn general(tag: &str) -> Option<&'static str> {
    let primary = primary_subtag(tag)?;
    match primary.as_str() {
        "vi" => Some("vietnamese"),
        primary => UNSPACED.contains(&primary).then_some("standard"),
    }
}

/// `de` of `de-AT`; `None` if it cannot be a tag.
fn primary_subtag(tag: &str) -> Option<String> {
    let primary = tag.split(['-', '_']).next()?;
    (primary.len() == 2).then(|| primary.to_ascii_lowercase())
}

impl Trim {
    /// What is left of `word`; never nothing.
    pub fn apply<'w>(&self, word: &'w str) -> &'w str {
        let Some(at) = word.find(['\'', '’', '＇']) else { return word };
        let (front, behind) = word.split_at(at);
        match self {
            Self::Elision(articles) => {
                let behind = behind.trim_start_matches(['\'', '’', '＇']);
                // Longest is `quoiqu`, in letters that have no other case of another length.
                let is_article = front.len() <= 6 && articles.contains(&front.to_ascii_lowercase().as_str());
                if is_article && !behind.is_empty() { behind } else { word }
            }
            Self::Apostrophe if front.is_empty() => word,
            Self::Apostrophe => front,
        }
    }
}

impl Spelling {
    /// Makes `term`, which is folded, one spelling; `out` is cleared first.
    pub fn apply(self, term: &str, out: &mut String) {
        out.clear();
        let mut letters = term.chars().peekable();
        while let Some(letter) = letters.next() {
            if let Some(digit) = decimal_digit(letter) {
                out.push(digit);
                continue;
            }
            let kept = match self {
                Self::Arabic => arabic(letter),
                Self::Persian => persian(letter),
                // A dead n before another letter is an anusvara (HindiNormalizer).
                Self::Hindi if letter == '\u{928}' && letters.peek() == Some(&'\u{94d}') => {
                    letters.next();
                    Some('\u{902}')
                }
                Self::Hindi => devanagari(letter),
            };
            out.extend(kept);
        }
    }
}

/// Arabic-Indic, extended Arabic-Indic and Devanagari digits.
fn decimal_digit(letter: char) -> Option<char> {
    let value = u32::from(letter);
    [0x660, 0x6f0, 0x966]
        .into_iter()
        .find(|zero| (*zero..zero + 10).contains(&value))
        .and_then(|zero| char::from_digit(value - zero, 10))
}

/// Lucene's ArabicNormalizer, without what folding has done: hamza, tatweel, vowel marks.
fn arabic(letter: char) -> Option<char> {
    Some(match letter {
        'ى' => 'ي',
        'ة' => 'ه',
        other => other,
    })
}

/// Lucene's PersianNormalizer.
fn persian(letter: char) -> Option<char> {
    Some(match letter {
        '\u{6cc}' | '\u{6d2}' => '\u{64a}',
        '\u{6a9}' => '\u{643}',
        '\u{6c0}' | '\u{6c1}' | '\u{6d5}' => '\u{647}',
        other => other,
    })
}

/// Lucene's HindiNormalizer: nukta and virama go, long vowels become short, chandra forms plain ones.
fn devanagari(letter: char) -> Option<char> {
    Some(match u32::from(letter) {
        0x93c | 0x94d | 0x200c | 0x200d => return None,
        0x901 => '\u{902}',
        0x929 => '\u{928}',
        0x931 => '\u{930}',
        0x934 => '\u{933}',
        0x958 => '\u{915}',
        0x959 => '\u{916}',
        0x95a => '\u{917}',
        0x95b => '\u{91c}',
        0x95c => '\u{921}',
        0x95d => '\u{922}',
        0x95e => '\u{92b}',
        0x95f => '\u{92f}',
        0x945 | 0x946 | 0x948 => '\u{947}',
        0x949 | 0x94a | 0x94c => '\u{94b}',
        0x90d | 0x90e | 0x910 => '\u{90f}',
        0x911 | 0x912 | 0x914 => '\u{913}',
        0x972 | 0x906 => '\u{905}',
        0x908 => '\u{907}',
        0x90a => '\u{909}',
        0x960 => '\u{90b}',
        0x961 => '\u{90c}',
        0x940 => '\u{93f}',
        0x942 => '\u{941}',
        0x944 => '\u{943}',
        0x963 => '\u{962}',
        _ => letter,
    })
}

/// Lower case by the rules of Turkish: `I` has no dot, `İ` has one.
pub(super) fn turkish_lowercase(text: &str, out: &mut String) {
    out.clear();
    for letter in text.chars() {
        match letter {
            'I' => out.push('ı'),
            'İ' => out.push('i'),
            other => out.extend(other.to_lowercase()),
        }
    }
}
