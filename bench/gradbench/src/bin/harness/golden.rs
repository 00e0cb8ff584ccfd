//! Logs of correct answers: a tool is to give them again.
//!
//! A log has a message and the response to it on two lines each, `{"message":{…}}` and `{"response":{…}}`. GradBench
//! itself lets pass what is wrong by 10⁻⁴, even a gradient of zeros where numbers are small; here an answer may differ
//! by 10⁻⁹ of its largest number.

use crate::Outcome;
use crate::compare::relative_error;
use crate::tools::Ours;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// How far an answer may be from the right one.
const TOLERANCE: f64 = 1e-9;

/// What is in a log, but is not the derivative of the eval's program: GradBench's `manual` has the exact solution of
/// the differential equation, whose derivative is another than that of the solution by steps. (The tool's own tests see
/// to that one.)
const OF_ANOTHER_FUNCTION: (&str, &str, &str) = ("manual", "ode", "gradient");

/// Send the messages of all logs to the tool, and print how far its answers are from the responses.
pub fn run(directory: &Path, evals: &[&str]) -> Outcome<()> {
    let failed = |error| format!("no logs in `{}`: {error}", directory.display());
    let mut logs: Vec<PathBuf> = fs::read_dir(directory)
        .map_err(failed)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    logs.sort();
    println!("{:<10} {:<8} {:<10} {:<26} {:<8} largest relative error", "log", "module", "function", "size", "");
    let (mut right, mut wrong) = (0, 0);
    for path in logs {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
        let lines: Vec<Value> = text
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("`{}`: {error}", path.display()))?;
        let is_wanted = |eval: &str| evals.is_empty() || evals.contains(&eval);
        if !is_wanted(lines[0]["message"]["eval"].as_str().unwrap_or(&name)) {
            continue;
        }
        let (mut tool, reference) = (Ours::start()?, &lines[1]["response"]["tool"]);
        for [message, response] in lines.as_chunks().0 {
            let (message, response) = (&message["message"], &response["response"]);
            let answer = tool.ask(message)?;
            let verdict = match message["kind"].as_str() {
                Some("define") if answer["success"] != true => Verdict::Wrong("not there".into()),
                Some("evaluate") => judge(reference, message, response, &answer),
                _ => continue,
            };
            let word = |key: &str| message[key].as_str().unwrap_or("").to_owned();
            let (module, function, size) = (word("module"), word("function"), word("description"));
            let (said, how) = match &verdict {
                Verdict::Right(error) => ("ok", format!("{error:.1e}")),
                Verdict::Wrong(why) => ("WRONG", why.clone()),
                Verdict::Left => ("left", "the log has the derivative of another function".into()),
            };
            println!("{name:<10} {module:<8} {function:<10} {size:<26} {said:<8} {how}");
            right += usize::from(matches!(verdict, Verdict::Right(_)));
            wrong += usize::from(matches!(verdict, Verdict::Wrong(_)));
        }
    }
    match (right, wrong) {
        (0, 0) => Err(format!("nothing to compare in `{}`", directory.display())),
        (_, 0) => {
            println!("\nall {right} answers are right");
            Ok(())
        }
        _ => Err(format!("{wrong} answers are wrong, {right} are right")),
    }
}

enum Verdict {
    Right(f64),
    Wrong(String),
    Left,
}

fn judge(reference: &Value, message: &Value, response: &Value, answer: &Value) -> Verdict {
    let (tool, module, function) = OF_ANOTHER_FUNCTION;
    if answer["success"] != true {
        return Verdict::Wrong(answer["error"].to_string());
    }
    if *reference == tool && message["module"] == module && message["function"] == function {
        return Verdict::Left;
    }
    match relative_error(&answer["output"], &response["output"]) {
        Ok(error) if error <= TOLERANCE => Verdict::Right(error),
        Ok(error) => Verdict::Wrong(format!("{error:.1e}")),
        Err(why) => Verdict::Wrong(why),
    }
}
