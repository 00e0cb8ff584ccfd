//! The tools that are run: ours by the protocol, others as programs of a GradBench installation.

use crate::Outcome;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What a tool has computed, and what that took.
pub struct Answer {
    pub output: Value,
    /// Names of timings, and nanoseconds.
    timings: Vec<(String, u64)>,
    /// What the first run had allocated at most; zero, if the tool does not say so.
    pub peak: u64,
}

impl Answer {
    fn new(output: Value, timings: &[Value], peak: &Value) -> Self {
        let timing = |timing: &Value| Some((timing["name"].as_str()?.to_owned(), timing["nanoseconds"].as_u64()?));
        Answer { output, timings: timings.iter().filter_map(timing).collect(), peak: peak.as_u64().unwrap_or(0) }
    }

    /// What each run of the function itself took, in nanoseconds.
    pub fn runs(&self) -> impl Iterator<Item = f64> {
        self.times("evaluate")
    }

    /// The run that took least of the processor, in nanoseconds.
    pub fn least_processor(&self) -> f64 {
        self.times("processor").fold(f64::INFINITY, f64::min)
    }

    fn times(&self, name: &str) -> impl Iterator<Item = f64> {
        self.timings.iter().filter(move |timing| timing.0 == name).map(|timing| timing.1 as f64)
    }
}

/// Our tool, started, at the other end of the protocol.
pub struct Ours {
    process: Child,
    messages: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Ours {
    pub fn start() -> Outcome<Self> {
        Self::start_as(|path| Command::new(path))
    }

    /// Start the program as `command` says.
    pub fn start_as(command: impl FnOnce(&Path) -> Command) -> Outcome<Self> {
        let path = std::env::current_exe().map_err(|error| error.to_string())?;
        let path = path.with_file_name(format!("gradbench{}", std::env::consts::EXE_SUFFIX));
        let failed = |error| format!("could not start `{}`: {error}", path.display());
        let mut command = command(&path);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let messages = process.stdin.take().expect("it is piped");
        let answers = BufReader::new(process.stdout.take().expect("it is piped"));
        Ok(Ours { process, messages, answers })
    }

    /// Send a message, hear the answer.
    pub fn ask(&mut self, message: &Value) -> Outcome<Value> {
        let mut line = String::new();
        let sent = writeln!(self.messages, "{message}").and_then(|()| self.messages.flush());
        sent.and_then(|()| self.answers.read_line(&mut line)).map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_str(&line).map_err(|error| format!("the tool's answer: {error}"))?;
        if answer["id"] == message["id"] { Ok(answer) } else { Err("the answer to another message".into()) }
    }

    pub fn evaluate(&mut self, module: &str, function: &str, input: &Value) -> Outcome<Answer> {
        let message = json!({ "id": 0, "kind": "evaluate", "module": module, "function": function, "input": input });
        let mut answer = self.ask(&message)?;
        if answer["success"] != true {
            return Err(answer["error"].to_string());
        }
        let output = answer["output"].take();
        Ok(Answer::new(output, answer["timings"].as_array().map_or(&[], Vec::as_slice), &answer["peak_bytes"]))
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        // It ends by itself when there are no more messages; this is for the case that it does not.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A tool of a GradBench installation whose evals are programs: `tools/NAME/bin/EVAL FILE FUNCTION`.
pub struct Peer {
    pub name: String,
    directory: PathBuf,
}

/// The tools that are built in an installation.
pub fn peers(installation: &Path) -> Outcome<Vec<Peer>> {
    let tools = installation.join("tools");
    let failed = |error| format!("no GradBench installation in `{}`: {error}", tools.display());
    let mut peers: Vec<Peer> = fs::read_dir(&tools)
        .map_err(failed)?
        .filter_map(Result::ok)
        .map(|entry| Peer {
            name: entry.file_name().to_string_lossy().into_owned(),
            directory: entry.path().join("bin"),
        })
        .filter(|peer| peer.directory.is_dir())
        .collect();
    peers.sort_by(|a, b| a.name.cmp(&b.name));
    if peers.is_empty() { Err(format!("none of the tools in `{}` is built", tools.display())) } else { Ok(peers) }
}

impl Peer {
    /// Nothing, if the tool does not have the eval.
    pub fn evaluate(&self, module: &str, function: &str, input: &Path) -> Option<Outcome<Answer>> {
        let program = self.directory.join(module);
        program.exists().then(|| self.run(Command::new(&program).arg(input).arg(function)))
    }

    /// The program prints the output, then a timing on each line.
    fn run(&self, command: &mut Command) -> Outcome<Answer> {
        let printed = command.output().map_err(|error| format!("could not start `{}`: {error}", self.name))?;
        let lines: Vec<Value> = String::from_utf8_lossy(&printed.stdout)
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("what `{}` prints: {error}", self.name))?;
        let (output, timings) = lines.split_first().ok_or_else(|| format!("`{}` says nothing", self.name))?;
        Ok(Answer::new(output.clone(), timings, &Value::Null))
    }
}
