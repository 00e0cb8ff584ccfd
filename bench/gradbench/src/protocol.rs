//! GradBench's protocol: JSON, one line each way.
//!
//! ```text
//! {"id":0,"kind":"start","eval":"lse"}                                            {"id":0,"tool":"pullback"}
//! {"id":1,"kind":"define","module":"lse"}                                         {"id":1,"success":true}
//! {"id":2,"kind":"evaluate","module":"lse","function":"primal","input":{…}}       {"id":2,"success":true,"output":…,"timings":[…]}
//! {"id":3,"kind":"analysis","of":2,"valid":true}                                  {"id":3}
//! ```
//!
//! Beside what GradBench asks for, the answer to an evaluation says what each run took of the `processor`, and in
//! `peak_bytes` how much the first one has allocated at once, at most.

use pullback_measure::{clock, instructions::counted, memory};
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

/// What came out, and what each run took.
pub struct Evaluation {
    output: Value,
    runs: Vec<Run>,
}

struct Run {
    time: Duration,
    /// Without the time in which something else had the processor.
    processor: Duration,
    /// What was allocated at once, at most.
    peak: usize,
}

impl Run {
    fn of<T>(compute: impl FnOnce() -> T) -> (T, Self) {
        let before = clock::seconds();
        let ((output, time), peak) = memory::peak(|| {
            let start = Instant::now();
            let output = counted(|| black_box(compute()));
            (output, start.elapsed())
        });
        (output, Run { time, processor: Duration::from_secs_f64(clock::seconds() - before), peak })
    }
}

/// How often a function is to be run; part of its input.
#[derive(Deserialize)]
struct Repeat {
    min_runs: usize,
    min_seconds: f64,
}

/// Run `compute` as often as `input` asks for. Only that is timed, not reading the input or `report`, which makes the
/// output of what the last run has computed.
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
        let (output, run) = Run::of(|| compute(black_box(&input)));
        total += run.time;
        runs.push(run);
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
                    let timing = |name, time: Duration| json!({ "name": name, "nanoseconds": time.as_nanos() as u64 });
                    let timings: Vec<Value> = runs
                        .iter()
                        .flat_map(|run| [timing("evaluate", run.time), timing("processor", run.processor)])
                        .collect();
                    // Later runs use memory that the first one has left to them.
                    let peak = runs.first().map(|run| run.peak);
                    json!({ "success": true, "output": output, "timings": timings, "peak_bytes": peak })
                }
                Err(error) => failure(format!("the input of `{}`: {error}", message.function)),
            }
        }
        ("define" | "evaluate", None) => failure(format!("no module `{}`", message.module)),
        _ => json!({}),
    }
}
