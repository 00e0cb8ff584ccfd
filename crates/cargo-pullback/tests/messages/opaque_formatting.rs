//! Code of the program's that std runs where nothing is differentiated.

use pullback::grad;
use std::cell::RefCell;
use std::fmt;
use std::io::{self, BufWriter, Write};

struct Shown(RefCell<Vec<f64>>);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.borrow_mut().push(3.0);
        write!(f, "shown")
    }
}

fn shown(x: &[f64]) -> f64 {
    let shown = Shown(RefCell::new(x.iter().map(|x| x * x).collect()));
    println!("{shown}");
    shown.0.borrow().iter().sum()
}

struct Sink<'a>(&'a mut Vec<f64>);

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push(3.0);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn written(x: &[f64]) -> f64 {
    let mut squares: Vec<f64> = x.iter().map(|x| x * x).collect();
    write!(Sink(&mut squares), "{}", 3).unwrap();
    squares.iter().sum()
}

fn buffered(x: &[f64]) -> f64 {
    let mut squares: Vec<f64> = x.iter().map(|x| x * x).collect();
    let mut writer = BufWriter::new(Sink(&mut squares));
    write!(writer, "{}", 3).unwrap();
    drop(writer);
    squares.iter().sum()
}

fn main() {
    let x = [1.0, 2.0];
    println!("{:?} {:?} {:?}", grad(shown, &x[..]), grad(written, &x[..]), grad(buffered, &x[..]));
}
