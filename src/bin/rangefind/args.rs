//! What can be asked for, as clap reads it.

use std::{net::IpAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use rangefind::{codec::PostingsCodec, query::request::VectorMode, schema::Metric};

/// Full-text and vector search over one index that lives in a directory or behind byte ranges.
#[derive(Parser)]
#[command(
    version,
    about,
    after_help = "Exit status: 0 done; 1 failed, check found problems, or build could use no document at all; 2 wrong \
                  usage, options that make no sense for the index among it. A build or merge that fails leaves nothing \
                  behind."
)]
pub struct Cli {
    /// Print results as one JSON value, errors too.
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress, no remarks.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Build a new index of documents.
    Build(BuildArgs),
    /// Search an index.
    Search(Box<SearchArgs>),
    /// Merge the segments of an index, or several indexes into a new one.
    Merge(MergeArgs),
    /// Read and verify every byte of an index.
    Check(PlaceArgs),
    /// Describe an index.
    Info(PlaceArgs),
    /// Serve a directory over HTTP with byte ranges, for trying a remote index.
    Serve(ServeArgs),
}

/// `build`.
#[derive(Args)]
pub struct BuildArgs {
    /// Documents, one JSON object a line, or one JSON array; gzip is unpacked. `-` reads standard input.
    pub documents: PathBuf,
    /// Directory of the new index.
    #[arg(long, short)]
    pub out: PathBuf,
    /// Schema as JSON: `{ "title": "text", "year": "number" }`. Without it, it is inferred from the first documents.
    #[arg(long)]
    pub schema: Option<PathBuf>,
    /// Vectors as a NumPy file of float16 or float32, row i for document i.
    #[arg(long)]
    pub vectors: Option<PathBuf>,
    /// Field the vectors belong to.
    #[arg(long, default_value = "embedding", requires = "vectors")]
    pub vector_field: String,
    /// How vectors are compared, where no schema says so.
    #[arg(long, default_value = "cosine", requires = "vectors")]
    pub metric: MetricArg,
    /// Build a graph over the vectors too, which `search --mode walk` goes over.
    #[arg(long, requires = "vectors")]
    pub graph: bool,
    /// Memory for buffered documents and for the merge, for example 256MiB.
    #[arg(long, default_value = "64MiB", value_parser = parse_bytes)]
    pub memory: u64,
    /// Merge to at most this many segments at the end; 0 leaves them as they are.
    #[arg(long, default_value_t = 1)]
    pub max_segments: u32,
    /// How postings are encoded: `fast` is quicker to search, `compact` a few percent smaller.
    #[arg(long, default_value = "fast")]
    pub codec: CodecArg,
    /// Fail at the first document that does not fit, instead of leaving it out.
    #[arg(long)]
    pub strict: bool,
}

/// A codec of postings by name.
#[derive(Clone, Copy, ValueEnum)]
pub enum CodecArg {
    /// Quicker to search.
    Fast,
    /// Smaller.
    Compact,
}

impl From<CodecArg> for PostingsCodec {
    fn from(codec: CodecArg) -> Self {
        match codec {
            CodecArg::Fast => Self::Fast,
            CodecArg::Compact => Self::Compact,
        }
    }
}

/// A metric by name.
#[derive(Clone, Copy, ValueEnum)]
pub enum MetricArg {
    /// Cosine similarity.
    Cosine,
    /// Dot product.
    Dot,
    /// Euclidean distance.
    L2,
}

impl From<MetricArg> for Metric {
    fn from(metric: MetricArg) -> Self {
        match metric {
            MetricArg::Cosine => Self::Cosine,
            MetricArg::Dot => Self::Dot,
            MetricArg::L2 => Self::L2,
        }
    }
}

/// A way to look for near vectors, by name.
#[derive(Clone, Copy, ValueEnum)]
pub enum ModeArg {
    /// Over the graph of segments that have one.
    Walk,
    /// The best cells.
    Probe,
    /// Every vector.
    Scan,
}

impl From<ModeArg> for VectorMode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Walk => Self::Walk,
            ModeArg::Probe => Self::Probe,
            ModeArg::Scan => Self::Scan,
        }
    }
}

/// `search`.
#[derive(Args)]
pub struct SearchArgs {
    /// Directory or URL of the index.
    pub place: String,
    /// Words to look for; without them every document matches.
    pub query: Option<String>,
    /// Hits to show.
    #[arg(long, short = 'n', default_value_t = 10)]
    pub limit: u32,
    /// Hits to skip.
    #[arg(long, default_value_t = 0)]
    pub offset: u32,
    /// Read the query as `+must -not "a phrase"~2 field:term wo?d* fuzz~1 /reg(ex)?/ year:[2019 TO 2021] (group)^2`.
    #[arg(long, conflicts_with_all = ["all", "prefix", "fuzzy"])]
    pub lucene: bool,
    /// Read the query as a JSON clause: `{ "match": { "field": "body", "text": "range requests" } }`.
    #[arg(long, conflicts_with_all = ["lucene", "all", "prefix", "fuzzy"], requires = "query")]
    pub tree: bool,
    /// All words must match.
    #[arg(long)]
    pub all: bool,
    /// The last word is a prefix.
    #[arg(long)]
    pub prefix: bool,
    /// Typing errors that a word may have: 0, 1, 2, or `auto`, by its length.
    #[arg(long)]
    pub fuzzy: Option<String>,
    /// Characters at the beginning of a word without typing errors. Default 1.
    #[arg(long, requires = "fuzzy")]
    pub fuzzy_prefix: Option<u32>,
    /// Text fields to search, separated by commas; of keyword fields, the query is one whole value.
    #[arg(long, value_delimiter = ',')]
    pub fields: Vec<String>,
    /// Conditions as JSON: `{ "year": { "gte": 2020 }, "tag": ["a", "b"] }`.
    #[arg(long)]
    pub filter: Option<String>,
    /// Order by columns: `year:desc,title`; `year:desc:first` puts documents without a year first.
    #[arg(long, value_delimiter = ',')]
    pub sort: Vec<String>,
    /// Fields whose values are counted, separated by commas.
    #[arg(long, value_delimiter = ',')]
    pub facets: Vec<String>,
    /// A facet with options as JSON: `{ "field": "year", "ranges": [{ "to": 2000 }, { "from": 2000 }] }`. Repeatable.
    #[arg(long)]
    pub facet: Vec<String>,
    /// One hit per value of this field: `author`; `author:3` with up to three further hits each.
    #[arg(long)]
    pub collapse: Option<String>,
    /// Continue behind the last hit of an earlier answer: its cursor, which `--json` shows.
    #[arg(long, conflicts_with = "offset")]
    pub after: Option<String>,
    /// Text fields whose matches are marked, separated by commas.
    #[arg(long, value_delimiter = ',')]
    pub highlight: Vec<String>,
    /// Stored fields to show, separated by commas. All by default.
    #[arg(long, value_delimiter = ',')]
    pub select: Vec<String>,
    /// Query vector: a NumPy file, or a JSON array of numbers.
    #[arg(long, group = "nearest")]
    pub vector_file: Option<PathBuf>,
    /// Row of the NumPy file.
    #[arg(long, default_value_t = 0, requires = "vector_file")]
    pub vector_row: u64,
    /// Field of the vector. The only vector field by default.
    #[arg(long, requires = "nearest")]
    pub vector_field: Option<String>,
    /// Use the vector of the document with this id.
    #[arg(long, group = "nearest")]
    pub like: Option<String>,
    /// Neighbours to consider.
    #[arg(long, requires = "nearest")]
    pub k: Option<u32>,
    /// Leave out neighbours with a lower vector score.
    #[arg(long, requires = "nearest")]
    pub min_score: Option<f32>,
    /// Score every vector: the answer is exact.
    #[arg(long, requires = "nearest")]
    pub exact: bool,
    /// Share of the nearest vectors to find, by what was measured when the index was built. 0.95 by default.
    #[arg(long, requires = "nearest")]
    pub recall: Option<f32>,
    /// Cells of near vectors to look into per segment, instead of what the recall asks for.
    #[arg(long, requires = "nearest")]
    pub probes: Option<u32>,
    /// Vectors to score exactly, as a multiple of the hits, instead of what the recall asks for.
    #[arg(long, requires = "nearest")]
    pub oversample: Option<f32>,
    /// How segments with cells are searched: by their best cells, over their graph, or vector by vector.
    #[arg(long, value_enum, requires = "nearest")]
    pub mode: Option<ModeArg>,
    /// Vectors kept while walking, instead of what the recall asks for.
    #[arg(long, requires = "nearest")]
    pub ef_search: Option<u32>,
    /// `rrf`, `rrf:K`, or `TEXT:VECTOR` weights such as `0.3:0.7`.
    #[arg(long, default_value = "rrf")]
    pub fuse: String,
    /// Count all matches, of an index behind a URL too.
    #[arg(long)]
    pub exact_total: bool,
    /// Score vectors on any GPU there is, or fail.
    #[arg(long)]
    pub gpu: bool,
    /// Show how each score came about.
    #[arg(long)]
    pub explain: bool,
    /// The whole request as a JSON file in the shape of the TypeScript API, `-` for standard input. Other options are ignored.
    #[arg(long)]
    pub request: Option<PathBuf>,
}

/// `merge`.
#[derive(Args)]
pub struct MergeArgs {
    /// One index to merge in place, or several to merge into `--out`.
    #[arg(required = true)]
    pub places: Vec<String>,
    /// Directory of the new index. Needed to merge several.
    #[arg(long, short)]
    pub out: Option<PathBuf>,
    /// Merge until at most this many segments are left.
    #[arg(long, default_value_t = 1)]
    pub max_segments: u32,
    /// Put documents with the same words near each other: a smaller and faster index of text, and a longer merge.
    #[arg(long)]
    pub reorder: bool,
    /// Memory for buffers, for example 256MiB.
    #[arg(long, default_value = "64MiB", value_parser = parse_bytes)]
    pub memory: u64,
    /// Encode postings this way from now on: `fast` is quicker to search, `compact` a few percent smaller.
    #[arg(long)]
    pub codec: Option<CodecArg>,
}

/// `check` and `info`.
#[derive(Args)]
pub struct PlaceArgs {
    /// Directory or URL of the index.
    pub place: String,
}

/// `serve`.
#[derive(Args)]
pub struct ServeArgs {
    /// Directory to serve.
    pub dir: PathBuf,
    /// Port; 0 takes a free one.
    #[arg(long, short, default_value_t = 8080)]
    pub port: u16,
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    pub host: IpAddr,
}

/// Reads `1048576`, `64MiB`, `512 kB`, `1GiB`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return Err(format!("{unit:?} is no unit of bytes; 64MiB is an example")),
    };
    let number: u64 = number.parse().map_err(|_| "expected a number of bytes such as 64MiB".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "too many bytes".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn reads_amounts_of_bytes() {
        assert_eq!(parse_bytes("64MiB"), Ok(64 << 20));
        assert_eq!(parse_bytes("5 kB"), Ok(5000));
        assert_eq!(parse_bytes("12"), Ok(12));
        assert!(parse_bytes("MiB").is_err());
        assert!(parse_bytes("99999999999GiB").is_err());
    }
}
