//! Any bytes: nothing panics, what the types accept is accepted and nothing else is, and every fault can be shown.
use crate::reader::generate::below;
use crate::reader::generate::pick;
use crate::reader::run::Drained;
use crate::reader::run::HEADER;
use crate::reader::run::drain_from;
use crate::reader::run::path;
use annotate_snippets::Renderer;
use proptest::prelude::*;
use proptest::test_runner::TestRng;
use receipt::manifest::document::Header;
use receipt::manifest::document::RankManifest;
use receipt::manifest::event::Event;
use receipt::manifest::locate::Wanted;
use receipt::manifest::locate::locate;
use receipt::manifest::snippet;
use receipt::manifest::source::Memory;

const EVENTS: &[&str] = &[
    r#"{"backward":{"window":0,"microbatch":"w0-m0","valid_targets":3,"loss_sum":1.2e0,"sync":true}}"#,
    r#"{"clip":{"max_norm":1,"nonfinite":true}}"#,
    r#"{"optimizer_step":{"window":0,"outcome":"applied"}}"#,
    r#""zero_grad""#,
    r#"{"carry":{"window":1,"microbatches":["a","b"],"valid_targets":1,"loss_sum":-0,"backwards":2,"random_state":"\u00e9\n"}}"#,
];

fn mutate(text: &mut Vec<u8>, rng: &mut TestRng) {
    for _ in 0..=below(rng, 3) {
        let at = below(rng, text.len() + 1);
        let byte = *pick(rng, b"\"\\{}[],:0123456789-+.eE \r\n\0\x1b\xff\xc3\xa9aNtfnu'/");
        match below(rng, 5) {
            0 => text.insert(at, byte),
            1 if at < text.len() => text[at] = byte,
            2 => text.truncate(at),
            3 if at < text.len() => drop(text.remove(at)),
            _ => {
                let until = (at + below(rng, 30)).min(text.len());
                let part = text[at..until].to_vec();
                let into = below(rng, text.len() + 1);
                text.splice(into..into, part);
            }
        }
    }
}

fn show_all(sources: &Memory, drained: &Drained) {
    let wanted: Vec<Wanted<'_>> = drained
        .faults
        .iter()
        .map(|told| Wanted { code: told.code, place: &told.place, message: &told.message })
        .collect();
    let found = locate(sources, &drained.opened.layout, &wanted).expect("memory can be read");
    for (told, location) in drained.faults.iter().zip(&found) {
        let text = snippet(told.severity, told.code, &told.message, location.as_ref(), &Renderer::plain());
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
        assert!(text.len() < 2000, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn lines(rng in Just(()).prop_perturb(|(), rng| rng), partial in any::<bool>()) {
        let mut rng = rng;
        let mut text = format!("{HEADER}\n{}\n", EVENTS.join("\n")).into_bytes();
        mutate(&mut text, &mut rng);
        let sources = Memory::new().with("m", &text);
        let drained = drain_from(&sources, &[path("m")], partial);
        let mut lines = text.split(|&byte| byte == b'\n');
        let header = lines.next().expect("a line");
        if serde_json::from_slice::<Header>(header).is_ok() {
            let mut lines: Vec<&[u8]> = lines.collect();
            if lines.last().is_some_and(|line| line.is_empty()) {
                lines.pop();
            }
            let good = lines.iter().filter(|line| serde_json::from_slice::<Event>(line).is_ok()).count();
            prop_assert_eq!(drained.events[0].len(), good);
            let about_events = drained.faults.iter().filter(|told| told.place.event.is_some()).count();
            prop_assert_eq!(about_events == 0, good == lines.len());
        } else {
            prop_assert!(!drained.faults.is_empty());
        }
        show_all(&sources, &drained);
    }

    #[test]
    fn documents(rng in Just(()).prop_perturb(|(), rng| rng)) {
        let mut rng = rng;
        let contract = HEADER.split_once("\"contract\":").expect("a contract").1;
        let contract = &contract[..contract.len() - 1];
        let entry = format!("{{\"rank\":0,\"events\":[{}]}}", EVENTS.join(",\n"));
        let mut text =
            format!("{{\"schema\":\"accumulation/rank-manifest/1\",\n\"ranks\":[{entry}],\"contract\":{contract},\"replay\":{{\"seed\":1}}}}").into_bytes();
        mutate(&mut text, &mut rng);
        let sources = Memory::new().with("m", &text);
        let drained = drain_from(&sources, &[path("m")], false);
        if drained.faults.is_empty() {
            prop_assert!(serde_json::from_slice::<RankManifest>(&text).is_ok(), "{}", String::from_utf8_lossy(&text));
        } else if serde_json::from_slice::<RankManifest>(&text).is_ok() {
            // Of the right shape, but the rank or the replay can't be meant.
            prop_assert!(drained.faults.iter().all(|told| matches!(told.code.as_str(), "GA110" | "GA118" | "GA109" | "GA115")), "{:?}", drained.faults);
        }
        show_all(&sources, &drained);
    }
}
