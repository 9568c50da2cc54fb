//! The part of SARIF 2.1.0 that is written. The field names are the standard's.
use serde::Serialize;
use std::collections::BTreeMap;

/// The largest integer of the schema's `occurrenceCount` that every reader can hold.
pub(super) const MOST: u64 = i32::MAX as u64;

#[derive(Serialize)]
pub(super) struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

impl Log {
    pub(super) fn of(run: Run) -> Self {
        Log { schema: "https://json.schemastore.org/sarif-2.1.0.json", version: "2.1.0", runs: [run] }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    pub(super) tool: Tool,
    pub(super) invocations: [Invocation; 1],
    pub(super) original_uri_base_ids: Bases,
    pub(super) column_kind: &'static str,
    pub(super) results: Vec<SarifResult>,
    pub(super) properties: RunProperties,
}

#[derive(Serialize)]
pub(super) struct Tool {
    pub(super) driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Driver {
    pub(super) name: &'static str,
    pub(super) full_name: String,
    pub(super) semantic_version: String,
    pub(super) rules: Vec<ReportingDescriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReportingDescriptor {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) short_description: Text,
    pub(super) full_description: Text,
    pub(super) default_configuration: Configuration,
    pub(super) help: Help,
    pub(super) properties: RuleProperties,
}

#[derive(Serialize)]
pub(super) struct Configuration {
    pub(super) level: &'static str,
}

#[derive(Serialize)]
pub(super) struct Text {
    text: String,
}

impl Text {
    pub(super) fn new(text: &str) -> Self {
        Text { text: text.to_owned() }
    }
}

#[derive(Serialize)]
pub(super) struct Help {
    pub(super) text: String,
    pub(super) markdown: String,
}

/// GitHub's own properties of a rule.
#[derive(Serialize)]
pub(super) struct RuleProperties {
    pub(super) tags: Vec<String>,
    pub(super) precision: &'static str,
    #[serde(rename = "problem.severity")]
    pub(super) problem_severity: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invocation {
    pub(super) execution_successful: bool,
}

/// What relative URIs are relative to; where that lies is left to the reader, since no absolute path is in a report.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Bases(BTreeMap<&'static str, BTreeMap<&'static str, Text>>);

impl Bases {
    pub(super) fn new(name: &'static str, description: &str) -> Self {
        Bases(BTreeMap::from([(name, BTreeMap::from([("description", Text::new(description))]))]))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifResult {
    pub(super) rule_id: &'static str,
    pub(super) rule_index: usize,
    pub(super) level: &'static str,
    pub(super) message: Text,
    pub(super) locations: [Location; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) occurrence_count: Option<u64>,
    pub(super) partial_fingerprints: Fingerprints,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) physical_location: Option<PhysicalLocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) logical_locations: Option<[LogicalLocation; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    pub(super) artifact_location: ArtifactLocation,
    pub(super) region: Region,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactLocation {
    pub(super) uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(super) start_line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) start_column: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogicalLocation {
    pub(super) fully_qualified_name: String,
    pub(super) kind: &'static str,
}

/// GitHub reads `primaryLocationLineHash` and makes one of the line's text where there is none, which would change with
/// every number.
#[derive(Serialize)]
pub(super) struct Fingerprints {
    #[serde(rename = "primaryLocationLineHash")]
    line: String,
    #[serde(rename = "problem/v1")]
    problem: String,
}

impl Fingerprints {
    pub(super) fn of(problem: &str) -> Self {
        Fingerprints { line: format!("{}:1", &problem[..16]), problem: problem.to_owned() }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunProperties {
    pub(super) verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) formula: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) receipt_sha256: Option<String>,
}
