//! The receipt's JSON Schema.
use super::document::Receipt;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// JSON Schema (2020-12) of a receipt.
pub fn schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Receipt>().to_value();
    schema["$id"] = "urn:accumulation:receipt:1".into();
    schema["title"] = "Receipt".into();
    schema
}
