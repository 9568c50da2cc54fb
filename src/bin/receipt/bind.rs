//! `receipt bind`.
use crate::cli::{BindArgs, Color, ReadArgs};
use crate::failure::Failure;
use crate::output;
use crate::run::Run;
use crate::sources::Disk;
use crate::terminal;
use receipt::manifest::source::check_reference;
use receipt::manifest::{self, Member};
use receipt::receipt::document::Detail;
use receipt::report::json;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) fn run(args: &BindArgs, color: Color) -> Result<ExitCode, Failure> {
    let folder = folder(args.output.as_deref())?;
    let members = args.manifests.iter().map(|path| member(path, &folder)).collect::<Result<Vec<_>, _>>()?;
    let disk = Disk::default();
    let Some(bound) = manifest::bind(&disk, &members, args.partial)? else { return refused(args, color) };
    let document = json::pretty(&bound);
    match &args.output {
        None => output::print(document.as_bytes()).map_err(Failure::Print)?,
        Some(path) if disk.has_read(path) => {
            return Err(Failure::Overwrites { name: path.display().to_string(), by: "rank manifest" });
        }
        Some(path) => output::write_atomically(path, document.as_bytes()).map_err(Failure::writing(path))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The real folder that the rank manifest is to stand in.
fn folder(output: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = match output.and_then(Path::parent) {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    folder.canonicalize().map_err(Failure::writing(output.unwrap_or(folder)))
}

/// A file, by its path below the folder.
fn member(path: &Path, folder: &Path) -> Result<Member, Failure> {
    let name = path.display().to_string();
    let unbindable = |why: String| Failure::Unbindable { name: name.clone(), why };
    if path == Path::new("-") {
        return Err(unbindable("standard input is no file that a rank manifest can reference".to_owned()));
    }
    let read = |source: io::Error| Failure::Read { name: name.clone(), source };
    let real = path.canonicalize().map_err(read)?;
    if !real.metadata().map_err(read)?.is_file() {
        return Err(unbindable("it is no regular file".to_owned()));
    }
    let Ok(below) = real.strip_prefix(folder) else {
        let folder = folder.display();
        return Err(unbindable(format!(
            "it lies outside {folder}, the rank manifest's folder; `--output` chooses another"
        )));
    };
    let components: Option<Vec<&str>> = below.iter().map(|component| component.to_str()).collect();
    let reference = components.ok_or_else(|| unbindable("its path is no UTF-8".to_owned()))?.join("/");
    check_reference(&reference).map_err(|why| unbindable(format!("its path {why}")))?;
    Ok(Member { name: Disk::name(path), reference })
}

/// What is no run is malformed.
const MALFORMED: u8 = 3;

/// Says why the files are no run, as `verify` does.
fn refused(args: &BindArgs, color: Color) -> Result<ExitCode, Failure> {
    let read = ReadArgs { partial: args.partial, previous: None, no_replay: true, replay_targets: 0 };
    let run = Run::verify(&args.manifests, &read, Detail::Summary)?;
    output::print(run.text(terminal::style(color))?.as_bytes()).map_err(Failure::Print)?;
    Ok(ExitCode::from(MALFORMED))
}
