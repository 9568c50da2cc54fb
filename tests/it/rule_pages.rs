//! `docs/rules/` is generated from the rules' doc comments. `UPDATE=1 cargo test` rewrites it.
use crate::runs::binary;
use receipt::finding::CODES;
use receipt::rules;
use std::path::Path;
use std::{env, fs};

fn page(rule: &rules::Rule) -> String {
    let docs: String = rule.docs.lines().map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect();
    format!("# {} `{}` ({:?})\n\n{docs}", rule.code, rule.code.name(), rule.code.severity())
        .replace("(Error)", "(error)")
        .replace("(Warning)", "(warning)")
}

#[test]
fn every_code_has_one_rule_and_its_page() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules");
    let codes: Vec<_> = rules::all().map(|rule| rule.code).collect();
    assert_eq!(codes, CODES, "the rules are not the codes, in order");
    let update = env::var_os("UPDATE").is_some();
    let mut pages: Vec<(String, String)> = rules::all().map(|rule| (format!("{}.md", rule.code), page(rule))).collect();
    let lines: String = rules::all()
        .map(|rule| format!("| [{0}]({0}.md) | {1} | {2:?} |\n", rule.code, rule.code.name(), rule.code.severity()))
        .collect();
    let index = format!(
        "# Rules\n\nGenerated from the rules' own documentation.\n\n| code | this run has a … | severity |\n| --- | --- | --- |\n{lines}"
    );
    pages.push(("README.md".to_owned(), index));
    if update {
        fs::create_dir_all(&dir).expect("docs/rules");
    }
    let mut stale = vec![];
    for (name, text) in &pages {
        let path = dir.join(name);
        if fs::read_to_string(&path).ok().as_ref() != Some(text) {
            if update { fs::write(&path, text).expect("a page") } else { stale.push(name.clone()) }
        }
    }
    for entry in fs::read_dir(&dir).into_iter().flatten() {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        if !pages.iter().any(|(page, _)| *page == name) {
            stale.push(format!("{name} (no such rule)"));
        }
    }
    assert!(stale.is_empty(), "stale, run `UPDATE=1 cargo test`: {stale:?}");
}

#[test]
fn a_name_has_its_page_in_every_format() {
    for name in ["GA203", "weight-drift", "world-size-lost", "mean-of-means*W", "mean-of-means/W"] {
        for format in ["text", "markdown", "html"] {
            let ran = binary::run(["explain", name, "--format", format]);
            assert_eq!(ran.code, 0, "{name} {format}: {}", ran.shown());
            assert!(
                ran.shown().contains(if name.starts_with("GA") { "weight-drift" } else { name }),
                "{name} {format}"
            );
        }
        let ran = binary::run(["explain", name, "--window", "3"]);
        assert_eq!(ran.code, 2, "{name}: {}", ran.shown());
    }
    for name in ["mean-of-nothing", "mean-of-means*Q", "GA999"] {
        let ran = binary::run(["explain", name]);
        assert_eq!(ran.code, 2, "{name}: {}", ran.shown());
        assert!(ran.shown().contains(&format!("no rule or recipe {name}")), "{}", ran.shown());
    }
}
