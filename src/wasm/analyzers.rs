//! Analyzers that are functions of the caller's: text to tokens.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use js_sys::{Array, Function, Object, Reflect};
use wasm_bindgen::{JsCast, JsValue};

use crate::{
    analysis::{CustomAnalyzer, CustomAnalyzers, CustomToken},
    error::{Error, Result},
};

thread_local! {
    /// The functions by number: an analyzer may cross threads in name, and a function may not.
    static FUNCTIONS: RefCell<Vec<(u32, Function)>> = const { RefCell::new(Vec::new()) };
}

static LAST_NUMBER: AtomicU32 = AtomicU32::new(0);

/// The analyzers of `given`, an object of functions by name; none if it is undefined.
///
/// # Errors
/// `invalid_argument` if something else is given, or a name is taken.
pub(super) fn read(given: &JsValue) -> Result<CustomAnalyzers> {
    let mut analyzers = CustomAnalyzers::default();
    if given.is_undefined() || given.is_null() {
        return Ok(analyzers);
    }
    let Some(object) = given.dyn_ref::<Object>() else {
        return Err(Error::invalid("analyzers: an object of functions by name is needed"));
    };
    for entry in Object::entries(object).iter() {
        let entry = Array::from(&entry);
        let name = entry.get(0).as_string().unwrap_or_default();
        let function = entry.get(1).dyn_into::<Function>();
        let function = function.map_err(|_| Error::invalid(format!("analyzers: {name:?} is no function")))?;
        let number = LAST_NUMBER.fetch_add(1, Ordering::Relaxed);
        FUNCTIONS.with_borrow_mut(|functions| functions.push((number, function)));
        let analyzer = Arc::new(JsAnalyzer { number });
        analyzers.insert(&name, analyzer).map_err(|error| Error::invalid(format!("analyzers: {error}")))?;
    }
    Ok(analyzers)
}

/// A function of the caller's, until it is dropped.
#[derive(Debug)]
struct JsAnalyzer {
    number: u32,
}

impl Drop for JsAnalyzer {
    fn drop(&mut self) {
        // Where the thread is ending there is nothing to forget.
        let _ = FUNCTIONS.try_with(|functions| {
            functions.borrow_mut().retain(|(number, _)| *number != self.number);
        });
    }
}

impl CustomAnalyzer for JsAnalyzer {
    fn analyze(&self, text: &str) -> Result<Vec<CustomToken>, String> {
        // Nothing is borrowed while it runs: it may call whatever it likes.
        let function = FUNCTIONS.with_borrow(|functions| {
            functions.iter().find(|(number, _)| *number == self.number).map(|(_, function)| function.clone())
        });
        let function = function.ok_or("the function belongs to another thread")?;
        let answer = function.call1(&JsValue::UNDEFINED, &text.into());
        let answer = answer.map_err(|thrown| format!("threw {}", words_of(&thrown)))?;
        if !Array::is_array(&answer) {
            return Err(format!("gave {}, no array of tokens", words_of(&answer)));
        }
        let list = Array::from(&answer);
        match list.iter().next() {
            None => Ok(Vec::new()),
            Some(first) if first.is_string() => {
                let terms: Option<Vec<String>> = list.iter().map(|term| term.as_string()).collect();
                let terms = terms.ok_or("gave an array of strings with something else in it")?;
                Ok(CustomToken::in_order(text, terms))
            }
            Some(_) => tokens(text, &list),
        }
    }
}

/// Tokens as objects `{ term, start, end, position? }`, in UTF-16 code units.
fn tokens(text: &str, list: &Array) -> Result<Vec<CustomToken>, String> {
    let places = places(text);
    let mut tokens = Vec::with_capacity(list.length() as usize);
    let mut next = 0;
    for (ix, value) in list.iter().enumerate() {
        let bad = |what: &str| format!("token {ix}: {what}");
        let get = |name: &str| Reflect::get(&value, &name.into()).map_err(|_| bad("it is no object"));
        let term = get("term")?.as_string().ok_or_else(|| bad("it has no `term`"))?;
        let number = |name: &str| -> Result<Option<usize>, String> {
            let value = get(name)?;
            if value.is_undefined() {
                return Ok(None);
            }
            let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..4e9).contains(number));
            number.map(|number| Some(number as usize)).ok_or_else(|| bad(&format!("`{name}` is no number from 0 on")))
        };
        let place = |name: &str| -> Result<u32, String> {
            let at = number(name)?.ok_or_else(|| bad(&format!("it has no `{name}`")))?;
            places
                .get(at)
                .copied()
                .filter(|place| *place != INSIDE)
                .ok_or_else(|| bad(&format!("`{name}` is {at}, no place in the text")))
        };
        let (start, end) = (place("start")?, place("end")?);
        let position = number("position")?.map_or(next, |position| position as u32);
        next = position.saturating_add(1);
        tokens.push(CustomToken { term, position, start, end });
    }
    Ok(tokens)
}

/// No place: between the halves of a surrogate pair.
const INSIDE: u32 = u32::MAX;

/// The byte of each UTF-16 code unit of `text`, and its end.
fn places(text: &str) -> Vec<u32> {
    let mut places = Vec::with_capacity(text.len() + 1);
    for (at, letter) in text.char_indices() {
        places.push(at as u32);
        places.extend((1..letter.len_utf16()).map(|_| INSIDE));
    }
    places.push(text.len() as u32);
    places
}

fn words_of(value: &JsValue) -> String {
    match value.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.to_string()),
        None => value.as_string().unwrap_or_else(|| value.js_typeof().as_string().unwrap_or_default()),
    }
}
