//! The JSON Schemas (2020-12) of the documents, generated from their types.
//!
//! Invariant: no field accepts `null`, and no object a key that is not named; so the schemas refuse whatever the types
//! refuse by shape.
use crate::manifest::document::Header;
use crate::manifest::document::RankManifest;
use crate::manifest::event::Event;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::transform::Transform;
use serde_json::Value;
use serde_json::json;
use std::sync::LazyLock;

/// A document that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchemaKind {
    /// The rank manifest.
    Manifest,
    /// One line of a microbatch manifest: the first is its header, each further one an event.
    Microbatches,
}

/// The JSON Schema of a document.
pub fn schema(kind: SchemaKind) -> Value {
    let mut schema = match kind {
        SchemaKind::Manifest => {
            let mut manifest = SCHEMAS["$defs"]["RankManifest"].clone();
            manifest["$defs"] = SCHEMAS["$defs"].clone();
            manifest["$id"] = "urn:accumulation:rank-manifest:1".into();
            manifest["title"] = "Rank manifest".into();
            manifest
        }
        SchemaKind::Microbatches => json!({
            "$id": "urn:accumulation:microbatch-manifest:1",
            "title": "Line of a microbatch manifest",
            "description": "The first line is the header, each further line one event.",
            "oneOf": [{"$ref": "#/$defs/Header"}, {"$ref": "#/$defs/Event"}],
            "$defs": SCHEMAS["$defs"],
        }),
    };
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    drop_unused(&mut schema);
    schema
}

/// Removes the definitions to which nothing refers.
fn drop_unused(schema: &mut Value) {
    loop {
        let text = schema.to_string();
        let Some(definitions) = schema["$defs"].as_object_mut() else { return };
        let before = definitions.len();
        definitions.retain(|name, _| text.contains(&format!("\"#/$defs/{name}\"")));
        if definitions.len() == before {
            return;
        }
    }
}

/// All definitions, once.
static SCHEMAS: LazyLock<Value> = LazyLock::new(|| {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    generator.subschema_for::<RankManifest>();
    generator.subschema_for::<Header>();
    generator.subschema_for::<Event>();
    let mut definitions = generator.take_definitions(true);
    for definition in definitions.values_mut() {
        if let Ok(schema) = definition.try_into() {
            RecursiveTransform(tidy).transform(schema);
        }
    }
    json!({"$defs": definitions})
});

fn tidy(schema: &mut schemars::Schema) {
    not_null(schema);
    plain_text(schema);
}

/// Takes away that a field may be `null`.
fn not_null(schema: &mut schemars::Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(types) = object.get_mut("type").and_then(Value::as_array_mut) {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
    if let Some(branches) = object.get_mut("anyOf").and_then(Value::as_array_mut) {
        branches.retain(|branch| branch["type"] != "null");
        if let [Value::Object(only)] = &branches[..] {
            let only = only.clone();
            object.remove("anyOf");
            object.extend(only);
        }
    }
}

/// Takes the marks of doc comments out of descriptions.
fn plain_text(schema: &mut schemars::Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace("\\[", "[").replace("\\]", "]").replace('`', "");
    }
}

/// The definition of that name.
pub(crate) fn definition(name: &str) -> &'static Value {
    &SCHEMAS["$defs"][name]
}

/// The schema itself where one refers to another.
pub(crate) fn resolve(schema: &Value) -> &Value {
    match schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/")) {
        Some(name) => resolve(definition(name)),
        None => schema,
    }
}

/// The shapes among which a value may choose, where the schema allows several.
pub(crate) fn branches(schema: &Value) -> Option<&[Value]> {
    let branches = schema["oneOf"].as_array().or(schema["anyOf"].as_array())?;
    // Beside properties, alternatives are groups of fields.
    (schema["properties"].is_null() && words(schema).is_none()).then_some(branches)
}

/// The words that a schema allows, where it allows nothing else.
pub(crate) fn words(schema: &Value) -> Option<Vec<&str>> {
    if let Some(word) = schema["const"].as_str() {
        return Some(vec![word]);
    }
    let list = schema["enum"].as_array().or_else(|| schema["oneOf"].as_array())?;
    list.iter().map(|item| item.as_str().or(item["const"].as_str())).collect()
}
