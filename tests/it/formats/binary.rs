//! The formats through the binary: the same exit code whatever the format, and paths relative to where it runs.
use crate::runs::{self, binary};
use std::path::Path;

const FORMATS: [&str; 6] = ["text", "json", "sarif", "junit", "github", "gitlab"];

fn verify(format: &str, path: &Path) -> binary::Ran {
    binary::run(["verify".as_ref(), "--format".as_ref(), format.as_ref(), path.as_os_str()])
}

#[test]
fn the_exit_code_is_the_verdict_s() {
    for (name, code) in [
        ("worked/three-six-one.json", 0),
        ("worked/readme.jsonl", 1),
        ("worked/two-ranks-tail-disagreement.json", 3),
        ("no-such-file.json", 2),
    ] {
        for format in FORMATS {
            let ran = verify(format, &runs::fixture(name));
            assert_eq!(ran.code, code, "{format} {name}: {}", ran.shown());
            assert_eq!(ran.out.is_empty(), code == 2, "{format} {name}: {}", ran.shown());
        }
    }
}

#[test]
fn an_absolute_path_is_made_relative() {
    let absolute = runs::fixture("worked/readme.jsonl").canonicalize().expect("a path");
    for format in ["sarif", "github", "gitlab"] {
        let ran = verify(format, &absolute);
        let places = ran.out.lines().filter(|line| !line.starts_with("violated: ") && !line.starts_with("more: "));
        let text: String = places.collect::<Vec<_>>().join("\n");
        assert!(text.contains("fixtures/worked/readme.jsonl"), "{format}: {text}");
        let folder = env!("CARGO_MANIFEST_DIR");
        assert!(!text.contains(folder), "{format}: {text}");
    }
}

#[test]
fn a_checkout_around_the_folder_is_what_paths_start_at() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = |checkout: &Path| {
        let mut command = binary::command();
        command.current_dir(folder.join("fixtures/worked")).env("GITHUB_WORKSPACE", checkout);
        let output = command.args(["verify", "--format", "github", "readme.jsonl"]).output().expect("the binary runs");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert!(run(folder).starts_with("::error file=fixtures/worked/readme.jsonl,line=4,col=105,"), "{}", run(folder));
    assert!(run(Path::new("/elsewhere")).starts_with("::error file=readme.jsonl,line=4,col=105,"));
}

#[test]
fn standard_input_has_no_file() {
    let bytes = std::fs::read(runs::fixture("worked/readme.jsonl")).expect("a fixture");
    let github = binary::run_with_input(["verify", "--format", "github", "-"], &bytes);
    assert!(github.out.starts_with("::error line=4,col=105,title=GA203 weight-drift::weight"), "{}", github.out);
    let sarif = binary::run_with_input(["verify", "--format", "sarif", "-"], &bytes);
    assert!(!sarif.out.contains("physicalLocation") && sarif.out.contains("logicalLocations"), "{}", sarif.out);
    assert_eq!((github.code, sarif.code), (1, 1));
}
