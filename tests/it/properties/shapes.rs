//! One run in any shape gives the same receipt bytes: order of keys and ranks, inline or by reference, one file or
//! several, compressed or not, in whatever spelling of lines.
use crate::reader::run::path;
use crate::runs::{self, document, edit};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use receipt::canonical::Digest;
use receipt::manifest::source::{Memory, SourceName};
use receipt::pipeline::VerifyOptions;
use serde_json::{Value, json};
use std::io::Write;

const RUNS: [&str; 4] = [
    "worked/fully-witnessed.json",
    "worked/two-ranks.json",
    "worked/tail-carry.json",
    "worked/two-ranks-tail-disagreement.json",
];

fn bytes_of(sources: &Memory, names: &[&str]) -> Vec<u8> {
    let inputs: Vec<SourceName> = names.iter().map(|name| path(name)).collect();
    let verified = runs::verify_with(sources, &inputs, &VerifyOptions::default());
    without_raw(verified.sealed.bytes())
}

/// A rejected run's receipt names the hash of the very bytes it was given, and its own.
fn without_raw(receipt: &[u8]) -> Vec<u8> {
    let mut tree: Value = serde_json::from_slice(receipt).expect("JSON");
    if tree["verdict"] == "rejected" {
        tree["input"]["raw_sha256"] = Value::Null;
        tree["receipt_sha256"] = Value::Null;
        return tree.to_string().into_bytes();
    }
    receipt.to_vec()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).expect("memory")
}

/// How a file's text is stored.
#[derive(Clone, Copy, Debug)]
enum Stored {
    Plain,
    Gzip,
    GzipMembers,
    Zstd,
    ZstdFrames,
}

impl Stored {
    fn of(self, text: &str) -> Vec<u8> {
        let text = text.as_bytes();
        let (head, tail) = text.split_at(text.len() / 2);
        match self {
            Stored::Plain => text.to_vec(),
            Stored::Gzip => gzip(text),
            Stored::GzipMembers => [gzip(head), gzip(tail)].concat(),
            Stored::Zstd => zstd(text),
            Stored::ZstdFrames => [zstd(head), zstd(tail)].concat(),
        }
    }
}

const STORED: [Stored; 5] = [Stored::Plain, Stored::Gzip, Stored::GzipMembers, Stored::Zstd, Stored::ZstdFrames];

/// The ranks as files; with the contract in each header, or for a rank manifest to supply.
fn files(manifest: &Value, contract: bool, end: &str, stored: Stored) -> Vec<(String, Vec<u8>)> {
    let contract = contract.then(|| &manifest["contract"]);
    let file = |entry: &Value| {
        let text = edit::lines(entry, contract, end);
        (format!("rank-{}", entry["rank"]), stored.of(&text))
    };
    edit::ranks(manifest).iter().map(file).collect()
}

fn with_files(files: &[(String, Vec<u8>)]) -> Memory {
    files.iter().fold(Memory::new(), |memory, (name, bytes)| memory.with(name, bytes))
}

/// The run with each rank in a file of its own.
fn by_reference(manifest: &Value, files: &[(String, Vec<u8>)]) -> Value {
    let mut manifest = manifest.clone();
    for (entry, (name, bytes)) in manifest["ranks"].as_array_mut().expect("ranks").iter_mut().zip(files) {
        *entry = json!({"rank": entry["rank"], "microbatch_manifest": name, "sha256": Digest::of(bytes)});
    }
    manifest
}

fn reversed(manifest: &Value) -> Value {
    let mut manifest = manifest.clone();
    manifest["ranks"].as_array_mut().expect("ranks").reverse();
    manifest
}

fn inline(manifest: &Value) -> Vec<u8> {
    bytes_of(&Memory::new().with("m", manifest.to_string()), &["m"])
}

#[test]
fn inline_by_reference_or_as_files_stored_in_any_way() {
    for name in RUNS {
        let manifest = document(name);
        let expected = inline(&manifest);
        for stored in STORED {
            let referenced = files(&manifest, false, "\n", stored);
            let document = stored.of(&by_reference(&manifest, &referenced).to_string());
            let sources = with_files(&referenced).with("m", &document);
            assert!(bytes_of(&sources, &["m"]) == expected, "{name} by reference, {stored:?}");
            let alone = files(&manifest, true, "\n", stored);
            let mut names: Vec<&str> = alone.iter().map(|(name, _)| name.as_str()).collect();
            assert!(bytes_of(&with_files(&alone), &names) == expected, "{name} as files, {stored:?}");
            names.reverse();
            assert!(bytes_of(&with_files(&alone), &names) == expected, "{name} as files in another order, {stored:?}");
        }
    }
}

#[test]
fn some_ranks_inline_and_some_by_reference() {
    let manifest = document("worked/two-ranks.json");
    let referenced = files(&manifest, false, "\n", Stored::Plain);
    let mut mixed = by_reference(&manifest, &referenced);
    mixed["ranks"][0] = manifest["ranks"][0].clone();
    let sources = with_files(&referenced).with("m", mixed.to_string());
    assert!(bytes_of(&sources, &["m"]) == inline(&manifest));
}

#[test]
fn line_ends() {
    for name in RUNS {
        let manifest = document(name);
        let expected = inline(&manifest);
        for end in ["\n", "\r\n", " \t\r\n", "  \n"] {
            let files = files(&manifest, true, end, Stored::Plain);
            let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
            assert!(bytes_of(&with_files(&files), &names) == expected, "{name}, {end:?}");
            let short: Vec<_> =
                files.iter().map(|(name, text)| (name.clone(), text[..text.len() - end.len()].to_vec())).collect();
            assert!(bytes_of(&with_files(&short), &names) == expected, "{name}, {end:?}, the last left out");
        }
    }
}

#[test]
fn what_an_editor_adds_is_ignored() {
    let manifest = document("worked/two-ranks.json");
    let mut edited = manifest.clone();
    edited["$schema"] = json!("../schemas/rank-manifest.json");
    assert!(inline(&edited) == inline(&manifest));
}

#[test]
fn defaults_written_out_change_nothing() {
    let manifest = document("worked/two-ranks.json");
    let mut explicit = manifest.clone();
    let contract = explicit["contract"].as_object_mut().expect("a contract");
    contract.extend(
        json!({"loss_precision": "float64", "synchronize": "last", "unobserved": [], "require": [],
        "on_skip": {"scheduler": "hold", "update": "hold"}, "software": {}})
        .as_object()
        .expect("fields")
        .clone(),
    );
    explicit["replay"] = json!({"seed": 39, "recompute": "none", "vocabulary": 266});
    assert!(inline(&explicit) == inline(&manifest));
}

#[test]
fn numbers_in_another_spelling() {
    let text = document("worked/three-six-one.json").to_string();
    let spelt = text.replace("1.2,", "12.0e-1,").replace(":4.8", ":480E-2").replace("[1.5]", "[1.50]");
    assert_ne!(text, spelt);
    let sources = Memory::new().with("m", &spelt);
    assert!(bytes_of(&sources, &["m"]) == inline(&document("worked/three-six-one.json")));
}

#[test]
fn strings_in_another_spelling() {
    let text = document("worked/three-six-one.json").to_string();
    let spelt = text.replace("\"backward\"", "\"b\\u0061ckward\"").replace("\"w0-m0\"", "\"\\u0077\\u0030-m0\"");
    assert_ne!(text, spelt);
    let sources = Memory::new().with("m", &spelt);
    assert!(bytes_of(&sources, &["m"]) == inline(&document("worked/three-six-one.json")));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn keys_and_ranks_in_any_order(seed in any::<u64>(), name in prop::sample::select(RUNS.to_vec()), turned in any::<bool>()) {
        let manifest = document(name);
        let other = if turned { reversed(&manifest) } else { manifest.clone() };
        let sources = Memory::new().with("m", edit::shuffled(&other, seed));
        prop_assert!(bytes_of(&sources, &["m"]) == inline(&manifest));
    }
}

#[test]
fn another_run_gives_another_receipt() {
    // So that the comparisons above can fail.
    let manifest = document("worked/two-ranks.json");
    let mut other = manifest.clone();
    other["ranks"][0]["events"][0]["backward"]["microbatch"] = json!("another");
    assert!(inline(&other) != inline(&manifest));
}
