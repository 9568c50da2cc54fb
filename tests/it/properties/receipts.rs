//! A receipt that was touched is refused, and its manifest gives it again.
use crate::reader::run::path;
use crate::runs::{self, binary, document};
use receipt::finding::Code;
use receipt::manifest::source::Memory;
use receipt::pipeline::VerifyOptions;
use receipt::receipt::document::Detail;
use receipt::receipt::{Sealed, check};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn sealed(manifest: &Value, detail: Detail) -> Sealed {
    let sources = Memory::new().with("m", manifest.to_string());
    runs::verify_with(&sources, &[path("m")], &VerifyOptions { detail, ..VerifyOptions::default() }).sealed
}

#[test]
fn one_flipped_byte_anywhere_is_refused() {
    let receipt = sealed(&document("worked/three-six-one.json"), Detail::Summary);
    let mut codes = BTreeSet::new();
    for at in 0..receipt.bytes().len() {
        for flip in [1u8, 2, 4, 0x10, 0x20, 0x80, 0xff] {
            let mut bytes = receipt.bytes().to_vec();
            bytes[at] ^= flip;
            let refused = check::read(&bytes).err().unwrap_or_else(|| panic!("byte {at} with {flip:#x} is accepted"));
            codes.insert(refused.code);
        }
    }
    assert_eq!(Vec::from_iter(codes), [Code::GA101, Code::GA103, Code::GA801, Code::GA803]);
}

#[test]
fn a_byte_more_or_less_is_refused() {
    let receipt = sealed(&document("worked/three-six-one.json"), Detail::Summary);
    let bytes = receipt.bytes();
    for at in 0..bytes.len() {
        let less = [&bytes[..at], &bytes[at + 1..]].concat();
        assert!(check::read(&less).is_err(), "without byte {at}");
        for added in [b' ', b'0', b'\n'] {
            let more = [&bytes[..at], &[added], &bytes[at..]].concat();
            assert!(check::read(&more).is_err(), "with {added} before byte {at}");
        }
    }
    assert!(check::read(&[bytes, b"\n"].concat()).is_ok(), "one newline at the end is allowed");
    assert!(check::read(&[bytes, b"\n\n"].concat()).is_err());
    assert!(check::read(bytes).is_ok());
}

#[test]
fn every_fixture_gives_its_receipt_again() {
    for fixture in crate::fixtures::all().iter().filter(|fixture| !fixture.inputs().is_empty()) {
        let first = fixture.verify().sealed;
        let read = check::read(first.bytes()).unwrap_or_else(|finding| panic!("{}: {finding:?}", fixture.name));
        assert_eq!(read, first, "{}: a receipt read again is what was written", fixture.name);
        let comparison = check::compare(&read, &fixture.verify().sealed);
        assert_eq!(comparison, check::Comparison::default(), "{}", fixture.name);
    }
}

#[test]
fn a_resealed_lie_is_found_with_the_manifest() {
    let manifest = document("worked/three-six-one.json");
    let given = sealed(&manifest, Detail::Full);
    for (pointer, value) in [
        ("/ranks/0/events/0/backward/loss_sum", json!(1.3)),
        ("/ranks/0/events/0/backward/microbatch", json!("other")),
        ("/ranks/0/events/3/logged/loss", json!(0.65)),
        ("/contract/tolerance/absolute", json!(1e-11)),
    ] {
        let other = sealed(&runs::edit::with(&manifest, pointer, value), Detail::Full);
        let refused = check::compare(&given, &other).refused.unwrap_or_else(|| panic!("{pointer} is not found"));
        assert_eq!(refused.code, Code::GA802, "{pointer}");
    }
}

#[test]
fn the_binary_checks() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = runs::fixture("worked/three-six-one.json");
    let receipt = folder.path().join("receipt.json");
    let verify = ["verify".as_ref(), manifest.as_os_str(), "--receipt".as_ref(), receipt.as_os_str()];
    assert_eq!(binary::run(verify).code, 0);
    assert_eq!(binary::run(["check".as_ref(), receipt.as_os_str()]).code, 0);
    assert_eq!(binary::run(["check".as_ref(), receipt.as_os_str(), manifest.as_os_str()]).code, 0);
    let another = runs::fixture("worked/two-and-four.json");
    let ran = binary::run(["check".as_ref(), receipt.as_os_str(), another.as_os_str()]);
    assert_eq!((ran.code, ran.shown().contains("GA802")), (1, true), "{}", ran.shown());
    let text = std::fs::read_to_string(&receipt).expect("the receipt");
    std::fs::write(&receipt, text.replacen("\"valid_targets\":10", "\"valid_targets\":11", 1)).expect("written");
    let ran = binary::run(["check".as_ref(), receipt.as_os_str()]);
    assert_eq!((ran.code, ran.shown().contains("GA801")), (1, true), "{}", ran.shown());
    std::fs::write(&receipt, &text[..text.len() / 2]).expect("written");
    assert_eq!(binary::run(["check".as_ref(), receipt.as_os_str()]).code, 3, "half a receipt is malformed");
    assert_eq!(binary::run(["check".as_ref(), folder.path().join("none.json").as_os_str()]).code, 2);
}
