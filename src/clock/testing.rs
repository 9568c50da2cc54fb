//! Windows and runs from one line of text, for tests.
//!
//! A script is a rank's stream. `b` is a backward of the current window; `|` begins the next one. A word may carry a
//! number: `tick=0.1`, `scale=512`, `clip=2`, `end=7`, `save=3`, and `b@512`, `unscale@512`, `step@512` (loss scale),
//! `step#3` (update), `step~0.1` (learning rate), `b+` `b-` (sync; with `^` the forward says
//! the contrary), `b!` `unscale!` `clip!` (nonfinite).
use crate::manifest::contract::Contract;
use crate::manifest::document::RankManifest;
use crate::manifest::event::Event;
use crate::manifest::window::Indexed;
use crate::manifest::window::RankWindow;
use crate::manifest::window::Window;
use serde_json::Value;
use serde_json::json;

/// A contract with K = 3 on one rank under flush, and what `with` says differently.
pub(crate) fn contract(with: Value) -> Contract {
    let mut declared = json!({
        "formula": "token-mean/1", "accumulation_steps": 3, "world_size": 1, "tail": "flush",
        "tolerance": {"absolute": 1e-12, "relative": 1e-9}, "precision": "float64",
    });
    let (Value::Object(declared), Value::Object(with)) = (&mut declared, with) else { panic!("two objects") };
    declared.extend(with);
    let contract: Contract = serde_json::from_value(Value::Object(declared.clone())).expect("a contract");
    contract.with_defaults()
}

/// A run's windows, from one script a rank.
pub(crate) fn windows(scripts: &[&str]) -> Vec<Window> {
    let streams = scripts.iter().enumerate().map(|(rank, script)| stream(rank as u64, script)).collect();
    align(streams)
}

/// A whole manifest from `fixtures/rules/`.
pub(crate) fn manifest(text: &str) -> RankManifest {
    serde_json::from_str(text).expect("a rank manifest")
}

/// Aligns streams of well-formed runs; the real aligner also finds their faults.
pub(crate) fn align(streams: Vec<Vec<Event>>) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    for (rank, stream) in streams.into_iter().enumerate() {
        let mut current: Option<RankWindow> = None;
        let mut number = None;
        for (index, event) in stream.into_iter().enumerate() {
            let begun = match &event {
                Event::Backward(backward) => Some(backward.window.get()),
                _ => None,
            };
            if begun.is_some() && number.is_some() && begun != number {
                store(&mut windows, number, rank, current.take());
            }
            if begun.is_some() {
                number = begun;
            }
            if let Event::Restore(restore) = &event {
                store(&mut windows, number.take(), rank, current.take());
                windows.retain(|window| window.window < restore.window.get() || window.ranks.len() <= rank);
                current.get_or_insert_default().restore = Some(restore.clone());
            }
            let segment = current.get_or_insert_default();
            segment.rank = rank as u64;
            segment.events.push(Indexed { index: index as u64, event });
        }
        store(&mut windows, number, rank, current.take());
    }
    if let Some(last) = windows.last_mut() {
        last.is_last = true;
    }
    windows
}

fn store(windows: &mut Vec<Window>, number: Option<u64>, rank: usize, segment: Option<RankWindow>) {
    let (Some(number), Some(segment)) = (number, segment) else { return };
    if rank == 0 {
        windows.push(Window { window: number, ranks: vec![segment], is_last: false });
    } else {
        let window = windows.iter_mut().find(|w| w.window == number && w.ranks.len() == rank);
        window.expect("the same windows on every rank").ranks.push(segment);
    }
}

/// The events of a script.
fn stream(rank: u64, script: &str) -> Vec<Event> {
    let mut window = 0u64;
    let mut backwards = 0u64;
    let mut ids: Vec<String> = Vec::new();
    let mut events = Vec::new();
    for word in script.split_whitespace() {
        if word == "|" {
            (window, backwards) = (window + 1, 0);
            ids.clear();
            continue;
        }
        if word.starts_with('b') {
            ids.push(format!("w{window}-r{rank}-m{backwards}"));
            backwards += 1;
        }
        if let Some(restored) = word.strip_prefix("restore=") {
            window =
                restored.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok()).expect("a window");
            (backwards, ids) = (0, Vec::new());
        }
        let event = event(word, window, &ids);
        events.push(serde_json::from_value(event).unwrap_or_else(|error| panic!("{word}: {error}")));
    }
    events
}

fn event(word: &str, window: u64, ids: &[String]) -> Value {
    let end = word.find(['=', '@', '#', '~', '+', '-', '!']).unwrap_or(word.len());
    let (name, marks) = word.split_at(end);
    let number = |mark: char| -> Option<Value> {
        let (_, rest) = marks.split_once(mark)?;
        let end = rest.find(['=', '@', '#', '~', '+', '!']).unwrap_or(rest.len());
        Some(serde_json::from_str(&rest[..end]).expect("a number"))
    };
    let nonfinite = marks.contains('!');
    let mut fields = match name {
        "zero" => return json!("zero_grad"),
        "end" if marks.is_empty() => return json!("epoch_end"),
        "b" if nonfinite => json!({"microbatch": ids.last(), "valid_targets": 2, "window": window, "nonfinite": true}),
        "b" => json!({"microbatch": ids.last(), "valid_targets": 2, "window": window, "loss_sum": 1.5}),
        "clip" if nonfinite => json!({"max_norm": 1, "nonfinite": true}),
        "clip" => json!({"max_norm": 1, "norm": number('=').unwrap_or(json!(0.5))}),
        "rescale" => json!({"factor": 0.5}),
        "unscale" => json!({"nonfinite": nonfinite}),
        "step" => json!({"window": window, "outcome": "applied"}),
        "skip" => json!({"window": window, "outcome": "skipped"}),
        "scale" => json!({"loss_scale": number('=')}),
        "tick" => json!({"learning_rate": number('=').unwrap_or(json!(0.1))}),
        "log" => json!({"window": number('=').unwrap_or(json!(window)), "loss": 0.75}),
        "params" => json!({"values": [number('=').unwrap_or(json!(1.0))]}),
        "save" | "eval" => json!({"update": number('=')}),
        "end" => json!({"microbatches": number('=')}),
        "restore" => json!({"window": window, "applied_updates": number('#')}),
        "carry" => json!({"window": window, "microbatches": ids, "backwards": ids.len(),
            "valid_targets": 2 * ids.len(), "loss_sum": 1.5 * ids.len() as f64}),
        "drop" => json!({"window": window, "microbatches": ids, "valid_targets": 2 * ids.len()}),
        other => panic!("no event {other}"),
    };
    for (mark, field) in [('@', "loss_scale"), ('#', "update"), ('~', "learning_rate")] {
        if let Some(value) = number(mark).filter(|_| name != "restore" || mark != '#') {
            fields[field] = value;
        }
    }
    if marks.starts_with(['+', '-']) {
        fields["sync"] = json!(marks.starts_with('+'));
        if marks.contains('^') {
            fields["forward_sync"] = json!(marks.starts_with('-'));
        }
    }
    let tag = match name {
        "b" => "backward",
        "step" | "skip" => "optimizer_step",
        "scale" => "scaler_update",
        "tick" => "scheduler_step",
        "log" => "logged",
        "params" => "parameters",
        "save" => "checkpoint",
        "eval" => "evaluation",
        "end" => "epoch_end",
        name => name,
    };
    json!({ tag: fields })
}
