//! `rangefind serve`: a directory over HTTP with byte ranges and CORS, for trying a remote index. Not hardened for the
//! open internet.
//!
//! Ranges follow RFC 9110 (HTTP Semantics, 2022), section 14: one range is answered with 206, a range past the end with
//! 416, several ranges or a malformed header with the whole file.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::{Component, Path, PathBuf},
    sync::Arc,
    thread,
    time::UNIX_EPOCH,
};

use rangefind::error::{Error, ErrorKind};
use tiny_http::{Header, Method, Request, Response, Server, StatusCode};

use super::{Outcome, Verdict, args::ServeArgs, output::Output};

/// Requests answered at a time.
const THREADS: usize = 8;

/// Serves until the process ends.
pub fn run(args: ServeArgs, output: Output) -> Outcome {
    let root = fs::canonicalize(&args.dir).map_err(|error| {
        let kind = if error.kind() == std::io::ErrorKind::NotFound { ErrorKind::NotFound } else { ErrorKind::Io };
        Error::with_source(kind, args.dir.display().to_string(), error)
    })?;
    let failed = |error| Error::with_source(ErrorKind::Io, format!("port {}", args.port), error);
    let server = Arc::new(Server::http((args.host, args.port)).map_err(failed)?);
    let url = format!("http://{}/", server.server_addr());
    output.result(&serde_json::json!({ "url": url, "dir": root }), |out| writeln!(out, "{url}"))?;
    output.remark(format_args!("serving {}; Ctrl-C ends it", root.display()));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Ok(request) = server.recv() {
                    // A client that went away is no reason to stop.
                    let _ = answer(request, &root);
                }
            });
        }
    });
    Ok(Verdict::Fine)
}

fn header(name: &str, value: &str) -> Header {
    Header::from_bytes(name, value).expect("names are constants and values are ASCII made here")
}

fn cors() -> Vec<Header> {
    vec![
        header("Access-Control-Allow-Origin", "*"),
        header("Access-Control-Expose-Headers", "Accept-Ranges, Content-Length, Content-Range, ETag"),
        header("Cross-Origin-Resource-Policy", "cross-origin"),
    ]
}

fn answer(request: Request, root: &Path) -> std::io::Result<()> {
    let empty = |status: u16, extra: Vec<Header>| {
        let headers = cors().into_iter().chain(extra).collect();
        Response::new(StatusCode(status), headers, std::io::empty(), Some(0), None)
    };
    match request.method() {
        Method::Get | Method::Head => {}
        Method::Options => {
            let allowed = vec![
                header("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),
                header("Access-Control-Allow-Headers", "Range, If-Range, If-None-Match"),
                header("Access-Control-Max-Age", "86400"),
            ];
            return request.respond(empty(204, allowed));
        }
        _ => return request.respond(empty(405, vec![header("Allow", "GET, HEAD, OPTIONS")])),
    }
    let Some((mut file, len, etag, path)) = locate(root, request.url()) else {
        return request.respond(empty(404, vec![]));
    };
    let mut headers = vec![
        header("Accept-Ranges", "bytes"),
        header("ETag", &etag),
        header("Content-Type", content_type(&path)),
        header("Cache-Control", "no-cache, no-transform"),
    ];
    if asked(&request, "If-None-Match")
        .is_some_and(|tags| tags.split(',').any(|tag| tag.trim() == etag || tag.trim() == "*"))
    {
        return request.respond(empty(304, headers));
    }
    let is_current = asked(&request, "If-Range").is_none_or(|tag| tag == etag);
    let range = asked(&request, "Range").filter(|_| is_current).and_then(|text| parse_range(&text, len));
    match range {
        Some(Wanted::Nothing) => {
            headers.push(header("Content-Range", &format!("bytes */{len}")));
            request.respond(empty(416, headers))
        }
        Some(Wanted::Bytes { first, last }) => {
            headers.push(header("Content-Range", &format!("bytes {first}-{last}/{len}")));
            file.seek(SeekFrom::Start(first))?;
            send(request, 206, headers, file, last - first + 1)
        }
        None => send(request, 200, headers, file, len),
    }
}

fn send(request: Request, status: u16, headers: Vec<Header>, file: File, len: u64) -> std::io::Result<()> {
    let headers = cors().into_iter().chain(headers).collect();
    let body_len = usize::try_from(len).ok();
    // Chunked coding hides the length; readers of ranges want it.
    let response = Response::new(StatusCode(status), headers, file.take(len), body_len, None);
    request.respond(response.with_chunked_threshold(usize::MAX))
}

fn asked(request: &Request, name: &'static str) -> Option<String> {
    request.headers().iter().find(|header| header.field.equiv(name)).map(|header| header.value.as_str().to_owned())
}

/// The file behind a URL path, its length, its ETag; nothing outside of `root`, not through links either.
fn locate(root: &Path, url: &str) -> Option<(File, u64, String, PathBuf)> {
    let path = percent_decode(url.split(['?', '#']).next()?)?;
    let relative = Path::new(path.trim_start_matches('/'));
    if relative.components().any(|part| !matches!(part, Component::Normal(_))) {
        return None;
    }
    let mut wanted = root.join(relative);
    if wanted.is_dir() {
        wanted.push("index.html");
    }
    let real = fs::canonicalize(wanted).ok().filter(|real| real.starts_with(root))?;
    let file = File::open(&real).ok()?;
    let meta = file.metadata().ok().filter(fs::Metadata::is_file)?;
    let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let etag = format!("\"{:x}-{modified:x}\"", meta.len());
    Some((file, meta.len(), etag, real))
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok().filter(|path| !path.contains('\0'))
}

fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

/// What a `Range` header asks of a file.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Bytes {
        first: u64,
        last: u64,
    },
    /// No byte of the file: 416.
    Nothing,
}

/// `None` for a header to ignore: several ranges, another unit, malformed.
fn parse_range(text: &str, len: u64) -> Option<Wanted> {
    let (first, last) = text.trim().strip_prefix("bytes=")?.split_once('-')?;
    if first.is_empty() {
        let suffix: u64 = last.parse().ok()?;
        let first = len.saturating_sub(suffix);
        return Some(if first < len { Wanted::Bytes { first, last: len - 1 } } else { Wanted::Nothing });
    }
    let first: u64 = first.parse().ok()?;
    let last: u64 = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
    match () {
        () if last < first => None,
        () if first >= len => Some(Wanted::Nothing),
        () => Some(Wanted::Bytes { first, last: last.min(len - 1) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_the_rfc() {
        assert_eq!(parse_range("bytes=0-9", 100), Some(Wanted::Bytes { first: 0, last: 9 }));
        assert_eq!(parse_range("bytes=90-", 100), Some(Wanted::Bytes { first: 90, last: 99 }));
        assert_eq!(parse_range("bytes=-5", 100), Some(Wanted::Bytes { first: 95, last: 99 }));
        assert_eq!(parse_range("bytes=-500", 100), Some(Wanted::Bytes { first: 0, last: 99 }));
        assert_eq!(parse_range("bytes=50-900", 100), Some(Wanted::Bytes { first: 50, last: 99 }));
        assert_eq!(parse_range("bytes=100-", 100), Some(Wanted::Nothing));
        assert_eq!(parse_range("bytes=-0", 100), Some(Wanted::Nothing));
        assert_eq!(parse_range("bytes=0-", 0), Some(Wanted::Nothing));
        for ignored in ["bytes=9-0", "bytes=0-1,4-5", "items=0-1", "bytes=a-b", "bytes=", "0-9"] {
            assert_eq!(parse_range(ignored, 100), None, "{ignored}");
        }
    }

    #[test]
    fn paths_stay_inside() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a b.txt"), "x").unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        assert!(locate(&root, "/a%20b.txt?x").is_some());
        for outside in ["/../etc/passwd", "/%2e%2e/etc/passwd", "//etc/passwd/..", "/a%00", "/%zz", "/missing", "/"] {
            assert!(locate(&root, outside).is_none(), "{outside}");
        }
    }
}
