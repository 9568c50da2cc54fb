//! The table of the tests says no more than that of the documentation.
use super::table::TABLE;
use receipt::finding::Code;
use std::collections::BTreeMap;

/// `docs/method.md` §19: the leaf's name, and what it says of it.
fn documented() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string("docs/method.md").expect("docs/method.md");
    let section = text.split("## 19. Every leaf: bound and witnessed").last().expect("section 19");
    let mut rows = BTreeMap::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [leaf, told] = cells.as_slice() else { panic!("a row of other than two cells: {line}") };
        let mut parent = String::new();
        for name in leaf.split('`').skip(1).step_by(2) {
            let name = name.replace("[]", "").replace('"', "");
            let name = name.strip_prefix("ranks.").map_or(name.clone(), str::to_owned);
            let full = match name.strip_prefix('.') {
                Some(last) => format!("{parent}.{last}"),
                None => name,
            };
            parent = full.rsplit_once('.').map_or(full.clone(), |(parent, _)| parent.to_owned());
            rows.insert(full, (*told).to_owned());
        }
    }
    rows
}

#[test]
fn the_table_is_that_of_the_documentation() {
    let documented = documented();
    let mut faults = vec![];
    for row in TABLE {
        let parent = row.kind.rsplit_once('.').map_or("", |(parent, _)| parent);
        // A name may stand for what is below it, and `optimizer.*` for all of an object.
        let names = [row.kind, &format!("{parent}.*"), parent, row.kind.rsplit('.').next().unwrap_or_default()];
        let Some(told) = names.iter().find_map(|name| documented.get(*name)) else {
            faults.push(format!("{} is not documented", row.kind));
            continue;
        };
        // The rules of shape hold for every leaf and are not repeated there.
        for code in row.witnesses.iter().filter(|code| **code > Code::GA107 && !told.contains(code.as_str())) {
            faults.push(format!("{}: {code} fires, and the documentation says {told:?}", row.kind));
        }
        if row.witnesses.is_empty() && !told.contains("unwitnessed") {
            faults.push(format!("{}: nothing fires, and the documentation says {told:?}", row.kind));
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}
