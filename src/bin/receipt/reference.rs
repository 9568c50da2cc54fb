//! `receipt rules` and `receipt schema`.
use crate::cli::{Color, Document, SchemaArgs};
use crate::failure::Failure;
use crate::output;
use crate::terminal;
use receipt::manifest::{self, SchemaKind};
use receipt::report::page;
use receipt::rules;
use std::process::ExitCode;

pub(crate) fn rules(color: Color) -> Result<ExitCode, Failure> {
    print(&page::list(rules::all(), terminal::style(color)))
}

pub(crate) fn schema(args: &SchemaArgs) -> Result<ExitCode, Failure> {
    let schema = match args.document {
        Document::Manifest => manifest::schema(SchemaKind::Manifest),
        Document::Microbatches => manifest::schema(SchemaKind::Microbatches),
        Document::Receipt => receipt::receipt::schema(),
    };
    print(&format!("{schema:#}\n"))
}

fn print(text: &str) -> Result<ExitCode, Failure> {
    output::print(text.as_bytes()).map_err(Failure::Print)?;
    Ok(ExitCode::SUCCESS)
}
