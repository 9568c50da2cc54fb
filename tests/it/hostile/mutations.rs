//! Recorded manifests with bytes changed at random: whatever they have become, there is a verdict, always the same, and
//! no panic.
use crate::fixtures;
use crate::reader::run::path;
use crate::runs;
use proptest::prelude::*;
use receipt::manifest::locate::{Wanted, locate};
use receipt::manifest::source::{Memory, SourceName};
use receipt::pipeline::{self, VerifyOptions};
use receipt::receipt::check;
use std::path::PathBuf;

/// The files of a recorded run, the one to be named first.
fn recorded() -> Vec<Vec<(PathBuf, Vec<u8>)>> {
    let mut all = vec![];
    for entry in fixtures::entries(&runs::fixture("recorded")) {
        let name = entry.file_name().expect("a name").to_string_lossy().into_owned();
        let files = match entry.is_dir() {
            true => ["rank-manifest.json", "rank-0.jsonl", "rank-1.jsonl"].map(|name| entry.join(name)).to_vec(),
            false if name.ends_with(".jsonl") => vec![entry],
            false => continue,
        };
        all.push(files.into_iter().map(|path| (path.clone(), std::fs::read(&path).expect("a file"))).collect());
    }
    all
}

/// What is done to a file.
#[derive(Clone, Debug)]
enum Mutation {
    Flip(usize, u8),
    Remove(usize, usize),
    Repeat(usize, usize),
    Insert(usize, &'static str),
    Cut(usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let bits =
        ["{", "}", "[", "]", ",", "\"", "\\", "\n", "1e999", "-", "null", "NaN", "9007199254740993", "\u{feff}", "0"];
    prop_oneof![
        4 => (any::<usize>(), 1..=255u8).prop_map(|(at, flip)| Mutation::Flip(at, flip)),
        2 => (any::<usize>(), 1..200usize).prop_map(|(at, length)| Mutation::Remove(at, length)),
        2 => (any::<usize>(), 1..200usize).prop_map(|(at, length)| Mutation::Repeat(at, length)),
        4 => (any::<usize>(), prop::sample::select(bits.to_vec())).prop_map(|(at, text)| Mutation::Insert(at, text)),
        1 => any::<usize>().prop_map(Mutation::Cut),
    ]
}

fn mutate(bytes: &mut Vec<u8>, mutation: &Mutation) {
    let place = |at: usize| at % (bytes.len().max(1));
    match *mutation {
        Mutation::Flip(at, flip) => {
            let at = place(at);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= flip;
            }
        }
        Mutation::Remove(at, length) => drop(bytes.drain(place(at)..(place(at) + length).min(bytes.len()))),
        Mutation::Repeat(at, length) => {
            let (from, to) = (place(at), (place(at) + length).min(bytes.len()));
            let part = bytes[from..to].to_vec();
            bytes.splice(to..to, part);
        }
        Mutation::Insert(at, text) => drop(bytes.splice(place(at)..place(at), text.bytes())),
        Mutation::Cut(at) => bytes.truncate(place(at)),
    }
}

/// Verifies it, shows it, reads its receipt back; gives the receipt's bytes.
fn survive(sources: &Memory, input: &SourceName, partial: bool) -> Vec<u8> {
    let options = VerifyOptions { partial, ..VerifyOptions::default() };
    let verified =
        pipeline::verify(sources, std::slice::from_ref(input), &options).expect("what is in memory can be read");
    assert!([0, 1, 3].contains(&runs::exit(&verified)));
    let instances = || verified.findings.iter().flat_map(|(f, _)| f.instances.iter().map(move |(p, m)| (f.code, p, m)));
    let wanted: Vec<_> = instances().map(|(code, place, message)| Wanted { code, place, message }).collect();
    locate(sources, &verified.layout, &wanted).expect("what is in memory can be read again");
    check::read(verified.sealed.bytes()).expect("what was sealed can be checked");
    verified.sealed.bytes().to_vec()
}

fn cases() -> u32 {
    // More in release, where each takes a fraction of the time.
    if cfg!(debug_assertions) { 400 } else { 4_000 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn recorded_runs_with_random_changes(
        run in any::<prop::sample::Index>(),
        file in any::<prop::sample::Index>(),
        mutations in prop::collection::vec(mutation(), 1..4),
        partial in any::<bool>(),
    ) {
        thread_local!(static RECORDED: Vec<Vec<(PathBuf, Vec<u8>)>> = recorded());
        RECORDED.with(|recorded| {
            let mut files = run.get(recorded).clone();
            let changed = file.index(files.len());
            mutations.iter().for_each(|mutation| mutate(&mut files[changed].1, mutation));
            let sources = files.iter().fold(Memory::new(), |memory, (name, bytes)| memory.with(name, bytes));
            let input = path(files[0].0.to_str().expect("UTF-8"));
            let first = survive(&sources, &input, partial);
            prop_assert!(survive(&sources, &input, partial) == first, "another receipt the second time");
            Ok(())
        })?;
    }
}
