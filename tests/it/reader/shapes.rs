//! The same run in any shape: inline, by reference, as several files, compressed, keys and ranks in any order.
use crate::reader::generate::DEFINITIONS;
use crate::reader::generate::below;
use crate::reader::generate::instance;
use crate::reader::generate::print;
use crate::reader::run::Drained;
use crate::reader::run::drain_from;
use crate::reader::run::path;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use proptest::test_runner::TestRng;
use receipt::canonical::Digest;
use receipt::manifest::Opened;
use receipt::manifest::read::input_sha256;
use receipt::manifest::read::raw_sha256;
use receipt::manifest::source::Memory;
use serde_json::Value;
use serde_json::json;
use std::io::Write;

fn contract() -> Value {
    json!({
        "formula": "token-mean/1", "accumulation_steps": [{"from_window": 0, "steps": 2}], "world_size": 2,
        "tail": "carry", "tolerance": {"absolute": 1e-6, "relative": 0.0}, "precision": "bfloat16",
        "gradient_reduction": "mean", "unobserved": ["sync"], "software": {"torch": "2.6.0", "a": "é"},
    })
}

/// Events of any kind, without what is held against the contract or a limit.
fn events(rng: &mut TestRng) -> Vec<Value> {
    let mut events: Vec<Value> = (0..below(rng, 40)).map(|_| instance(&DEFINITIONS["Event"], rng)).collect();
    events.retain(|event| event.get("parameters").is_none());
    for fields in events.iter_mut().filter_map(Value::as_object_mut).flat_map(|event| event.values_mut()) {
        if let Some(fields) = fields.as_object_mut() {
            fields.retain(|name, _| {
                !["accumulated", "gradient_sum", "gradient", "decimals", "windows"].contains(&&**name)
            });
        }
    }
    events
}

fn lines(rank: usize, contract: Option<&Value>, events: &[Value], rng: &mut TestRng) -> Vec<u8> {
    let mut header = json!({"schema": "accumulation/microbatch-manifest/1", "rank": rank, "$schema": "x"});
    if let Some(contract) = contract {
        header["contract"] = contract.clone();
    }
    let mut text = print(&header, true, rng);
    for event in events {
        text += if below(rng, 2) == 0 { "\n" } else { "\r\n" };
        text += &print(event, true, rng);
    }
    if below(rng, 2) == 0 {
        text.push('\n');
    }
    text.into_bytes()
}

/// Compressed in two members, or not at all.
fn stored(text: Vec<u8>, rng: &mut TestRng) -> Vec<u8> {
    let (first, second) = text.split_at(below(rng, text.len() + 1));
    match below(rng, 3) {
        0 => [first, second].map(|part| zstd::encode_all(part, 1).expect("zstd")).concat(),
        1 => [first, second].map(gzip).concat(),
        _ => text,
    }
}

fn gzip(part: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(part).expect("gzip");
    encoder.finish().expect("gzip")
}

fn manifest(ranks: [Value; 2], swapped: bool, rng: &mut TestRng) -> Vec<u8> {
    let [first, second] = ranks;
    let ranks = if swapped { [second, first] } else { [first, second] };
    let manifest = json!({"schema": "accumulation/rank-manifest/1", "contract": contract(), "ranks": ranks});
    print(&manifest, below(rng, 2) == 0, rng).into_bytes()
}

fn input(drained: &Drained) -> Digest {
    let Opened { contract, resume, replay, .. } = &drained.opened;
    let contract = contract.as_ref().expect("a contract");
    input_sha256(contract, resume.as_ref(), replay, &drained.digests).expect("canonical bytes")
}

fn same(a: &Drained, b: &Drained) -> Result<(), TestCaseError> {
    prop_assert_eq!(&a.faults, &[]);
    prop_assert_eq!(&b.faults, &[]);
    prop_assert_eq!(&a.digests, &b.digests);
    prop_assert_eq!(&a.events, &b.events);
    prop_assert_eq!(&a.opened.contract, &b.opened.contract);
    prop_assert_eq!(&a.opened.replay, &b.opened.replay);
    prop_assert_eq!(input(a), input(b));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn give_the_same_events_and_digests(rng in Just(()).prop_perturb(|(), rng| rng)) {
        let mut rng = rng;
        let rng = &mut rng;
        let ranks = [events(rng), events(rng)];
        let inline = |rank: usize| json!({"rank": rank, "events": ranks[rank]});
        let first = Memory::new().with("m", manifest([inline(0), inline(1)], false, rng));
        let first = drain_from(&first, &[path("m")], false);
        prop_assert_eq!(first.digests.iter().map(|digest| digest.events as usize).sum::<usize>(), ranks[0].len() + ranks[1].len());

        let text = lines(1, if below(rng, 2) == 0 { None } else { Some(contract()) }.as_ref(), &ranks[1], rng);
        let file = stored(text, rng);
        let reference = json!({"rank": 1, "microbatch_manifest": "sub/r1", "sha256": Digest::of(&file)});
        let mixed = Memory::new().with("a/m", manifest([inline(0), reference], true, rng)).with("a/sub/r1", file);
        same(&first, &drain_from(&mixed, &[path("a/m")], false))?;

        let files = [0, 1].map(|rank| {
            let text = lines(rank, Some(&contract()), &ranks[rank], rng);
            stored(text, rng)
        });
        let files = Memory::new().with("zero", &files[0]).with("one", &files[1]);
        same(&first, &drain_from(&files, &[path("one"), path("zero")], false))?;
    }
}

#[test]
fn blocks_and_threads_leave_no_trace() {
    // Lines of very different lengths, over many blocks.
    let header = json!({"schema": "accumulation/microbatch-manifest/1", "rank": 0, "contract": {
        "formula": "token-mean/1", "accumulation_steps": 1, "world_size": 1, "tail": "flush",
        "tolerance": {"absolute": 0, "relative": 0}, "precision": "float64",
        "gradient_basis": {"kind": "complete", "dimension": 50_000}}});
    let mut text = format!("{header}\n");
    let vector = vec!["0.5"; 50_000].join(",");
    for index in 0..20_000 {
        match index % 5000 {
            4999 => text += &format!("{{\"parameters\":{{\"values\":[{vector}]}}}}\n"),
            4998 => text += "\"oops\"\n",
            _ => text += &format!("{{\"rescale\":{{\"factor\":{index}}}}}\n"),
        }
    }
    let sources = Memory::new().with("m", &text);
    let drained = drain_from(&sources, &[path("m")], false);
    assert_eq!(drained.events[0].len(), 19_996);
    assert!(drained.events[0].windows(2).all(|pair| pair[0].index < pair[1].index));
    let slots: Vec<Option<u64>> = drained.faults.iter().map(|told| told.place.event).collect();
    assert_eq!(slots, [Some(4998), Some(9998), Some(14_998), Some(19_998)]);
    let mut canonical = Vec::new();
    for indexed in &drained.events[0] {
        indexed.event.write_canonical(&mut canonical);
        canonical.push(b'\n');
    }
    assert_eq!(drained.digests[0].sha256, Digest::of(&canonical));
}

#[test]
fn the_raw_hash_is_of_what_is_stored() {
    let text = "x".repeat(300_000);
    let sources = Memory::new().with("a", &text).with("b", gzip(b"y"));
    let (one, two) = (Digest::of(text.as_bytes()), Digest::of(&gzip(b"y")));
    assert_eq!(raw_sha256(&sources, &[path("b")]).expect("a hash"), two);
    let both = raw_sha256(&sources, &[path("a"), path("b")]).expect("a hash");
    assert_eq!(raw_sha256(&sources, &[path("b"), path("a")]).expect("a hash"), both);
    assert_eq!(both, Digest::of(format!("{}\n{}\n", one.min(two), one.max(two)).as_bytes()));
}
