//! Sets of words, for stop words.

use std::borrow::Cow;

/// Words, sorted, for binary search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct WordSet {
    words: Vec<Cow<'static, str>>,
    /// Bytes of the longest: most words that are looked up are longer than any stop word.
    longest: usize,
}

impl WordSet {
    /// The words of `list`, which is sorted and parted by single spaces.
    pub fn of_list(list: &'static str) -> Self {
        Self::of_sorted(list.split(' ').map(Cow::Borrowed).collect())
    }

    /// Any words.
    pub fn of_words(words: impl IntoIterator<Item = String>) -> Self {
        let mut words: Vec<String> = words.into_iter().collect();
        words.sort_unstable();
        words.dedup();
        Self::of_sorted(words.into_iter().map(Cow::Owned).collect())
    }

    fn of_sorted(words: Vec<Cow<'static, str>>) -> Self {
        let longest = words.iter().map(|word| word.len()).max().unwrap_or(0);
        Self { words, longest }
    }

    /// Whether `word` is one of them.
    pub fn contains(&self, word: &str) -> bool {
        word.len() <= self.longest && self.words.binary_search_by(|own| own.as_ref().cmp(word)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::languages::LANGUAGES;

    #[test]
    fn lists_are_sorted_and_in_lower_case() {
        for language in LANGUAGES {
            let words: Vec<_> = language.stop_words.split(' ').filter(|word| !word.is_empty()).collect();
            assert!(words.is_sorted_by(|one, next| one < next), "{}", language.name);
            assert!(words.iter().all(|word| word.to_lowercase() == **word), "{}", language.name);
        }
        let english = WordSet::of_list(crate::analysis::stop_lists::ENGLISH);
        assert!(english.contains("the") && english.contains("themselves") && !english.contains("search"));
        assert!(WordSet::of_words(["b".into(), "a".into()]).contains("a"));
    }
}
