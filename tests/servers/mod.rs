//! Starts the misbehaving server for native tests.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
};

/// A running server; dropped, it ends.
pub struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Starts it on a free port, over the files of `directory` if there is one.
    pub fn start(directory: Option<&Path>) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/misbehaving.mjs");
        let mut command = Command::new("node");
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(directory) = directory {
            command.arg("--dir").arg(directory);
        }
        let mut child = command.spawn().expect("node is on the path");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a first line");
        let address = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
        Self { child, address }
    }

    /// `http://127.0.0.1:PORT`
    pub fn address(&self) -> &str {
        &self.address
    }

    /// One number of the server's statistics.
    pub fn stats(&self, key: &str) -> u64 {
        let host = self.address.strip_prefix("http://").expect("http");
        let mut stream = TcpStream::connect(host).expect("it listens");
        write!(stream, "GET /__stats HTTP/1.0\r\nhost: {host}\r\n\r\n").expect("write");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("read");
        let json = answer.split("\r\n\r\n").nth(1).expect("a body");
        let stats: serde_json::Value = serde_json::from_str(json).expect("JSON");
        stats[key].as_u64().unwrap_or_else(|| panic!("no number {key} in {json}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Our own child, by its handle.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
