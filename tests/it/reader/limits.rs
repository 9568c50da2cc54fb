//! Each limit at it and one past it.
use crate::reader::run::HEADER;
use crate::reader::run::drain_from;
use crate::reader::run::path;
use crate::reader::run::shown;
use receipt::manifest::limits;
use receipt::manifest::source::Memory;
use receipt::manifest::source::SourceName;

fn faults(text: &str) -> Vec<String> {
    let sources = Memory::new().with("m", text);
    shown(&sources, &drain_from(&sources, &[path("m")], false))
}

fn event(event: &str) -> Vec<String> {
    faults(&format!("{HEADER}\n{event}\n"))
}

#[test]
fn nesting() {
    let nested = |depth: usize| format!("{{\"rescale\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let shape = "GA103 2:12 /rescale: an array, where an object is expected";
    assert_eq!(event(&nested(limits::NESTING - 1)), [shape]);
    let said = event(&nested(limits::NESTING));
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].starts_with("GA115 2:75 /rescale/0/0") && said[1].ends_with("nested deeper than the limit of 64"));
    let bomb = "[".repeat(1_000_000);
    assert_eq!(event(&bomb).len(), 2);
    assert_eq!(faults(&bomb).len(), 2);
    assert_eq!(faults(&"{\"a\":".repeat(100_000)).iter().filter(|said| said.starts_with("GA115")).count(), 1);
}

#[test]
fn length_of_a_line() {
    let line = |length: usize| format!("\"zero_grad\"{}", " ".repeat(length - 11));
    assert_eq!(event(&line(limits::LINE_BYTES)), [] as [&str; 0]);
    let past = "GA115 2:1 : a line longer than the limit of 16777216 bytes";
    assert_eq!(event(&line(limits::LINE_BYTES + 1)), [past]);
    assert_eq!(event(&format!("{}\n\"oops\"", line(3 * limits::LINE_BYTES)))[1..], ["GA103 3:1 : unknown word `oops`"]);
    let header = |length: usize| format!("{HEADER}{}\n", " ".repeat(length - HEADER.len()));
    assert_eq!(faults(&header(limits::LINE_BYTES)), [] as [&str; 0]);
    assert_eq!(faults(&header(limits::LINE_BYTES + 1)), ["GA115 1:1 : a line longer than the limit of 16777216 bytes"]);
}

#[test]
fn length_of_a_vector() {
    let dimension = |dimension: usize| {
        HEADER.replace(
            "\"tail\"",
            &format!("\"gradient_basis\":{{\"kind\":\"sketch\",\"dimension\":{dimension},\"seed\":1}},\"tail\""),
        )
    };
    let with = |length: usize, declared: usize| {
        let vector = vec!["0"; length].join(",");
        faults(&format!("{}\n{{\"parameters\":{{\"values\":[{vector}]}}}}\n", dimension(declared)))
    };
    assert_eq!(with(limits::VECTOR, limits::VECTOR), [] as [&str; 0]);
    let said = with(limits::VECTOR + 1, limits::VECTOR);
    assert_eq!(said, ["GA115 2:25 /parameters/values: a list of more than 1048576 values, which is the limit"]);
    let said = with(1, limits::VECTOR + 1);
    assert!(said.len() == 1 && said[0].starts_with("GA115 1:178 /contract/gradient_basis/dimension"), "{said:?}");
}

#[test]
fn decimals_and_windows_of_a_mean() {
    let logged = |field: &str, value: u64| event(&format!("{{\"logged\":{{\"window\":0,\"{field}\":{value}}}}}"));
    assert_eq!(logged("decimals", limits::DECIMALS), [] as [&str; 0]);
    assert_eq!(
        logged("decimals", limits::DECIMALS + 1),
        ["GA115 2:34 /logged/decimals: 18 decimals, beyond the limit of 17"]
    );
    assert_eq!(logged("windows", limits::LOGGED_WINDOWS), [] as [&str; 0]);
    assert!(logged("windows", limits::LOGGED_WINDOWS + 1)[0].starts_with("GA115 2:33 /logged/windows"));
}

#[test]
fn microbatches_of_a_carried_window() {
    let dropped = |count: usize| {
        event(&format!(
            "{{\"drop\":{{\"window\":0,\"valid_targets\":0,\"microbatches\":[{}]}}}}",
            vec!["\"a\""; count].join(",")
        ))
    };
    assert_eq!(dropped(limits::MICROBATCHES), [] as [&str; 0]);
    assert!(dropped(limits::MICROBATCHES + 1)[0].starts_with("GA115 2:"));
}

#[test]
fn opaque_strings() {
    let header = |length: usize| {
        HEADER.replace("\"tail\"", &format!("\"software\":{{\"a\":\"{}\"}},\"tail\"", "é".repeat(length)))
    };
    assert_eq!(faults(&header(limits::IDENTIFIER)), [] as [&str; 0]);
    let said = faults(&header(limits::IDENTIFIER + 1));
    assert!(said[0].starts_with("GA115 1:"), "{said:?}");
}

#[test]
fn ranks() {
    let size = |size: u64| {
        faults(&HEADER.replace("\"world_size\":1", &format!("\"world_size\":{size},\"gradient_reduction\":\"mean\"")))
    };
    assert!(size(limits::RANKS).iter().all(|said| said.starts_with("GA110")));
    assert!(
        size(limits::RANKS + 1).iter().any(|said| said.starts_with("GA115 1:130 /contract/world_size")),
        "{:?}",
        size(limits::RANKS + 1)
    );
    let document = |ranks: u64| {
        let entries: Vec<String> =
            (0..ranks).map(|rank| format!("{{\"rank\":{rank},\"events\":[\"zero_grad\"]}}")).collect();
        let contract = HEADER.split_once("\"contract\":").expect("a contract").1.replace(
            "\"world_size\":1",
            &format!("\"world_size\":{},\"gradient_reduction\":\"mean\"", ranks.min(limits::RANKS)),
        );
        format!(
            "{{\"schema\":\"accumulation/rank-manifest/1\",\"ranks\":[{}],\"contract\":{contract}",
            entries.join(",")
        )
    };
    let sources = Memory::new().with("m", document(limits::RANKS));
    let drained = drain_from(&sources, &[path("m")], false);
    assert_eq!(drained.faults, []);
    assert_eq!(drained.digests.len() as u64, limits::RANKS);
    assert!(drained.digests.iter().all(|digest| digest.events == 1));
    let said = faults(&document(limits::RANKS + 1));
    assert!(said.iter().any(|said| said.starts_with("GA115 1:50 /ranks")), "{said:?}");
}

#[test]
fn open_files() {
    let names: Vec<SourceName> = (0..=limits::OPEN_FILES).map(|index| path(&index.to_string())).collect();
    let header = |rank: usize| {
        HEADER
            .replace("\"world_size\":1", "\"world_size\":1024,\"gradient_reduction\":\"mean\"")
            .replace("\"rank\":0", &format!("\"rank\":{rank}"))
    };
    let sources =
        (0..=limits::OPEN_FILES).fold(Memory::new(), |memory, rank| memory.with(rank.to_string(), header(rank)));
    assert_eq!(drain_from(&sources, &names[1..], false).faults.len(), 2);
    assert_eq!(drain_from(&sources, &names[..limits::OPEN_FILES], false).faults, []);
    let drained = drain_from(&sources, &names, false);
    assert_eq!(drained.faults.len(), 1);
    assert_eq!(drained.faults[0].code.as_str(), "GA115");
}
