//! Tests of [`super`]: one per way a server misbehaves.

use super::*;

fn asked() -> RangeAsked {
    RangeAsked { range: 10..20, file_len: Some(100) }
}

fn partial(content_range: &str) -> ResponseHead {
    ResponseHead { status: 206, content_range: Some(content_range.to_owned()), ..Default::default() }
}

fn status(status: u16) -> ResponseHead {
    ResponseHead { status, ..Default::default() }
}

#[test]
fn accepts_the_part_that_was_asked_for() {
    check_range_head(&asked(), &partial("bytes 10-19/100")).expect("exact");
    check_range_head(&asked(), &partial("Bytes 10-19/*")).expect("unknown total");
    check_range_head(&asked(), &status(206)).expect("hidden headers");
    let identity = ResponseHead { content_encoding: Some("identity".into()), ..partial("bytes 10-19/100") };
    check_range_head(&asked(), &identity).expect("identity is no encoding");
    check_range_body(&asked(), &status(206), 10).expect("the right length");
    assert_eq!(range_header(&(10..20)), "bytes=10-19");
}

#[test]
fn tells_apart_what_servers_do() {
    let fault = |head: ResponseHead| check_range_head(&asked(), &head).expect_err("refused");
    let kind = |head: ResponseHead| fault(head).kind();
    assert_eq!(fault(status(200)), HttpFault::RangeIgnored);
    assert_eq!(fault(status(416)), HttpFault::NotSatisfiable);
    assert_eq!(kind(status(416)), ErrorKind::IndexChanged);
    assert_eq!(kind(status(404)), ErrorKind::NotFound);
    assert_eq!(kind(status(412)), ErrorKind::IndexChanged);
    assert_eq!(kind(status(503)), ErrorKind::Network);
    assert_eq!(kind(status(403)), ErrorKind::Network);
    assert_eq!(kind(partial("bytes 11-20/100")), ErrorKind::RangeUnsupported);
    assert_eq!(kind(partial("bytes 10-19/101")), ErrorKind::IndexChanged);
    assert_eq!(kind(partial("nonsense")), ErrorKind::RangeUnsupported);
    let gzip = ResponseHead { content_encoding: Some("gzip".into()), ..partial("bytes 10-19/100") };
    assert_eq!(fault(gzip), HttpFault::Encoded { encoding: "gzip".into() });
    let long = ResponseHead { content_length: Some(11), ..partial("bytes 10-19/100") };
    assert_eq!(fault(long), HttpFault::WrongBodyLen { asked: 10, found: 11 });
}

#[test]
fn a_whole_file_answers_only_a_request_for_the_whole_file() {
    let all = RangeAsked { range: 0..100, file_len: Some(100) };
    check_range_head(&all, &status(200)).expect("the same bytes");
    check_range_body(&all, &status(200), 100).expect("all of it");
    let grown = check_range_body(&all, &status(200), 120).expect_err("longer");
    assert_eq!(grown, HttpFault::LenChanged { expected: 100, found: 120 });
    let short = check_range_body(&asked(), &status(206), 9).expect_err("short");
    assert_eq!(short, HttpFault::WrongBodyLen { asked: 10, found: 9 });
}

#[test]
fn only_what_passes_by_itself_is_transient() {
    for status in [408, 425, 429, 500, 502, 503, 504] {
        assert!(HttpFault::Status { status }.is_transient(), "{status}");
    }
    for status in [300, 400, 401, 403] {
        assert!(!HttpFault::Status { status }.is_transient(), "{status}");
    }
    assert!(HttpFault::WrongBodyLen { asked: 2, found: 1 }.is_transient());
    assert!(!HttpFault::RangeIgnored.is_transient());
    assert!(!HttpFault::Aborted.is_transient());
    assert!(!HttpFault::NotSatisfiable.is_transient());
}

#[test]
fn content_range_is_parsed_strictly() {
    assert_eq!(ContentRange::parse("bytes 0-0/1"), Some(ContentRange { range: 0..1, total: Some(1) }));
    for bad in [
        "",
        "bytes",
        "bytes 0-0",
        "bytes 5-4/9",
        "bytes 0-9/9",
        "bytes */9",
        "items 0-1/9",
        "bytes +0-1/9",
        "bytes 0-18446744073709551615/*",
        "bytes 99999999999999999999-1/2",
    ] {
        assert_eq!(ContentRange::parse(bad), None, "{bad}");
    }
}

#[test]
fn random_headers_never_panic() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let letters: Vec<char> = "bytes 0123456789-/*,=".chars().collect();
    for _ in 0..20_000 {
        let text: String = (0..random.usize(0..24)).map(|_| letters[random.usize(..letters.len())]).collect();
        if let Some(found) = ContentRange::parse(&format!("bytes {text}")) {
            assert!(found.range.start < found.range.end);
        }
    }
}

#[test]
fn a_changed_strong_tag_is_a_changed_file() {
    let tagged = |tag: &str| ResponseHead { status: 206, etag: Some(tag.to_owned()), ..Default::default() };
    let validators = Validators::new();
    validators.check("a", &status(206)).expect("hidden");
    validators.check("a", &tagged("W/\"1\"")).expect("weak");
    validators.check("a", &tagged("\"1\"")).expect("first");
    validators.check("b", &tagged("\"2\"")).expect("another file");
    validators.check("a", &tagged("W/\"3\"")).expect("weak");
    let fault = validators.check("a", &tagged("\"2\"")).expect_err("changed");
    assert_eq!(fault.kind(), ErrorKind::IndexChanged);
}
