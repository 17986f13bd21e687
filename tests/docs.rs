//! What the documents at the root say is what the code says: byte tables, floors, commands.

use std::{fs, path::Path};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The first `text` block of a module's documentation.
fn byte_table(path: &str) -> String {
    let source = read(path);
    let docs: Vec<&str> = source.lines().filter_map(|line| line.strip_prefix("//!")).collect();
    let docs: Vec<&str> = docs.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let start = docs.iter().position(|line| *line == "```text").unwrap_or_else(|| panic!("{path} has no byte table"));
    let len = docs[start..].iter().skip(1).position(|line| *line == "```").expect("the block ends");
    docs[start + 1..][..len].join("\n")
}

#[test]
fn format_has_every_byte_table_as_the_modules_have_it() {
    let format = read("FORMAT.md");
    for module in [
        "codec/bitpack",
        "codec/pfor",
        "columns/block",
        "columns/dictionary",
        "columns/meta",
        "columns/points",
        "docstore/block",
        "docstore/ids",
        "docstore/writer",
        "graph/adjacency",
        "graph/cells/format",
        "index/slot",
        "index/tombstones",
        "postings/writer",
        "quant/nvq/mod",
        "quant/pq/model",
        "segment/live",
        "segment/toc",
        "terms/block",
        "terms/index",
        "vectors/meta",
        "vectors/owners",
    ] {
        let table = byte_table(&format!("src/{module}.rs"));
        assert!(format.contains(&table), "FORMAT.md lacks the table of src/{module}.rs as it is now:\n{table}");
    }
}

#[test]
fn format_names_every_section() {
    let format = read("FORMAT.md");
    for kind in rangefind::segment::SectionKind::ALL {
        let number = kind as u16;
        assert!(format.contains(&format!("\n| {number} | ")), "FORMAT.md has no row for section {number}, {kind}");
    }
}

#[test]
fn architecture_names_every_module() {
    let architecture = read("ARCHITECTURE.md");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut modules = 0;
    for entry in fs::read_dir(source).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_stem().unwrap().to_str().unwrap().to_owned();
        if name != "lib" {
            modules += 1;
            let rows = [format!("`{name}`"), format!("`{name}/rangefind`")];
            assert!(rows.iter().any(|row| architecture.contains(row)), "ARCHITECTURE.md does not name {name}");
        }
    }
    assert!(modules > 20, "{modules} modules found");
}
