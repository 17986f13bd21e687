//! The command line, driven as a user would: built binary, real files, real sockets, exit status and JSON.
#![cfg(all(feature = "cli", not(target_arch = "wasm32")))]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use serde_json::{Value, json};

/// 60 documents with a three-component vector each.
const NUM_DOCS: usize = 60;

fn rangefind(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rangefind")).args(args).output().expect("the binary runs")
}

/// Runs with `--json` and returns the status and the parsed answer.
fn json(args: &[&str]) -> (i32, Value) {
    let output = rangefind(&[&["--json"], args].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    let value = serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{args:?} printed {text:?} ({error}); stderr: {}", String::from_utf8_lossy(&output.stderr))
    });
    (output.status.code().expect("an exit status"), value)
}

fn ok(args: &[&str]) -> Value {
    let (status, value) = json(args);
    assert_eq!(status, 0, "{args:?}: {value}");
    value
}

fn path(dir: &Path, name: &str) -> String {
    dir.join(name).to_str().expect("temporary paths are UTF-8").to_owned()
}

fn documents(from: usize, to: usize) -> String {
    let words = ["harbour", "lantern", "orchard", "granite", "meadow"];
    (from..to)
        .map(|ix| {
            let doc = json!({
                "id": format!("d{ix}"), "title": format!("The {} number {ix}", words[ix % 5]),
                "kind": if ix % 2 == 0 { "even" } else { "odd" }, "rank": ix,
                "tags": [words[ix % 5], words[(ix + 1) % 5]],
            });
            format!("{doc}\n")
        })
        .collect()
}

fn vectors(rows: usize) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 3), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    for row in 0..rows {
        let angle = row as f32 / rows as f32 * 3.0;
        bytes.extend([angle.cos(), angle.sin(), 0.1].iter().flat_map(|value| value.to_le_bytes()));
    }
    bytes
}

/// A directory with `docs.jsonl`, `vectors.npy` and an index of both in `index`.
fn built() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("docs.jsonl"), documents(0, NUM_DOCS)).unwrap();
    fs::write(dir.path().join("vectors.npy"), vectors(NUM_DOCS)).unwrap();
    let schema = json!({ "title": "text", "kind": "keyword", "rank": "integer", "tags": "keyword" });
    fs::write(dir.path().join("schema.json"), schema.to_string()).unwrap();
    let report = ok(&[
        "build",
        &path(dir.path(), "docs.jsonl"),
        "--schema",
        &path(dir.path(), "schema.json"),
        "--vectors",
        &path(dir.path(), "vectors.npy"),
        "--out",
        &path(dir.path(), "index"),
    ]);
    assert_eq!(report["numDocs"], NUM_DOCS);
    assert_eq!(report["refused"], json!([]));
    dir
}

fn ids(response: &Value) -> Vec<&str> {
    response["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect()
}

#[test]
fn builds_searches_and_describes() {
    let dir = built();
    let index = path(dir.path(), "index");

    let found = ok(&["search", &index, "harbour", "--limit", "5", "--facets", "kind", "--highlight", "title"]);
    assert_eq!(found["total"], 12);
    assert_eq!(found["hits"].as_array().unwrap().len(), 5);
    assert_eq!(found["facets"][0]["values"], json!([{ "value": "even", "count": 6 }, { "value": "odd", "count": 6 }]));
    assert_eq!(found["hits"][0]["highlights"][0]["ranges"], json!([[4, 11]]));

    let filtered = ok(&["search", &index, "--filter", r#"{"rank":{"gte":57}}"#, "--sort", "rank:desc"]);
    assert_eq!(ids(&filtered), ["d59", "d58", "d57"]);

    let npy = path(dir.path(), "vectors.npy");
    let nearest = ok(&["search", &index, "--vector-file", &npy, "--vector-row", "7", "--limit", "3"]);
    assert_eq!(ids(&nearest)[0], "d7");
    let like = ok(&["search", &index, "--like", "d7", "--limit", "2"]);
    assert!(ids(&like).iter().all(|id| ["d6", "d8"].contains(id)), "{like}");

    let lucene = ok(&["search", &index, "--lucene", "+harbour -kind:even \"number 15\""]);
    assert_eq!(ids(&lucene)[0], "d15");

    let info = ok(&["info", &index]);
    assert_eq!((&info["numDocs"], &info["segments"].as_array().unwrap().len()), (&json!(NUM_DOCS), &1));
    let kinds: Vec<_> =
        info["fields"].as_array().unwrap().iter().map(|field| field["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"vector") && kinds.contains(&"text"), "{kinds:?}");

    let words = rangefind(&["search", &index, "harbour", "--highlight", "title", "--limit", "1"]);
    let words = String::from_utf8_lossy(&words.stdout).into_owned();
    assert!(words.contains("*harbour*") && words.contains("1 hit of 12"), "{words}");
}

#[test]
fn a_request_in_json_equals_the_options() {
    let dir = built();
    let index = path(dir.path(), "index");
    let request = json!({ "query": "lantern", "limit": 3, "filter": { "kind": "odd" } });
    fs::write(dir.path().join("request.json"), request.to_string()).unwrap();
    let by_file = ok(&["search", &index, "--request", &path(dir.path(), "request.json")]);
    let by_options = ok(&["search", &index, "lantern", "--limit", "3", "--filter", r#"{"kind":"odd"}"#]);
    assert_eq!(by_file["hits"], by_options["hits"]);
    assert!(!ids(&by_file).is_empty());
}

#[test]
fn reads_standard_input_gzip_and_arrays() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_rangefind"))
        .args(["--json", "build", "-", "--out", &path(dir.path(), "piped")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(documents(0, 9).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["numDocs"], 9);

    let docs: Vec<Value> = documents(0, 4).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(serde_json::to_string(&docs).unwrap().as_bytes()).unwrap();
    fs::write(dir.path().join("docs.json.gz"), gzip.finish().unwrap()).unwrap();
    let report = ok(&["build", &path(dir.path(), "docs.json.gz"), "--out", &path(dir.path(), "array")]);
    assert_eq!(report["numDocs"], 4);
}

#[test]
fn refused_documents_are_named_and_strict_stops_at_them() {
    let dir = tempfile::tempdir().unwrap();
    let docs = "{\"id\":1,\"year\":2020}\n{\"id\":2,\"year\":\"soon\"}\nnot json\n{\"id\":4,\"year\":2024}\n";
    fs::write(dir.path().join("docs.jsonl"), docs).unwrap();
    fs::write(dir.path().join("schema.json"), r#"{"year":"integer"}"#).unwrap();
    let args = ["build", &path(dir.path(), "docs.jsonl"), "--schema", &path(dir.path(), "schema.json")];
    let report = ok(&[&args[..], &["--out", &path(dir.path(), "index")]].concat());
    assert_eq!(report["numDocs"], 2);
    let refused = report["refused"].as_array().unwrap();
    assert_eq!((&refused[0]["row"], &refused[0]["field"], &refused[1]["row"]), (&json!(1), &json!("year"), &json!(2)));

    let (status, value) = json(&[&args[..], &["--strict", "--out", &path(dir.path(), "strict")]].concat());
    assert_eq!((status, &value["error"]["code"]), (1, &json!("invalid_document")));
    assert!(value["error"]["message"].as_str().unwrap().contains("document 2, field year"), "{value}");
}

#[test]
fn merges_several_indexes_into_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    for (name, from, to) in [("a", 0, 30), ("b", 25, 50)] {
        fs::write(dir.path().join("docs.jsonl"), documents(from, to)).unwrap();
        ok(&["build", &path(dir.path(), "docs.jsonl"), "--out", &path(dir.path(), name)]);
    }
    let (a, b, out) = (path(dir.path(), "a"), path(dir.path(), "b"), path(dir.path(), "both"));
    ok(&["merge", &a, &b, "--out", &out]);
    let info = ok(&["info", &out]);
    assert_eq!(
        (&info["numDocs"], info["segments"].as_array().unwrap().len()),
        (&json!(50), 1),
        "d25 to d29 are in both"
    );
    assert_eq!(ok(&["check", &out])["ok"], true);
    let (status, value) = json(&["merge", &a, &b]);
    assert_eq!((status, &value["error"]["code"]), (2, &json!("invalid_argument")));
    assert_eq!(ok(&["merge", &out])["mergedSegments"], 0, "one segment without deletions stays");
}

#[test]
fn check_finds_damage_and_says_so_by_exit_status() {
    let dir = built();
    let index = path(dir.path(), "index");
    let (status, sound) = json(&["check", &index]);
    assert_eq!((status, &sound["ok"], &sound["docs"]), (0, &json!(true), &json!(NUM_DOCS)));

    let segment = fs::read_dir(&index)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "seg"))
        .expect("a segment file");
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(&segment, bytes).unwrap();
    let (status, damaged) = json(&["check", &index]);
    assert_eq!((status, &damaged["ok"]), (1, &json!(false)), "{damaged}");
    assert!(!damaged["problems"].as_array().unwrap().is_empty());
}

#[test]
fn exit_status_tells_failure_from_wrong_usage() {
    let dir = tempfile::tempdir().unwrap();
    let (status, value) = json(&["search", &path(dir.path(), "nothing"), "x"]);
    assert_eq!((status, &value["error"]["code"]), (1, &json!("not_found")));
    let (status, value) = json(&["build", &path(dir.path(), "absent.jsonl"), "--out", &path(dir.path(), "out")]);
    assert_eq!((status, &value["error"]["code"]), (1, &json!("not_found")));
    for usage in [&["fly"][..], &["search"], &["build", "x"], &["merge", "a", "--memory", "much"]] {
        assert_eq!(rangefind(usage).status.code(), Some(2), "{usage:?}");
    }
    assert_eq!(rangefind(&["--help"]).status.code(), Some(0));
}

/// Fails as wrong usage, and says in JSON and in words what is wrong.
#[track_caller]
fn misused(args: &[&str], message: &str) {
    let (status, value) = json(args);
    assert_eq!((status, &value["error"]["code"]), (2, &json!("invalid_argument")), "{args:?}: {value}");
    assert!(value["error"]["message"].as_str().unwrap().contains(message), "{args:?}: {value}");
    let output = rangefind(args);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}");
    assert!(!output.stderr.is_empty(), "{args:?}");
}

#[test]
fn options_that_make_no_sense_are_wrong_usage() {
    let dir = built();
    let index = path(dir.path(), "index");
    for (options, message) in [
        (&["--fuzzy", "3"][..], "--fuzzy"),
        (&["--sort", "rank:up"], "none of asc, desc"),
        (&["--fuse", "best"], "rrf:K"),
        (&["--filter", "{rank: 3}"], "--filter \"{rank: 3}\" is not JSON"),
        (&["--filter", "{\"rnk\": 3}"], "rnk"),
        (&["--facet", "{\"field\": \"rank\", \"limits\": 3}"], "--facet: unknown key \"limits\", expected field"),
        (&["--facet", "kind"], "--facet \"kind\" is not JSON"),
        (&["--limit", "20000"], "at most 10000"),
        (&["--fields", "nosuch"], "nosuch"),
        (&["--highlight", "rank"], "has no text"),
        (&["--like", "d3", "--mode", "walk"], "goes over a graph"),
        (&["--mode", "scan"], "--vector-file"),
        (&["--exact"], "--like"),
        (&["--lucene", "--all"], "cannot be used with"),
        (&["--recall"], "--recall"),
    ] {
        misused(&[&["search", &index, "harbour"], options].concat(), message);
    }
    misused(&["search", &index, "--tree", "{\"match\": "], "--tree");
    misused(&["search", &index, "--tree", "{\"phras\": {}}"], "expected one of term, match, phrase, phrasePrefix");
    fs::write(dir.path().join("request.json"), "{ \"limit\": \"5\" }").unwrap();
    let request = path(dir.path(), "request.json");
    misused(&["search", &index, "--request", &request], "limit: expected a whole number of at least 0, found \"5\"");
    // What is wrong with the index is none.
    let (status, value) = json(&["search", &path(dir.path(), "nothing"), "x"]);
    assert_eq!((status, &value["error"]["code"]), (1, &json!("not_found")));
    let output = rangefind(&["search", &index, "harbour", "--select", "title,nosuch"]);
    let remark = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0));
    assert!(remark.contains("no document has a stored field [\"nosuch\"]"), "{remark}");
}

#[test]
fn a_new_index_goes_to_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let docs = path(dir.path(), "docs.jsonl");
    fs::write(&docs, documents(0, 3)).unwrap();
    for command in [&["build"][..], &["merge"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_rangefind"))
            .args(command)
            .args([&docs, "--out", "http://127.0.0.1:9/index"])
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains("--out http://127.0.0.1:9/index: an index is written to a directory"), "{message}");
    }
    assert_eq!(names_in(dir.path()), ["docs.jsonl"]);
}

/// Names in a directory, hidden ones too, sorted.
fn names_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_fails_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let (docs, npy) = (path(dir.path(), "docs.jsonl"), path(dir.path(), "vectors.npy"));
    fs::write(&docs, documents(0, 5)).unwrap();
    fs::write(&npy, vectors(6)).unwrap();
    let before = names_in(dir.path());
    let build = |out: &str, docs: &str| {
        let (status, value) = json(&["build", docs, "--vectors", &npy, "--out", out]);
        assert_eq!(status, 1, "{value}");
    };
    build(&path(dir.path(), "deep/er/index"), &docs);
    assert_eq!(names_in(dir.path()), before, "no directory of a new path");

    let there = path(dir.path(), "there");
    fs::create_dir(&there).unwrap();
    fs::write(dir.path().join("there/notes.txt"), "mine").unwrap();
    build(&there, &docs);
    assert_eq!(names_in(dir.path().join("there").as_path()), ["notes.txt"], "what was there stays, and nothing else");

    fs::write(&npy, vectors(5)).unwrap();
    ok(&["build", &docs, "--vectors", &npy, "--out", &there]);
    let whole = names_in(dir.path().join("there").as_path());
    build(&there, &docs);
    assert_eq!(names_in(dir.path().join("there").as_path()), whole, "an index that was there stays");
    assert_eq!(ok(&["check", &there])["docs"], 5);

    let broken = path(dir.path(), "broken.jsonl");
    fs::write(&broken, "{\"id\":1},\n{\"id\":2},\n").unwrap();
    let (status, _) = json(&["build", &broken, "--out", &path(dir.path(), "none")]);
    assert_eq!((status, dir.path().join("none").exists()), (1, false), "no index of nothing");
    let (status, _) = json(&["merge", &there, &path(dir.path(), "absent"), "--out", &path(dir.path(), "both")]);
    assert_eq!((status, dir.path().join("both").exists()), (1, false));
    // The merge at the end of a build may fail: the index is whole without it.
    let (status, value) = json(&["build", &docs, "--out", &path(dir.path(), "small"), "--memory", "1"]);
    assert_eq!(status, 1, "{value}");
    let small = dir.path().join("small");
    assert!(!small.exists() || ok(&["check", small.to_str().unwrap()])["docs"] == 5, "{value}");
}

#[test]
fn indexes_of_other_schemas_are_told_apart_by_a_field() {
    let dir = tempfile::tempdir().unwrap();
    let docs = path(dir.path(), "docs.jsonl");
    fs::write(&docs, "{\"id\":1}\n").unwrap();
    let (a, out) = (path(dir.path(), "a"), path(dir.path(), "out"));
    let schemas = [
        (r#"{"title":"text","year":"integer"}"#, ""),
        (r#"{"year":"integer","title":"text"}"#, "another order, field 1 is \"title\" and \"year\""),
        (r#"{"title":"text","year":"number"}"#, "field \"year\" is {\"type\":\"integer\"} and {\"type\":\"number\"}"),
        (r#"{"title":"text"}"#, "only the first has the field \"year\""),
    ];
    for (schema, message) in schemas {
        let schema_file = path(dir.path(), "schema.json");
        fs::write(&schema_file, schema).unwrap();
        let index = if message.is_empty() { a.clone() } else { path(dir.path(), &format!("b{}", message.len())) };
        ok(&["build", &docs, "--schema", &schema_file, "--out", &index]);
        if !message.is_empty() {
            let (status, value) = json(&["merge", &a, &index, "--out", &out]);
            assert_eq!((status, &value["error"]["code"]), (1, &json!("invalid_argument")));
            assert!(value["error"]["message"].as_str().unwrap().contains(message), "{value}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_standard_error_is_no_failure_of_its_own() {
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let status = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rangefind"));
        command.args(args).stderr(full()).stdout(Stdio::null()).status().unwrap().code()
    };
    let dir = built();
    let index = path(dir.path(), "index");
    assert_eq!(status(&["search", &path(dir.path(), "nothing"), "x"]), Some(1));
    assert_eq!(status(&["fly"]), Some(2));
    assert_eq!(status(&["search", &index, "harbour", "--select", "nosuch"]), Some(0), "with a remark");
}

#[test]
fn check_reports_a_file_that_is_missing() {
    let dir = built();
    let index = path(dir.path(), "index");
    let name = names_in(Path::new(&index)).into_iter().find(|name| name.ends_with(".seg")).unwrap();
    fs::remove_file(Path::new(&index).join(&name)).unwrap();
    let (status, report) = json(&["check", &index]);
    assert_eq!((status, &report["ok"], &report["segments"]), (1, &json!(false), &json!(1)), "{report}");
    assert_eq!((&report["problems"][0]["file"], &report["problems"][0]["code"]), (&json!(name), &json!("not_found")));
    let (status, value) = json(&["check", &path(dir.path(), "nothing")]);
    assert_eq!((status, &value["error"]["code"]), (1, &json!("not_found")), "no index at all is none to report on");
}

#[test]
fn vectors_and_documents_must_come_out_even() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("docs.jsonl"), documents(0, 5)).unwrap();
    for rows in [4, 6] {
        fs::write(dir.path().join("vectors.npy"), vectors(rows)).unwrap();
        let (docs, npy, out) = (path(dir.path(), "docs.jsonl"), path(dir.path(), "vectors.npy"), path(dir.path(), "x"));
        let (status, value) = json(&["build", &docs, "--vectors", &npy, "--out", &out]);
        assert_eq!((status, &value["error"]["code"]), (1, &json!("invalid_argument")), "{rows} rows: {value}");
    }
}

/// `rangefind serve` as a child that ends with the test.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(dir: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rangefind"))
            .args(["serve", "--quiet", "--port", "0"])
            .arg(dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim().to_owned() }
    }

    /// Sends one request and returns status line, headers (names in lower case) and body.
    fn ask(&self, method: &str, path: &str, headers: &[&str]) -> (u16, Vec<(String, String)>, Vec<u8>) {
        let address = self.url.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address).unwrap();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("headers end");
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        (status, headers, answer[end + 4..].to_vec())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn value<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
}

#[test]
fn serve_answers_ranges_and_lets_other_origins_read() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file.bin"), (0..=255u8).collect::<Vec<_>>()).unwrap();
    let server = Server::start(dir.path());

    let (status, headers, body) = server.ask("GET", "/file.bin", &["Range: bytes=10-19", "Origin: http://elsewhere"]);
    assert_eq!((status, body), (206, (10..20u8).collect()));
    assert_eq!(value(&headers, "content-range"), Some("bytes 10-19/256"));
    assert_eq!(value(&headers, "content-length"), Some("10"));
    assert_eq!(value(&headers, "access-control-allow-origin"), Some("*"));
    assert!(value(&headers, "access-control-expose-headers").unwrap().contains("Content-Range"));
    let etag = value(&headers, "etag").unwrap().to_owned();

    let (status, headers, body) = server.ask("GET", "/file.bin", &[]);
    assert_eq!((status, body.len(), value(&headers, "content-length")), (200, 256, Some("256")));
    let (status, headers, _) = server.ask("GET", "/file.bin", &["Range: bytes=256-"]);
    assert_eq!((status, value(&headers, "content-range")), (416, Some("bytes */256")));
    assert_eq!(server.ask("GET", "/file.bin", &["Range: bytes=0-1,5-6"]).0, 200);
    assert_eq!(server.ask("GET", "/file.bin", &[&format!("If-None-Match: {etag}")]).0, 304);
    assert_eq!(server.ask("GET", "/file.bin", &["Range: bytes=0-1", "If-Range: \"other\""]).0, 200);
    assert_eq!(server.ask("GET", "/file.bin", &["Range: bytes=0-1", &format!("If-Range: {etag}")]).0, 206);
    let (status, headers, body) = server.ask("HEAD", "/file.bin", &[]);
    assert_eq!((status, body.len(), value(&headers, "content-length")), (200, 0, Some("256")));
    let (status, headers, _) = server.ask("OPTIONS", "/file.bin", &["Access-Control-Request-Headers: range"]);
    assert_eq!(status, 204);
    assert!(value(&headers, "access-control-allow-headers").unwrap().contains("Range"));
    assert_eq!(server.ask("GET", "/../Cargo.toml", &[]).0, 404);
    assert_eq!(server.ask("POST", "/file.bin", &[]).0, 405);
}

#[test]
fn a_served_index_answers_as_the_directory_does() {
    let dir = built();
    let index = path(dir.path(), "index");
    let server = Server::start(&PathBuf::from(&index));
    for query in ["harbour", "lantern granite"] {
        let local = ok(&["search", &index, query, "--like", "d3"]);
        let remote = ok(&["search", &server.url, query, "--like", "d3"]);
        assert_eq!(local["hits"], remote["hits"]);
        assert!(remote["stats"]["requests"].as_u64().unwrap() > 0);
    }
    assert_eq!(ok(&["check", &server.url])["ok"], true);
    assert_eq!(ok(&["info", &server.url])["readOnly"], true);
    let (status, value) = json(&["merge", &server.url]);
    assert_eq!((status, &value["error"]["code"]), (2, &json!("read_only")));
    let copy = path(dir.path(), "copy");
    ok(&["merge", &server.url, "--out", &copy]);
    assert_eq!(ok(&["info", &copy])["numDocs"], NUM_DOCS);
}

#[test]
fn broken_input_is_named_and_not_taken_for_success() {
    let dir = tempfile::tempdir().unwrap();
    let (input, out) = (path(dir.path(), "docs.jsonl"), path(dir.path(), "index"));
    fs::write(&input, b"{\"id\":1,\"t\":\"good\"}\n{\"id\":2,\"t\":\"\xff\"}\n").unwrap();
    let report = ok(&["build", &input, "--out", &out]);
    assert_eq!((&report["numDocs"], &report["refused"][0]["row"]), (&json!(1), &json!(1)), "{report}");

    let none = path(dir.path(), "none");
    fs::write(&input, "{\"id\":1},\n{\"id\":2},\n").unwrap();
    let (status, report) = json(&["build", &input, "--out", &none]);
    assert_eq!((status, report["refused"].as_array().map(Vec::len)), (1, Some(2)), "{report}");
}

#[test]
fn many_fields_are_no_trouble() {
    let dir = tempfile::tempdir().unwrap();
    let (input, out) = (path(dir.path(), "docs.jsonl"), path(dir.path(), "index"));
    let fields: Vec<String> = (0..10_000).map(|ix| format!("\"f{ix}\":{ix}")).collect();
    fs::write(&input, format!("{{\"id\":1,{}}}\n", fields.join(","))).unwrap();
    ok(&["build", &input, "--out", &out]);
    let found = ok(&["search", &out, "--filter", "{\"f9999\":9999}", "--select", "f3"]);
    assert_eq!((&found["total"], &found["hits"][0]["doc"]), (&json!(1), &json!({ "f3": 3 })), "{found}");
}
