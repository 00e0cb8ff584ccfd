//! What the link driver is at, written down for the process that watches it ([`super::watch`]).
//!
//! Each step is a line when it begins and a line when it ends; a last line says that the driver has ended as it meant
//! to. A driver that dies leaves the steps behind that it was at, one in each thread and those around them.

use crate::diagnostics::Place;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A function whose derivative is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// Where its derivative is asked for.
    pub place: Place,
}

/// Where steps are written down. Cheap to clone.
#[derive(Clone, Default)]
pub struct Progress {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    file: Option<Mutex<File>>,
    next: AtomicU64,
}

impl Progress {
    /// Write to this file, which is there.
    pub fn in_file(path: &Path) -> Self {
        let file = OpenOptions::new().append(true).open(path).ok().map(Mutex::new);
        Progress { inner: Arc::new(Inner { file, next: AtomicU64::new(0) }) }
    }

    /// A step begins; it ends when what is returned is dropped.
    pub fn begin(&self, step: &str, subjects: &[Subject]) -> Step {
        let id = self.inner.next.fetch_add(1, Ordering::Relaxed);
        let place = |p: &Place| json!([p.file, p.line, p.column]);
        let subjects: Vec<Value> = subjects.iter().map(|s| json!([s.name, place(&s.place)])).collect();
        self.write(&json!({ "begin": id, "step": step, "subjects": subjects }));
        Step { progress: self.clone(), id }
    }

    /// The driver has ended as it meant to, with success or with errors that it has told.
    pub fn finish(&self) {
        self.write(&json!({ "finished": true }));
    }

    fn write(&self, line: &Value) {
        if let Some(file) = &self.inner.file {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            // In one piece: the process may die right after. A log that cannot be written is one that says less.
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }
}

/// A step that is under way.
pub struct Step {
    progress: Progress,
    id: u64,
}

impl Drop for Step {
    fn drop(&mut self) {
        // A panic that nobody catches ends the process: then the step is what it was at.
        if !std::thread::panicking() {
            self.progress.write(&json!({ "end": self.id }));
        }
    }
}

/// What a driver has left behind.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Whether it has ended as it meant to.
    pub finished: bool,
    /// The steps it was at, the first to begin first.
    pub steps: Vec<String>,
    /// The functions that the last of these steps was about that was about any.
    pub subjects: Vec<Subject>,
}

impl Left {
    /// Read a log.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let ended: Vec<u64> = lines.iter().filter_map(|line| line["end"].as_u64()).collect();
        let open = |line: &&Value| line["begin"].as_u64().is_some_and(|id| !ended.contains(&id));
        let mut left = Left { finished: lines.iter().any(|line| line["finished"] == true), ..Left::default() };
        for line in lines.iter().filter(open) {
            left.steps.push(line["step"].as_str().unwrap_or_default().to_owned());
            let subjects: Vec<Subject> =
                line["subjects"].as_array().into_iter().flatten().filter_map(subject).collect();
            if !subjects.is_empty() {
                left.subjects = subjects;
            }
        }
        left
    }
}

fn subject(json: &Value) -> Option<Subject> {
    let place = &json[1];
    let number = |i: usize| place[i].as_u64().and_then(|n| u32::try_from(n).ok());
    let place = Place { file: place[0].as_str()?.to_owned(), line: number(1)?, column: number(2)? };
    Some(Subject { name: json[0].as_str()?.to_owned(), place })
}
