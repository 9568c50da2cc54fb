//! `receipt check`.
use crate::cli::CheckArgs;
use crate::failure::Failure;
use crate::output;
use crate::previous;
use crate::refuse::{explained, refuse};
use crate::run;
use crate::sources::Disk;
use receipt::finding::{Code, Finding, Place};
use receipt::pipeline::{ReplayPlan, VerifyOptions};
use receipt::receipt::Sealed;
use receipt::receipt::check;
use receipt::receipt::document::{FindingReport, Verdict};
use receipt::report::visible::visible;
use receipt::report::words;
use std::process::ExitCode;

pub(crate) fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let given = match previous::read(&args.receipt)? {
        Ok(given) => given,
        Err(finding) => return refuse(&explained(&args.receipt, *finding)),
    };
    if args.manifests.is_empty() {
        say(&format!("the hash holds: {}\n", given.hash()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let derived = derive(args, &given)?;
    if let Some(finding) = rejected_now(&given, &derived) {
        return refuse(&finding);
    }
    let comparison = check::compare(&given, &derived);
    for told in &comparison.told {
        say(&format!("note: {told}\n"))?;
    }
    match &comparison.refused {
        Some(finding) => refuse(finding),
        None => {
            say("the hash holds, and the manifest gives the same receipt\n")?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// GA802 where the manifest is rejected and the receipt says otherwise: there is nothing else to compare.
fn rejected_now(given: &Sealed, derived: &Sealed) -> Option<Finding> {
    let (given, derived) = (given.receipt(), derived.receipt());
    if derived.verdict != Verdict::Rejected || given.verdict == Verdict::Rejected {
        return None;
    }
    let first = derived.findings.first()?;
    let FindingReport { code, name, message, place, .. } = first;
    let place = words::place(place);
    let place = if place.is_empty() { place } else { format!(" ({place})") };
    let message = format!("the manifest is rejected, so it gives no such receipt: {code} {name}: {message}{place}");
    Some(Finding::new(Code::GA802, Place::document("/verdict"), message))
}

/// The receipt that the manifest gives under the options of the one at hand.
fn derive(args: &CheckArgs, given: &Sealed) -> Result<Sealed, Failure> {
    let options = &given.receipt().options;
    let previous = previous::load(args.previous.as_deref())?;
    let found = previous.as_ref().and_then(|previous| previous.receipt().receipt_sha256);
    if found != options.previous {
        return Err(Failure::Previous { wanted: options.previous });
    }
    let inputs: Vec<_> = args.manifests.iter().map(|path| Disk::name(path)).collect();
    let plan = || ReplayPlan { targets: options.replay_targets.get(), ..ReplayPlan::default() };
    let replay = options.replay.then(plan);
    let options = VerifyOptions { detail: options.detail, partial: options.partial, previous, replay };
    Ok(run::verify(&Disk::default(), &inputs, options)?.sealed)
}

fn say(text: &str) -> Result<(), Failure> {
    output::print(visible(text).as_bytes()).map_err(Failure::Print)
}
