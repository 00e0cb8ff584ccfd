//! GradBench's protocol: JSON, one line each way.
//!
//! ```text
//! {"id":0,"kind":"start","eval":"lse"}                                            {"id":0,"tool":"pullback"}
//! {"id":1,"kind":"define","module":"lse"}                                         {"id":1,"success":true}
//! {"id":2,"kind":"evaluate","module":"lse","function":"primal","input":{…}}       {"id":2,"success":true,"output":…,"timings":[…]}
//! {"id":3,"kind":"analysis","of":2,"valid":true}                                  {"id":3}
//! ```

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

/// An eval: functions that go by a name.
pub struct Eval {
    pub name: &'static str,
    pub functions: &'static [(&'static str, Function)],
}

/// From a function's input to its output, timed.
pub type Function = fn(Value) -> Result<Evaluation, serde_json::Error>;

/// What came out, and how long each run took.
pub struct Evaluation {
    output: Value,
    runs: Vec<Duration>,
}

/// How often a function is to be run; part of its input.
#[derive(Deserialize)]
struct Repeat {
    min_runs: usize,
    min_seconds: f64,
}

/// Run `compute` as often as `input` asks for. Only that is timed, not reading the input or `report`, which makes the output of what
/// the last run has computed.
pub fn evaluate<I: DeserializeOwned, O, R: Serialize>(
    input: Value,
    compute: impl Fn(&I) -> O,
    report: impl Fn(&I, O) -> R,
) -> Result<Evaluation, serde_json::Error> {
    // The input of `hello` is a bare number.
    let repeat =
        if input.is_object() { Repeat::deserialize(&input)? } else { Repeat { min_runs: 1, min_seconds: 0.0 } };
    let input: I = serde_json::from_value(input)?;
    let (mut runs, mut total) = (Vec::new(), Duration::ZERO);
    let last = loop {
        let start = Instant::now();
        let output = black_box(compute(black_box(&input)));
        let time = start.elapsed();
        runs.push(time);
        total += time;
        if runs.len() >= repeat.min_runs && total.as_secs_f64() >= repeat.min_seconds {
            break output;
        }
    };
    Ok(Evaluation { output: serde_json::to_value(report(&input, last))?, runs })
}

/// As [`evaluate`], for what is an output as it is.
pub fn evaluate_plain<I: DeserializeOwned, O: Serialize>(
    input: Value,
    compute: impl Fn(&I) -> O,
) -> Result<Evaluation, serde_json::Error> {
    evaluate(input, compute, |_, output| output)
}

/// A message. What a kind does not have is not there.
#[derive(Deserialize)]
struct Message {
    id: u64,
    kind: String,
    #[serde(default)]
    module: String,
    #[serde(default)]
    function: String,
    #[serde(default)]
    input: Value,
}

/// Answer each message, until there are no more.
pub fn serve(evals: &[Eval], messages: impl BufRead, mut answers: impl Write) -> io::Result<()> {
    for line in messages.lines() {
        let message: Message = serde_json::from_str(&line?)?;
        let id = message.id;
        let mut answer = answer(evals, message);
        answer["id"] = id.into();
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
    Ok(())
}

fn answer(evals: &[Eval], message: Message) -> Value {
    let failure = |error: String| json!({ "success": false, "error": error });
    let eval = evals.iter().find(|eval| eval.name == message.module);
    match (message.kind.as_str(), eval) {
        ("start", _) => json!({ "tool": "pullback" }),
        ("define", Some(_)) => json!({ "success": true }),
        ("evaluate", Some(eval)) => {
            let Some((_, function)) = eval.functions.iter().find(|(name, _)| *name == message.function) else {
                return failure(format!("`{}` has no function `{}`", eval.name, message.function));
            };
            match function(message.input) {
                Ok(Evaluation { output, runs }) => {
                    let timings: Vec<Value> = runs
                        .iter()
                        .map(|run| json!({ "name": "evaluate", "nanoseconds": run.as_nanos() as u64 }))
                        .collect();
                    json!({ "success": true, "output": output, "timings": timings })
                }
                Err(error) => failure(format!("the input of `{}`: {error}", message.function)),
            }
        }
        ("define" | "evaluate", None) => failure(format!("no module `{}`", message.module)),
        _ => json!({}),
    }
}
