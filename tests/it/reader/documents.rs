//! Rank manifests and sets of microbatch manifests: what can be wrong with them as a whole.
use crate::reader::run::HEADER;
use crate::reader::run::drain_from;
use crate::reader::run::path;
use crate::reader::run::shown;
use receipt::canonical::Digest;
use receipt::manifest::open_run;
use receipt::manifest::read::ReadError;
use receipt::manifest::source::Memory;
use receipt::manifest::source::SourceError;
use receipt::manifest::source::SourceName;
use receipt::manifest::source::Sources;
use std::io::Read;

const CONTRACT: &str = concat!(
    r#"{"formula":"token-mean/1","accumulation_steps":1,"world_size":2,"tail":"flush","#,
    r#""tolerance":{"absolute":0,"relative":0},"precision":"float64","gradient_reduction":"sum"}"#
);

fn document(ranks: &str) -> String {
    format!("{{\"schema\":\"accumulation/rank-manifest/1\",\n\"contract\":{CONTRACT},\n\"ranks\":[\n{ranks}\n]}}")
}

fn header(rank: u64) -> String {
    format!(r#"{{"schema":"accumulation/microbatch-manifest/1","rank":{rank},"contract":{CONTRACT}}}"#)
}

fn said(memory: &Memory, inputs: &[&str]) -> Vec<String> {
    let inputs: Vec<SourceName> = inputs.iter().map(|name| path(name)).collect();
    shown(memory, &drain_from(memory, &inputs, false))
}

fn faults(ranks: &str) -> Vec<String> {
    said(&Memory::new().with("m", document(ranks)), &["m"])
}

#[test]
fn ranks() {
    let none = r#","events":[]}"#;
    let two = |a: u64, b: u64| format!("{{\"rank\":{a}{none},\n{{\"rank\":{b}{none}");
    assert_eq!(faults(&two(1, 0)), [] as [&str; 0]);
    assert_eq!(
        faults(&two(0, 0)),
        ["GA110 1:1 : rank 1 of 2 is missing", "GA110 5:9 /ranks/1/rank: rank 0 is there twice"]
    );
    assert_eq!(
        faults(&two(0, 2)),
        ["GA110 1:1 : rank 1 of 2 is missing", "GA110 5:9 /ranks/1/rank: rank 2, where world_size is 2"]
    );
    assert_eq!(faults(""), ["GA110 1:1 : ranks 0, 1 of 2 are missing"]);
    let said = faults("{\"rank\":0,\"events\":[],\"sha256\":\"00\"},\n{\"events\":[3],\"microbatch_manifest\":4}");
    assert_eq!(
        said,
        [
            "GA103 4:23 /ranks/0/sha256: unknown field `sha256`",
            "GA103 5:1 /ranks/1: missing field `rank`",
            "GA103 5:12 /ranks/1/events/0: the number `3`, where a plain word or an object with one tag is expected",
            "GA103 5:15 /ranks/1/microbatch_manifest: unknown field `microbatch_manifest`",
        ]
    );
}

#[test]
fn events_in_a_document_have_their_own_places() {
    let said = faults(
        "{\"rank\":1,\"events\":[]},\n{\"events\":[\"zero_grad\",\n  {\"backward\":{\"window\":0,\"microbatch\":\"a\",\"valid_targets\":1.0,\"loss_sum\":NaN}}],\"rank\":0}",
    );
    assert_eq!(
        said,
        [
            "GA105 6:60 /ranks/1/events/1/backward/valid_targets: `1.0` is no count: it has a fraction or an exponent",
            "GA106 6:75 /ranks/1/events/1/backward/loss_sum: `NaN` is not a JSON number; record the field `nonfinite` instead",
        ]
    );
}

#[test]
fn sync_is_needed_where_there_is_more_than_one_rank() {
    let backward = |more: &str| {
        let event =
            format!("{{\"backward\":{{\"window\":0,\"microbatch\":\"a\",\"valid_targets\":1,\"loss_sum\":1{more}}}}}");
        format!("{{\"rank\":0,\"events\":[{event}]}},\n{{\"rank\":1,\"events\":[]}}")
    };
    assert_eq!(faults(&backward(",\"sync\":false")), [] as [&str; 0]);
    let missing =
        "GA103 4:33 /ranks/0/events/0/backward: missing field `sync`, which is needed where world_size is more than 1";
    assert_eq!(faults(&backward(",\"forward_sync\":true")), [missing]);
    let unobserved = document(&backward("")).replace("\"tail\"", "\"unobserved\":[\"sync\"],\"tail\"");
    assert_eq!(said(&Memory::new().with("m", unobserved), &["m"]), [] as [&str; 0]);
}

#[test]
fn a_document_that_breaks_off_is_read_as_far_as_it_goes() {
    let said = faults("{\"rank\":0,\"events\":[\"zero\",{\"rescale\":{\"factor\":1}},{\"clip\":{\"max_no");
    assert_eq!(
        said,
        [
            "GA103 4:21 /ranks/0/events/0: unknown word `zero`",
            "GA101 4:53 /ranks/0/events/2: the text breaks off inside an event",
        ]
    );
    assert_eq!(
        said_of("{\"schema\":\"accumulation/rank-manifest/1\"} x"),
        [
            "GA101 1:43 : there is something after the end of the value",
            "GA103 1:1 : missing field `contract`",
            "GA103 1:1 : missing field `ranks`"
        ]
    );
    assert_eq!(said_of("{\"schema\":\"accumulation/rank-manifest/9\",\"x\":1}").len(), 1);
    assert!(said_of("{\"schema\":\"accumulation/receipt/1\",\"x\":1}")[0].starts_with("GA102 1:11 /schema"));
}

fn said_of(text: &str) -> Vec<String> {
    let mut all = said(&Memory::new().with("m", text), &["m"]);
    all.sort();
    all
}

#[test]
fn references_that_are_broken() {
    let refer = |path: &str, sha: &str| {
        format!("{{\"rank\":0,\"events\":[]}},\n{{\"rank\":1,\"microbatch_manifest\":\"{path}\",\"sha256\":\"{sha}\"}}")
    };
    let zeros = "0".repeat(64);
    for (path, why) in [
        ("/etc/passwd", "is absolute"),
        ("../r1", "leaves the folder with `..`"),
        ("a/../../r1", "leaves the folder with `..`"),
        ("a\\\\r1", "contains a backslash"),
        ("a//r1", "has an empty component or `.`"),
        ("a\\u0000", "contains a NUL"),
        ("", "is empty"),
    ] {
        let said = faults(&refer(path, &zeros));
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("GA116 5:33 /ranks/1/microbatch_manifest: the reference `"), "{said:?}");
        assert!(said[0].ends_with(why), "{said:?}");
    }
    assert_eq!(
        faults(&refer("r1", &zeros)),
        ["GA116 5:33 /ranks/1/microbatch_manifest: `r1` cannot be read: there is no such file"]
    );
    let with =
        |file: String, sha: &str| said(&Memory::new().with("m", document(&refer("r1", sha))).with("r1", file), &["m"]);
    let good = format!("{}\n\"zero_grad\"\n", header(1));
    let sha = Digest::of(good.as_bytes()).to_string();
    assert_eq!(with(good.clone(), &sha), [] as [&str; 0]);
    assert_eq!(
        with(good.clone(), &zeros),
        [format!("GA116 5:47 /ranks/1/sha256: the file's SHA-256 is {sha}, not {zeros}")]
    );
    let other = header(0);
    let said = with(other.clone(), &Digest::of(other.as_bytes()).to_string());
    assert_eq!(said, ["GA110 1:55 /rank: the header is of rank 0, its entry of rank 1"]);
    let other = header(1).replace("flush", "drop");
    let said = with(other.clone(), &Digest::of(other.as_bytes()).to_string());
    assert_eq!(said, ["GA117 1:139 /contract/tail: `\"drop\"`, where the first rank's contract has `\"flush\"`"]);
    let cycle = document("");
    let said = with(cycle.clone(), &Digest::of(cycle.as_bytes()).to_string());
    assert_eq!(
        said,
        [
            "GA116 5:33 /ranks/1/microbatch_manifest: `r1` is a rank manifest; only microbatch manifests can be referenced"
        ]
    );
}

#[test]
fn a_link_out_of_the_folder_is_a_broken_reference() {
    struct Linked(Memory);
    impl Sources for Linked {
        fn open(&self, name: &SourceName) -> Result<Box<dyn Read + Send>, SourceError> {
            match name {
                SourceName::Reference { .. } => Err(SourceError::Outside),
                _ => self.0.open(name),
            }
        }
    }
    let ranks = format!(
        "{{\"rank\":0,\"events\":[]}},\n{{\"rank\":1,\"microbatch_manifest\":\"r1\",\"sha256\":\"{}\"}}",
        "0".repeat(64)
    );
    let sources = Linked(Memory::new().with("m", document(&ranks)));
    let said = shown(&sources, &drain_from(&sources, &[path("m")], false));
    assert_eq!(
        said,
        ["GA116 5:33 /ranks/1/microbatch_manifest: `r1` cannot be read: it leads out of the rank manifest's folder"]
    );
}

#[test]
fn several_files_are_one_run() {
    let good = |rank| format!("{}\n\"zero_grad\"\n", header(rank));
    let run = |zero: &str, one: &str| said(&Memory::new().with("zero", zero).with("one", one), &["one", "zero"]);
    assert_eq!(run(&good(0), &good(1)), [] as [&str; 0]);
    assert_eq!(
        run(&good(0), &good(0)),
        ["GA110 nowhere: rank 1 of 2 is missing", "GA110 1:55 /rank: rank 0 is there twice"]
            .map(|s| s.replace("nowhere", "1:1 "))
    );
    let bare = r#"{"schema":"accumulation/microbatch-manifest/1","rank":1}"#;
    assert_eq!(run(&good(0), bare), ["GA116 1:1 : the header has no contract, and no rank manifest supplies one"]);
    let other = header(1).replace("\"precision\"", "\"clip\":{\"max_norm\":2},\"precision\"");
    assert_eq!(
        run(&good(0), &other),
        ["GA117 1:194 /contract/clip: `{\"max_norm\":2.0}`, where the first rank's contract has none"]
    );
    // A header that can't be read: its events still have a place.
    let said = run(&good(0), "{\"schema\":3}\n\"zero\"\n");
    assert_eq!(
        said,
        [
            "GA103 1:1 : missing field `rank`",
            "GA103 1:11 /schema: the number `3`, where `accumulation/microbatch-manifest/1` is expected",
            "GA103 2:1 : unknown word `zero`",
        ]
    );
}

#[test]
fn what_cannot_be_read_at_all() {
    let memory = Memory::new().with("m", document("")).with("r", HEADER);
    let open = |names: &[&str]| {
        let inputs: Vec<SourceName> = names.iter().map(|name| path(name)).collect();
        open_run(&memory, &inputs, false).expect_err("an error")
    };
    assert!(matches!(open(&[]), ReadError::Nothing));
    assert!(matches!(open(&["r", "r"]), ReadError::Twice(_)));
    assert!(matches!(open(&["r", "m"]), ReadError::NotAlone(_)));
    assert_eq!(open(&["x"]).to_string(), "cannot read x");
}

#[test]
fn damaged_compression() {
    let text = format!("{}\n\"zero_grad\"\n\"zero_grad\"\n", header(0).replace("\"world_size\":2", "\"world_size\":1"));
    let whole = zstd::encode_all(text.as_bytes(), 1).expect("zstd");
    let memory = |bytes: &[u8]| Memory::new().with("m", bytes);
    assert_eq!(said(&memory(&whole), &["m"]), [] as [&str; 0]);
    let said_torn = said(&memory(&whole[..whole.len() - 3]), &["m"]);
    assert_eq!(said_torn.len(), 1);
    assert!(said_torn[0].starts_with("GA101 ") && said_torn[0].contains("the zstd stream breaks off"), "{said_torn:?}");
    let trailing = [&whole[..], b"garbage"].concat();
    let said_trailing = said(&memory(&trailing), &["m"]);
    assert_eq!(said_trailing.len(), 1);
    assert!(said_trailing[0].starts_with("GA101 4:1 : the zstd stream is damaged"), "{said_trailing:?}");
}
