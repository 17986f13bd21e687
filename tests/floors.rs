//! Modules import strictly downward. The table below is the architecture, and ARCHITECTURE.md says the same.
#![cfg(not(target_arch = "wasm32"))]
use std::{fs, path::Path};

const FLOORS: &[(&str, u8)] = &[
    ("error", 0),
    ("ids", 0),
    ("platform", 0),
    ("analysis", 0),
    ("codec", 1),
    ("bitset", 1),
    ("topk", 1),
    ("distance", 1),
    ("schema", 1),
    ("storage", 1),
    ("quant", 2),
    ("terms", 2),
    ("postings", 3),
    ("columns", 2),
    ("docstore", 2),
    ("vectors", 3),
    ("graph", 3),
    ("gpu", 4),
    ("segment", 4),
    ("query", 5),
    ("index", 5),
    ("searcher", 6),
    ("engine", 7),
    ("wasm", 8),
    ("bin", 8),
];

fn floor(module: &str) -> Option<u8> {
    FLOORS.iter().find(|(name, _)| *name == module).map(|&(_, f)| f)
}

/// Top-level modules named after `crate::` in `source`, comments and test module removed.
fn imports(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code: String = source.lines().map(|l| l.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
    let is_ident = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.push(rest.chars().take_while(|&c| is_ident(c)).collect());
            continue;
        };
        // `crate::{a::x, b::{y, z}}`: names at depth 1, directly after `{` or `,`.
        let (mut depth, mut name, mut expect) = (1, String::new(), true);
        for c in group.chars() {
            if is_ident(c) && expect && depth == 1 {
                name.push(c);
                continue;
            }
            if !name.is_empty() {
                found.push(std::mem::take(&mut name));
                expect = false;
            }
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => expect = true,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

fn check(dir: &Path, module: Option<&str>, bad: &mut Vec<String>, seen: &mut usize) {
    for entry in fs::read_dir(dir).expect("src is readable").map(|e| e.expect("entry").path()) {
        let stem = entry.file_stem().and_then(|s| s.to_str()).expect("utf-8 name").to_owned();
        let module = module.unwrap_or(&stem);
        if entry.is_dir() {
            check(&entry, Some(module), bad, seen);
            continue;
        }
        if entry.extension().is_none_or(|e| e != "rs") || module == "lib" {
            continue;
        }
        *seen += 1;
        let Some(own) = floor(module) else {
            bad.push(format!("{module}: has no floor"));
            continue;
        };
        for import in imports(&fs::read_to_string(&entry).expect("readable")) {
            match floor(&import) {
                // The error type lies under everything, its own floor included.
                Some(theirs) if theirs < own || import == module || import == "error" => {}
                Some(theirs) => bad.push(format!("{}: floor {own} imports {import}, floor {theirs}", entry.display())),
                None => {} // a re-export of the crate root, not a module
            }
        }
    }
}

#[test]
fn modules_import_strictly_downward() {
    let (mut bad, mut seen) = (Vec::new(), 0);
    let src = std::env::var("FLOORS_SRC").unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/src").into());
    check(Path::new(&src), None, &mut bad, &mut seen);
    assert!(seen > 0, "no source file was checked");
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn the_scanner_sees_every_import_form() {
    let source = "use crate::error::Error;\nuse crate::{ids::{DocId, TermOrd}, codec};\n// crate::wasm\nlet x = crate::graph::f();\n#[cfg(test)]\nmod tests { use crate::engine::E; }";
    assert_eq!(imports(source), ["error", "ids", "codec", "graph"]);
}

#[test]
fn the_architecture_page_has_the_same_floors() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/ARCHITECTURE.md")).expect("readable");
    let mut told: Vec<(String, u8)> = Vec::new();
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, floor, modules, ..] = cells[..] else { continue };
        let Ok(floor) = floor.parse() else { continue };
        // `bin/rangefind` is the module `bin`.
        let names = modules.split('`').skip(1).step_by(2);
        told.extend(names.map(|name| (name.split('/').next().unwrap_or(name).to_owned(), floor)));
    }
    let mut own: Vec<(String, u8)> = FLOORS.iter().map(|&(name, floor)| (name.to_owned(), floor)).collect();
    told.sort();
    own.sort();
    assert_eq!(told, own);
}
