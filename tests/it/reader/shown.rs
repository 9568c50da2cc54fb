//! What a person sees of a fault.
use crate::reader::run::HEADER;
use crate::reader::run::drain_from;
use crate::reader::run::path;
use annotate_snippets::Renderer;
use receipt::finding::Findings;
use receipt::finding::Place;
use receipt::manifest::locate::Wanted;
use receipt::manifest::locate::locate;
use receipt::manifest::open_run;
use receipt::manifest::read::ReadError;
use receipt::manifest::snippet;
use receipt::manifest::source::Memory;
use receipt::manifest::source::SourceError;
use receipt::manifest::source::SourceName;
use receipt::manifest::source::Sources;
use std::io;
use std::io::Read;

fn snippets(sources: &Memory, name: SourceName) -> Vec<String> {
    let drained = drain_from(sources, &[name], false);
    let wanted: Vec<Wanted<'_>> = drained
        .faults
        .iter()
        .map(|told| Wanted { code: told.code, place: &told.place, message: &told.message })
        .collect();
    let found = locate(sources, &drained.opened.layout, &wanted).expect("memory can be read");
    let renderer = Renderer::plain();
    drained
        .faults
        .iter()
        .zip(found)
        .map(|(told, location)| snippet(told.severity, told.code, &told.message, location.as_ref(), &renderer))
        .collect()
}

#[test]
fn a_fault_with_its_line() {
    let text = format!("{HEADER}\n{{\"rescale\":{{\"factor\":1e999}}}}\n");
    assert_eq!(
        snippets(&Memory::new().with("r.jsonl", text), path("r.jsonl")),
        [concat!(
            "error[GA106]: `1e999` is beyond binary64\n",
            " --> r.jsonl:2:22\n",
            "  |\n",
            "2 | {\"rescale\":{\"factor\":1e999}}\n",
            "  |                      ^^^^^\n",
            "  |\n",
            "  = note: at /rescale/factor",
        )]
    );
}

#[test]
fn ten_megabytes_on_one_line_are_trimmed() {
    let contract = HEADER.split_once("\"contract\":").expect("a contract").1.trim_end_matches('}').to_owned() + "}";
    let good = "{\"rescale\":{\"factor\":1.5}},".repeat(400_000);
    let text = format!(
        "{{\"schema\":\"accumulation/rank-manifest/1\",\"ranks\":[{{\"rank\":0,\"events\":[{good}{{\"rescale\":{{\"factor\":\"\u{1b}\"}}}}]}}],\"contract\":{contract}}}"
    );
    assert!(text.len() > 10_000_000);
    let shown = snippets(&Memory::new().with("m\u{1b}[2J.json", &text), path("m\u{1b}[2J.json"));
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].len() < 1000, "{}", shown[0]);
    assert!(shown[0].contains("m␛[2J.json:1:10800093") && shown[0].contains("\"␛\""), "{}", shown[0]);
    assert!(shown[0].contains("at /ranks/0/events/400000/rescale/factor"), "{}", shown[0]);
}

#[test]
fn nothing_reaches_the_terminal_but_visible_characters() {
    let text = format!(
        "{HEADER}\n{{\"drop\":{{\"window\":0,\"valid_targets\":0,\"microbatches\":[\"a\u{202e}\\u001b[31m\"],\"\u{9b}31m\u{7f}\":1}}}}\n"
    );
    for shown in snippets(&Memory::new().with("m", text), path("m")) {
        let is_bad = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!shown.contains(is_bad), "{shown:?}");
    }
}

#[test]
fn a_place_of_a_rule_is_found_without_its_message() {
    let text = format!(
        "{HEADER}\n\"zero_grad\"\n{{\"backward\":{{\"window\":0,\"microbatch\":\"a\",\"valid_targets\":1,\"loss_sum\":12.5}}}}\n"
    );
    let gz = zstd::encode_all(text.as_bytes(), 1).expect("zstd");
    let sources = Memory::new().with("m", gz);
    let drained = drain_from(&sources, &[path("m")], false);
    let field = Place::event(0, 1).at("/backward/loss_sum");
    let absent = Place::event(0, 1).at("/backward/backward_loss");
    let window = Place::window(0);
    let contract = Place::document("/contract/world_size");
    let wanted = [&field, &absent, &window, &contract].map(|place| Wanted {
        code: receipt::finding::Code::GA203,
        place,
        message: "",
    });
    let found = locate(&sources, &drained.opened.layout, &wanted).expect("memory can be read");
    let at = |index: usize| {
        found[index]
            .as_ref()
            .map(|found| (found.line, found.column, &text[found.span.start as usize..found.span.end as usize]))
    };
    assert_eq!(at(0), Some((3, 71, "12.5")));
    assert_eq!(at(1), Some((3, 13, &text[text.len() - 65..text.len() - 2])));
    assert_eq!(at(2), None);
    assert_eq!(at(3), Some((1, 130, "1")));
}

#[test]
fn a_disk_that_fails_gives_no_digest() {
    struct Failing(Vec<u8>);
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    impl Sources for Failing {
        fn open(&self, _: &SourceName) -> Result<Box<dyn Read + Send>, SourceError> {
            Ok(Box::new(io::Cursor::new(self.0.clone()).chain(Broken)))
        }
    }
    let text = format!("{HEADER}\n\"zero_grad\"\n\"zero");
    for bytes in
        [text.clone().into_bytes(), zstd::encode_all(text.repeat(50).as_bytes(), 1).expect("zstd")[..60].to_vec()]
    {
        let sources = Failing(bytes);
        let failed = match open_run(&sources, &[SourceName::StandardInput], false) {
            Err(error) => error,
            Ok(mut opened) => {
                let mut findings = Findings::default();
                let mut stream = opened.streams.remove(0);
                while stream.next(&mut findings).is_some() {}
                stream.digest().expect_err("an error")
            }
        };
        assert!(matches!(failed, ReadError::Source { .. }));
        assert_eq!(failed.to_string(), "cannot read standard input");
    }
}
