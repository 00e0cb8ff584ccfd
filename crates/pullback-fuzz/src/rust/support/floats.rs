//! What runs a program and its derivatives, and prints all numbers that come out of them.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The bits of a float.
pub type Number = u64;

impl Data for f32 {
    fn read(stream: &mut Stream) -> Self {
        stream.0.number() as f32
    }
    fn write(&self, out: &mut Vec<Number>) {
        out.push(u64::from(self.to_bits()));
    }
}

impl Data for f64 {
    fn read(stream: &mut Stream) -> Self {
        stream.0.number()
    }
    fn write(&self, out: &mut Vec<Number>) {
        out.push(self.to_bits());
    }
}

/// Where the numbers of arguments and shadows come from.
pub struct Stream(numbers::Stream);

impl Stream {
    pub fn integer(&self) -> usize {
        self.0.point as usize
    }

    pub fn take<T: Data>(&mut self) -> T {
        T::read(self)
    }
}

/// One point of a program.
pub struct Session {
    pub program: usize,
    pub seed: u64,
    pub point: u64,
}

impl Session {
    fn stream(&self, purpose: numbers::Purpose) -> Stream {
        Stream(numbers::Stream::new(self.seed, self.point, purpose))
    }

    pub fn values(&self) -> Stream {
        self.stream(numbers::Purpose::Values)
    }

    pub fn constants(&self) -> Stream {
        self.stream(numbers::Purpose::Constants)
    }

    pub fn direction(&self) -> Stream {
        self.stream(numbers::Purpose::Direction)
    }

    pub fn cotangents(&self) -> Stream {
        self.stream(numbers::Purpose::Cotangents)
    }

    pub fn seeds(&self) -> Stream {
        self.stream(numbers::Purpose::Seeds)
    }

    /// Call something that may panic.
    pub fn call<R>(&self, form: &str, call: impl FnOnce() -> R) -> Result<R, String> {
        println!("{} {} {form} begins", self.program, self.point);
        catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_default()
        })
    }

    /// Print what came out: whether there was a panic; values; derivatives.
    pub fn record(&self, form: &str, panic: Option<&String>, values: &[&dyn Written], derivatives: &[&dyn Written]) {
        let mut line = format!("{} {} {form} ", self.program, self.point);
        match panic {
            None => line += "ok",
            Some(message) => write!(line, "panic {}", message.replace(['\n', '|'], " ")).unwrap(),
        }
        for list in [values, derivatives] {
            line += " |";
            let mut numbers = Vec::new();
            list.iter().for_each(|item| item.numbers(&mut numbers));
            numbers.iter().for_each(|number| write!(line, " {number:x}").unwrap());
        }
        println!("{line}");
    }
}

/// [`Data`] that is written.
pub trait Written {
    fn numbers(&self, out: &mut Vec<Number>);
}

impl<T: Data> Written for T {
    fn numbers(&self, out: &mut Vec<Number>) {
        self.write(out);
    }
}

/// Nothing, if there was a panic.
impl<T: Data> Written for Option<T> {
    fn numbers(&self, out: &mut Vec<Number>) {
        self.iter().for_each(|value| value.write(out));
    }
}
