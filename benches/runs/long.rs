//! A long run, for benchmarks and for the test of how large reports become.
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Updates between two skipped ones.
const SKIPPED_EVERY: u64 = 5_000;

/// Writes a run of so many windows on one rank: two microbatches each, averaged by themselves where every target was to
/// count the same, with a static loss scale, clipped, and every 5000th update skipped. Nearly every window is wrong.
pub(crate) fn write(path: &Path, windows: u64) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let contract = concat!(
        r#"{"schema":"accumulation/microbatch-manifest/1","rank":0,"contract":{"formula":"token-mean/1","#,
        r#""accumulation_steps":2,"world_size":1,"tail":"flush","tolerance":{"absolute":1e-9,"relative":1e-9},"#,
        r#""precision":"float64","loss_scale":{"policy":"static","value":1024},"clip":{"max_norm":1.0},"#,
        r#""unobserved":["zero_grad","scaler_update"]}}"#
    );
    writeln!(out, "{contract}")?;
    for window in 0..windows {
        let is_skipped = window % SKIPPED_EVERY == SKIPPED_EVERY - 1;
        let targets = [1 + window % 3, 1 + window * 7 % 5];
        let mut logged = 0.0;
        for (index, n) in targets.into_iter().enumerate() {
            let sum = n as f64 * (1.5 + (window % 97) as f64 / 97.0 + index as f64);
            let mean = sum / n as f64 / 2.0;
            logged += mean;
            let loss = match is_skipped && index == 1 {
                true => r#""nonfinite":true"#.to_owned(),
                false => format!(r#""loss_sum":{sum},"backward_loss":{mean}"#),
            };
            writeln!(
                out,
                r#"{{"backward":{{"window":{window},"microbatch":"w{window}-m{index}","valid_targets":{n},{loss},"loss_scale":1024}}}}"#
            )?;
        }
        let (unscaled, clipped, outcome) = match is_skipped {
            true => (r#","nonfinite":true"#, r#""nonfinite":true"#, "skipped"),
            false => ("", r#""norm":0.5"#, "applied"),
        };
        writeln!(out, r#"{{"unscale":{{"loss_scale":1024{unscaled}}}}}"#)?;
        writeln!(out, r#"{{"clip":{{"max_norm":1.0,{clipped}}}}}"#)?;
        if !is_skipped {
            writeln!(out, r#"{{"logged":{{"window":{window},"loss":{logged}}}}}"#)?;
        }
        writeln!(out, r#"{{"optimizer_step":{{"window":{window},"outcome":"{outcome}"}}}}"#)?;
    }
    out.flush()
}
