//! Types, schemas, explanations and canonical bytes agree about random documents.
use crate::reader::generate::DEFINITIONS;
use crate::reader::generate::instance;
use crate::reader::generate::instances;
use crate::reader::generate::print;
use crate::reader::generate::spoilt;
use crate::reader::run::HEADER;
use crate::reader::run::drain_from;
use crate::reader::run::path;
use crate::reader::run::shown;
use jsonschema::Validator;
use proptest::prelude::*;
use receipt::manifest::SchemaKind;
use receipt::manifest::document::Header;
use receipt::manifest::document::RankManifest;
use receipt::manifest::event::Event;
use receipt::manifest::schema;
use receipt::manifest::source::Memory;
use serde_json::Value;
use serde_json::json;
use std::sync::LazyLock;

fn validator(definition: &str) -> Validator {
    let schema = json!({"$ref": format!("#/$defs/{definition}"), "$defs": DEFINITIONS.clone()});
    jsonschema::draft202012::new(&schema).expect("a valid schema")
}

static EVENT: LazyLock<Validator> = LazyLock::new(|| validator("Event"));
static HEADERS: LazyLock<Validator> = LazyLock::new(|| validator("Header"));
static MANIFEST: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::draft202012::new(&schema(SchemaKind::Manifest)).expect("a valid schema"));

/// JSON Schema takes 2.0 for an integer; the format does not.
fn has_whole_real(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|value| value.fract() == 0.0),
        Value::Array(items) => items.iter().any(has_whole_real),
        Value::Object(object) => object.values().any(has_whole_real),
        _ => false,
    }
}

#[test]
fn every_kind_of_event_is_tried() {
    let tags: Vec<&str> = DEFINITIONS["Event"]["oneOf"]
        .as_array()
        .expect("shapes")
        .iter()
        .map(|shape| shape["const"].as_str().or_else(|| shape["required"][0].as_str()).expect("a tag"))
        .collect();
    assert_eq!(tags.len(), 17, "{tags:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn events_are_written_canonically(value in instances("Event"), seed in Just(()).prop_perturb(|(), rng| rng)) {
        let text = print(&value, true, &mut seed.clone());
        let event: Event = serde_json::from_str(&text).expect("an event");
        let mut bytes = Vec::new();
        event.write_canonical(&mut bytes);
        let canonical = serde_jcs::to_vec(&event).expect("canonical bytes");
        prop_assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&canonical));
        prop_assert_eq!(serde_json::from_slice::<Event>(&bytes).expect("the same event"), event);
    }

    #[test]
    fn types_take_what_the_schemas_allow(event in instances("Event"), header in instances("Header")) {
        prop_assert!(EVENT.is_valid(&event), "{event}");
        prop_assert!(HEADERS.is_valid(&header), "{header}");
        prop_assert!(serde_json::from_str::<Event>(&event.to_string()).is_ok(), "{event}");
        prop_assert!(serde_json::from_str::<Header>(&header.to_string()).is_ok(), "{header}");
    }

    #[test]
    fn types_refuse_what_the_schemas_refuse(event in instances("Event"), header in instances("Header"), seed in Just(()).prop_perturb(|(), rng| rng)) {
        let mut seed = seed;
        let (event, header) = (spoilt(&event, &mut seed), spoilt(&header, &mut seed));
        let is_event = serde_json::from_str::<Event>(&event.to_string()).is_ok();
        prop_assert!(is_event == EVENT.is_valid(&event) || has_whole_real(&event), "{event}");
        let is_header = serde_json::from_str::<Header>(&header.to_string()).is_ok();
        prop_assert!(is_header == HEADERS.is_valid(&header) || has_whole_real(&header), "{header}");
    }

    #[test]
    fn what_is_refused_is_explained(event in instances("Event"), seed in Just(()).prop_perturb(|(), rng| rng)) {
        let mut seed = seed;
        let event = spoilt(&event, &mut seed);
        let error = serde_json::from_str::<Event>(&event.to_string()).err();
        prop_assume!(error.is_some());
        let error = error.expect("refused").to_string();
        let sources = Memory::new().with("m", format!("{HEADER}\n{event}\n"));
        let drained = drain_from(&sources, &[path("m")], false);
        prop_assert!(!drained.faults.is_empty());
        // The walk over the schema finds something itself; the reader's own words are not needed.
        let said = error.split(" at line ").next().expect("a message");
        for line in shown(&sources, &drained) {
            prop_assert!(!line.ends_with(&format!(" : {said}")), "{event}: {line}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn manifests_agree_with_their_schema(seed in Just(()).prop_perturb(|(), rng| rng)) {
        let mut seed = seed;
        let mut manifest = instance(&schema(SchemaKind::Manifest), &mut seed);
        let reads = |manifest: &Value| serde_json::from_str::<RankManifest>(&manifest.to_string()).is_ok();
        prop_assert!(MANIFEST.is_valid(&manifest) && reads(&manifest), "{manifest}");
        manifest = spoilt(&manifest, &mut seed);
        prop_assert!(MANIFEST.is_valid(&manifest) == reads(&manifest) || has_whole_real(&manifest), "{manifest}");
    }
}
