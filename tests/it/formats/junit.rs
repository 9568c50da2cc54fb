//! JUnit XML, read by another parser and held against the published schema.
use super::every_fixture;
use receipt::finding::Severity;
use receipt::receipt::document::Verdict;
use receipt::report::ci::junit;
use uppsala::{XsdValidator, parse};

fn schema() -> XsdValidator {
    let text = std::fs::read_to_string("fixtures/schemas/junit-10.xsd").expect("the schema");
    XsdValidator::from_schema(&parse(&text).expect("XML")).expect("a schema")
}

fn faults(schema: &XsdValidator, text: &str) -> Vec<String> {
    let document = parse(text).unwrap_or_else(|error| panic!("no XML: {error}\n{text}"));
    schema.validate(&document).iter().map(ToString::to_string).collect()
}

#[test]
fn every_fixture_is_valid() {
    let schema = schema();
    for each in every_fixture(junit::xml) {
        let (name, text) = (&each.name, &each.text);
        let faults = faults(&schema, text);
        assert!(faults.is_empty(), "{name}: {faults:#?}");
        let receipt = each.verified.sealed.receipt();
        let broken = receipt.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
        let (failures, errors) = if receipt.verdict == Verdict::Rejected { (0, broken) } else { (broken, 0) };
        assert_eq!((text.matches("<failure ").count(), text.matches("<error ").count()), (failures, errors), "{name}");
        assert!(text.contains(&format!("failures=\"{failures}\" errors=\"{errors}\" skipped=")), "{name}: {text}");
        assert_eq!(receipt.verdict == Verdict::Rejected, text.contains("<skipped "), "{name}");
    }
}

#[test]
fn the_schema_refuses() {
    let schema = schema();
    let text = r#"<testsuites><testsuite name="x" tests="1" failures="0" errors="0"><testcase name="a"/></testsuite></testsuites>"#;
    assert!(faults(&schema, text).is_empty());
    for wrong in ["<failed/>", "<testcase/>"] {
        let text = text.replace("<testcase name=\"a\"/>", wrong);
        assert!(!faults(&schema, &text).is_empty(), "{text}");
    }
    assert!(!faults(&schema, &text.replace(" tests=\"1\"", "")).is_empty());
    assert!(!faults(&schema, &text.replace("<testsuites>", "<testsuites skipped=\"0\">")).is_empty());
}
