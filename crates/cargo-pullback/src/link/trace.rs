//! A look inside, for whoever debugs a derivative: printed stages, times, saved modules.

use super::progress::Progress;
use crate::env::Debugging;
use crate::report::{Message, Sink};
use std::time::{Duration, Instant};

/// What the user wants to see, and where it goes.
pub struct Trace {
    /// What the user wants to see.
    pub debugging: Debugging,
    /// Where it goes.
    pub sink: Sink,
    /// Where steps are written down for who watches.
    pub progress: Progress,
    times: Vec<(&'static str, Duration)>,
    started: Instant,
}

impl Trace {
    /// What the environment asks for.
    pub fn from_env(progress: Progress) -> Self {
        let (debugging, sink) = (Debugging::from_env(), Sink::from_env());
        Trace { debugging, sink, progress, times: Vec::new(), started: Instant::now() }
    }

    /// Do a step and count its time.
    pub fn step<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let step = self.progress.begin(name, &[]);
        let result = work();
        drop(step);
        let spent = start.elapsed();
        match self.times.iter_mut().find(|(n, _)| *n == name) {
            Some((_, total)) => *total += spent,
            None => self.times.push((name, spent)),
        }
        result
    }

    /// Print a stage.
    pub fn print(&mut self, title: &str, text: &str) {
        self.sink.put(&Message::Text(format!("── {title}\n{text}")));
    }

    /// Keep a file in the user's directory.
    pub fn save(&mut self, name: &str, bytes: impl FnOnce() -> Vec<u8>) {
        let Some(dir) = &self.debugging.save else { return };
        let written = std::fs::create_dir_all(dir).and_then(|()| std::fs::write(dir.join(name), bytes()));
        if let Err(error) = written {
            let message = format!("warning: could not save `{}`: {error}", dir.join(name).display());
            self.sink.put(&Message::Text(message));
        }
    }

    /// Print the times, if they are asked for.
    pub fn finish(&mut self, output: &str) {
        if !self.debugging.timings {
            return;
        }
        let mut text = format!("── pullback: {output}");
        for (name, spent) in &self.times {
            text.push_str(&format!("\n{:>9.1} ms  {name}", spent.as_secs_f64() * 1e3));
        }
        text.push_str(&format!(
            "\n{:>9.1} ms  in all, before the real linker",
            self.started.elapsed().as_secs_f64() * 1e3
        ));
        self.sink.put(&Message::Text(text));
    }
}
