//! `receipt diff`.
use crate::cli::{Color, DiffArgs, PlainFormat};
use crate::failure::Failure;
use crate::output;
use crate::previous;
use crate::refuse;
use crate::terminal;
use receipt::finding::Finding;
use receipt::receipt::diff::Diff;
use receipt::report::diff;
use std::path::Path;
use std::process::ExitCode;

/// What is no receipt, or was changed after it was sealed, cannot be compared.
const MALFORMED: u8 = 3;

pub(crate) fn run(args: &DiffArgs, color: Color) -> Result<ExitCode, Failure> {
    let (left, right) = match (read(&args.left)?, read(&args.right)?) {
        (Ok(left), Ok(right)) => (left, right),
        (Err(finding), _) | (_, Err(finding)) => {
            refuse::refuse(&finding)?;
            return Ok(ExitCode::from(MALFORMED));
        }
    };
    let names = [&args.left, &args.right].map(|path| path.display().to_string());
    let difference = Diff::of(&left, &right);
    let (left, right) = ((&*names[0], &left), (&*names[1], &right));
    let text = match args.format {
        PlainFormat::Text => diff::text(left, right, &difference, terminal::style(color)),
        PlainFormat::Json => diff::json(left, right, &difference),
    };
    output::print(text.as_bytes()).map_err(Failure::Print)?;
    Ok(ExitCode::from(u8::from(!difference.is_empty())))
}

/// A receipt, or why the file of this name is none.
fn read(path: &Path) -> Result<Result<receipt::receipt::Sealed, Finding>, Failure> {
    let named = |finding: Finding| {
        let finding = refuse::explained(path, finding);
        Finding { message: format!("{}: {}", path.display(), finding.message), ..finding }
    };
    Ok(previous::read(path)?.map_err(|finding| named(*finding)))
}
