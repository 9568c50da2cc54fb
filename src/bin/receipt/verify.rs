//! `receipt verify`.
use crate::cli::{Color, DetailArg, VerifyArgs, VerifyFormat};
use crate::failure::Failure;
use crate::kind::{self, Kind};
use crate::output;
use crate::run::Run;
use crate::terminal;
use receipt::receipt::archive;
use receipt::receipt::document::{Detail, Verdict};
use receipt::report::ci;
use receipt::report::visible::visible;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(args: &VerifyArgs, color: Color) -> Result<ExitCode, Failure> {
    args.manifests.iter().filter(|path| kind::of(path) == Some(Kind::Receipt)).for_each(|path| say_receipt(path));
    let run = Run::verify(&args.manifests, &args.read, detail(args.detail))?;
    let sealed = &run.verified.sealed;
    if let Some(path) = &args.receipt {
        if run.has_read(path) || args.read.previous.as_deref().is_some_and(|previous| same_file(path, previous)) {
            return Err(Failure::Overwrites { name: path.display().to_string(), by: "receipt" });
        }
        output::write_atomically(path, sealed.bytes()).map_err(Failure::writing(path))?;
    }
    if let Some(folder) = args.archive_rejected.as_deref().filter(|_| sealed.receipt().verdict == Verdict::Rejected) {
        archive_rejected(&run, folder)?;
    }
    let printed = match args.format {
        VerifyFormat::Json => output::receipt(sealed.bytes()),
        VerifyFormat::Text => output::print(run.text(terminal::style(color))?.as_bytes()),
        VerifyFormat::Sarif => output::print(&run.for_tools(ci::sarif::json)?),
        VerifyFormat::Junit => output::print(&run.for_tools(ci::junit::xml)?),
        VerifyFormat::Github => output::print(&run.for_tools(ci::github::text)?),
        VerifyFormat::Gitlab => output::print(&run.for_tools(ci::gitlab::json)?),
    };
    printed.map_err(Failure::Print)?;
    Ok(if args.exit_zero { ExitCode::SUCCESS } else { run.exit_code() })
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Says that a receipt was named where a manifest is needed; the verdict on it follows.
fn say_receipt(path: &Path) {
    let name = path.display();
    let text = format!(
        "receipt: {name} is a receipt, not a manifest: `receipt check {name}` checks it, `receipt explain {name}` shows it"
    );
    // Nowhere is left to say that standard error is closed.
    let _ = writeln!(io::stderr().lock(), "{}", visible(&text));
}

fn archive_rejected(run: &Run, folder: &Path) -> Result<(), Failure> {
    let anonymous = archive::anonymous(&run.verified.sealed).map_err(Failure::from)?;
    let hash = anonymous.hash();
    let path = folder.join(format!("{hash}.json"));
    fs::create_dir_all(folder).map_err(Failure::writing(folder))?;
    output::write_atomically(&path, anonymous.bytes()).map_err(Failure::writing(&path))
}

fn detail(arg: DetailArg) -> Detail {
    match arg {
        DetailArg::Summary => Detail::Summary,
        DetailArg::Windows => Detail::Windows,
        DetailArg::Full => Detail::Full,
    }
}
