//! `receipt verify`.
use crate::cli::{Color, DetailArg, VerifyArgs, VerifyFormat};
use crate::failure::Failure;
use crate::output;
use crate::sources::Disk;
use receipt::pipeline::{self, VerifyOptions};
use receipt::receipt::document::{Detail, Verdict};
use std::process::ExitCode;

pub(crate) fn run(args: &VerifyArgs, _color: Color) -> Result<ExitCode, Failure> {
    let disk = Disk::default();
    let inputs: Vec<_> = args.manifests.iter().map(|path| Disk::name(path)).collect();
    let options = VerifyOptions { detail: detail(args.detail), partial: args.read.partial, previous: None };
    let verified = pipeline::verify(&disk, &inputs, &options)?;
    if let Some(path) = &args.receipt {
        output::write_atomically(path, verified.sealed.bytes()).map_err(Failure::writing(path))?;
    }
    match args.format {
        VerifyFormat::Json => {
            output::print(&[verified.sealed.bytes(), b"\n"].concat()).map_err(Failure::Print)?;
        }
        VerifyFormat::Text => {
            let mut text = String::new();
            for (folded, cause) in &verified.findings {
                text.push_str(&format!(
                    "{:?}[{}] {}: {} {:?} x{} {:?} {:?}\n",
                    folded.severity,
                    folded.code,
                    folded.code.name(),
                    folded.message,
                    folded.place,
                    folded.count,
                    folded.windows,
                    cause
                ));
            }
            text.push_str(&format!(
                "{:?} {:?}\n",
                verified.sealed.receipt().verdict,
                verified.sealed.receipt().diagnosis
            ));
            output::print(text.as_bytes()).map_err(Failure::Print)?;
        }
    }
    Ok(exit_code(verified.sealed.receipt().verdict, args.exit_zero))
}

fn detail(arg: DetailArg) -> Detail {
    match arg {
        DetailArg::Summary => Detail::Summary,
        DetailArg::Windows => Detail::Windows,
        DetailArg::Full => Detail::Full,
    }
}

/// What CI sees.
pub(crate) fn exit_code(verdict: Verdict, exit_zero: bool) -> ExitCode {
    match verdict {
        _ if exit_zero => ExitCode::SUCCESS,
        Verdict::Verified => ExitCode::SUCCESS,
        Verdict::Violated => ExitCode::from(1),
        Verdict::Rejected => ExitCode::from(3),
    }
}
