//! The bytes of a float go through readers and writers of `std::io` that only move what they are given, through text
//! and paths; values go through what std owns for a while.

use pullback::{grad, jvp};
use pullback_e2e::unwinding::leaves_nothing;
use std::error::Error;
use std::ffi::{CString, OsStr};
use std::fmt::{self, Write as _};
use std::fs::File;
use std::hint::black_box;
use std::io::{
    self, BufRead, BufReader, BufWriter, Cursor, IoSlice, IoSliceMut, LineWriter, Read, Seek, SeekFrom, Write,
};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

fn read(bytes: &[u8]) -> f64 {
    f64::from_ne_bytes(bytes.try_into().unwrap())
}

/// What lies in a reader.
fn next(mut reader: impl Read) -> f64 {
    let mut out = [0; 8];
    reader.read_exact(&mut out).unwrap();
    f64::from_ne_bytes(out)
}

/// A reader of the program's.
struct Source(f64);

impl Read for Source {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        to[..8].copy_from_slice(&self.0.to_ne_bytes());
        Ok(8)
    }
}

/// What an error carries.
#[derive(Debug)]
struct Payload(f64);

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Error for Payload {}

/// What an error owns.
#[derive(Debug)]
struct Many(Vec<f64>);

impl fmt::Display for Many {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl Error for Many {}

fn fails(x: f64) -> io::Result<f64> {
    if x > 0.0 { Err(io::Error::new(io::ErrorKind::InvalidData, Payload(x))) } else { Ok(x) }
}

pullback_e2e::differentiated! {
    fn through_a_slice(x) {
        let bytes = (x[0] * x[1]).to_ne_bytes();
        next(&bytes[..])
    } at [2.0, 3.0];

    fn through_a_buffer(x) {
        let bytes = (x[0] * x[1]).to_ne_bytes();
        next(BufReader::new(&bytes[..]))
    } at [2.0, 3.0];

    fn through_a_small_buffer(x) {
        let bytes = (x[0] * x[1]).to_ne_bytes();
        next(BufReader::with_capacity(4, &bytes[..]))
    } at [2.0, 3.0];

    fn in_a_buffer(x) {
        let bytes = (x[0] * x[1]).to_ne_bytes();
        let mut reader = BufReader::new(&bytes[..]);
        let product = read(reader.fill_buf().unwrap());
        reader.consume(8);
        product
    } at [2.0, 3.0];

    fn one_after_another(x) {
        let (first, second) = (x[0].to_ne_bytes(), x[1].to_ne_bytes());
        let mut both = first.chain(&second[..]);
        next(&mut both) * next(&mut both).sin()
    } at [2.0, 3.0];

    fn a_part(x) {
        let mut bytes = (x[0] * x[1]).to_ne_bytes().to_vec();
        bytes.extend([1, 2, 3]);
        next((&bytes[..]).take(8))
    } at [2.0, 3.0];

    fn byte_by_byte(x) {
        let bytes = (x[0] * x[1]).to_ne_bytes();
        let mut out = [0; 8];
        for (out, byte) in out.iter_mut().zip((&bytes[..]).bytes()) {
            *out = byte.unwrap();
        }
        read(&out)
    } at [2.0, 3.0];

    fn to_the_end(x) {
        let bytes = (x[0] * x[1]).to_ne_bytes();
        let mut out = Vec::new();
        (&bytes[..]).read_to_end(&mut out).unwrap();
        read(&out)
    } at [2.0, 3.0];

    fn into_a_buffer(x) {
        let mut writer = BufWriter::new(Vec::new());
        writer.write_all(&(x[0] * x[1]).to_ne_bytes()).unwrap();
        read(&writer.into_inner().unwrap())
    } at [2.0, 3.0];

    fn into_a_small_buffer(x) {
        let mut writer = BufWriter::with_capacity(8, Vec::new());
        for x in x {
            writer.write_all(&x.to_ne_bytes()).unwrap();
        }
        writer.flush().unwrap();
        let bytes = writer.get_ref();
        read(&bytes[..8]) * read(&bytes[8..]).sin()
    } at [2.0, 3.0];

    fn into_borrowed_memory(x) {
        let mut out = Vec::new();
        {
            let mut writer = BufWriter::new(&mut out);
            writer.write_all(&(x[0] * x[1]).to_ne_bytes()).unwrap();
        }
        read(&out)
    } at [2.0, 3.0];

    fn slices(x) {
        let mut bytes = (x[0] * x[1]).to_ne_bytes();
        let product = read(&IoSlice::new(&bytes));
        IoSliceMut::new(&mut bytes).copy_from_slice(&x[0].to_ne_bytes());
        product * read(&bytes)
    } at [2.0, 3.0];

    fn overwritten(x) {
        let mut bytes = (x[0] * x[1]).to_ne_bytes();
        io::repeat(0).read_exact(&mut bytes).unwrap();
        read(&bytes) + x[0]
    } at [2.0, 3.0];

    fn cursors(x) {
        let mut cursor = Cursor::new(vec![0; 16]);
        cursor.seek(SeekFrom::Start(8)).unwrap();
        cursor.write_all(&(x[0] * x[1]).to_ne_bytes()).unwrap();
        cursor.set_position(8);
        next(cursor)
    } at [2.0, 3.0];

    fn copied(x) {
        let bytes = (x[0] * x[1]).to_ne_bytes();
        let mut out: Vec<u8> = Vec::new();
        io::copy(&mut &bytes[..], &mut out).unwrap();
        read(&out)
    } at [2.0, 3.0];

    fn sources_of_the_program(x) {
        next(BufReader::new(Source(x[0] * x[1]))) * next(Source(x[0]).take(8))
    } at [2.0, 3.0];

    fn lent_by_an_error(x) {
        let error = io::Error::other(Payload(x[0] * x[1]));
        error.get_ref().unwrap().downcast_ref::<Payload>().unwrap().0
    } at [2.0, 3.0];

    fn changed_in_an_error(x) {
        let mut error = io::Error::other(Payload(x[0]));
        error.get_mut().unwrap().downcast_mut::<Payload>().unwrap().0 *= x[1];
        error.get_ref().unwrap().downcast_ref::<Payload>().unwrap().0
    } at [2.0, 3.0];

    fn out_of_an_error(x) {
        let error = io::Error::other(Payload(x[0] * x[1]));
        error.into_inner().unwrap().downcast::<Payload>().unwrap().0
    } at [2.0, 3.0];

    fn in_a_result(x) {
        match fails(x[0] * x[1]) {
            Ok(x) => x * x,
            Err(error) => error.downcast::<Payload>().unwrap().0.sin(),
        }
    } at [2.0, 3.0], [2.0, -3.0];

    fn dropped_in_an_error(x) {
        let squares: Vec<f64> = x.iter().map(|x| x * x).collect();
        let sum = squares.iter().map(|x| x.sin()).sum();
        drop(io::Error::other(Many(squares)));
        black_box(vec![7_u64; 2]);
        sum
    } at [2.0, 3.0];

    fn as_a_path(x) {
        let bytes = (x[0] * x[1]).to_ne_bytes();
        let path = Path::new(OsStr::from_bytes(&bytes));
        read(path.as_os_str().as_bytes()) * read(Path::new("").join(path).as_os_str().as_bytes())
    } at [2.0, 3.0];

    fn as_a_path_of_its_own(x) {
        let path = PathBuf::from(OsStr::from_bytes(&(x[0] * x[1]).to_ne_bytes()));
        read(path.into_os_string().as_bytes())
    } at [2.0, 3.0];

    fn as_text_of_c(x) {
        let text = CString::new((x[0] * x[1] + 0.1).to_ne_bytes()).unwrap();
        read(text.as_bytes())
    } at [2.0, 3.0];

    fn told_besides(x) {
        let mut out = io::stdout().lock();
        writeln!(out, "{} and {:?}", x[0], io::Error::other("no number")).unwrap();
        File::create("/dev/null").unwrap().write_all(&x[0].to_ne_bytes()).unwrap();
        writeln!(io::stderr(), "{x:?}").unwrap();
        LineWriter::new(io::stdout()).write_all(b"of bytes\n").unwrap();
        let mut buffered = BufWriter::new(io::stdout());
        writeln!(buffered, "{:?}", x[1]).unwrap();
        print!("{}", fails(black_box(-1.0)).is_ok());
        x[0] * x[1]
    } at [2.0, 3.0];
}

/// Clocks beside active data, and what a file says, in memory of its own.
struct Timer {
    start: Instant,
    total: f64,
    stamp: SystemTime,
    header: [u8; 4],
}

pullback_e2e::differentiated! {
    fn the_world_beside_active_data(x) {
        let mut timer = Timer { start: Instant::now(), total: x[0], stamp: SystemTime::now(), header: [1; 4] };
        let elapsed = timer.start.elapsed();
        timer.start += elapsed;
        timer.total *= x[1];
        assert!(timer.stamp.elapsed().is_ok() && timer.start.elapsed().as_secs() < 1000);
        let mut header = [1; 4];
        File::open("/dev/zero").unwrap().read_exact(&mut header).unwrap();
        timer.header = header;
        std::fs::write("/dev/null", x[0].to_ne_bytes()).unwrap();
        std::fs::write("/dev/null", x[1].to_ne_bytes().to_vec()).unwrap();
        let name = std::fs::read_to_string("/proc/self/comm").unwrap();
        let status = BufReader::new(File::open("/proc/self/status").unwrap());
        let lines = status.lines().take(2).map(|line| line.unwrap().len());
        let found = Path::new("/proc").join("self").exists();
        let numbers = name.len().min(1) + lines.count() + usize::from(found) + usize::from(timer.header[3]);
        timer.total * numbers as f64
    } at [2.0, 3.0];
}

/// A float whose bytes are text.
const TEXT: f64 = f64::from_ne_bytes(*b"abc01234");

fn written_as_text(x: &[f64; 2]) -> f64 {
    let bytes = (TEXT * x[0] * x[1]).to_ne_bytes();
    let mut text = String::new();
    text.write_str(str::from_utf8(&bytes).unwrap()).unwrap();
    read(text.as_bytes())
}

fn joined_as_text(x: &[f64; 2]) -> f64 {
    let bytes = (TEXT * x[0] * x[1]).to_ne_bytes();
    let text = str::from_utf8(&bytes).unwrap();
    let all = [[text, text].concat(), [text, text].join("; "), text.repeat(2)];
    read(&all[0].as_bytes()[8..]) + read(&all[1].as_bytes()[10..]) + read(&all[2].as_bytes()[8..])
}

/// Memory that std owns for a while is given back with its shadow.
fn owned_by_an_error(x: &[f64; 2]) -> f64 {
    let squares: Vec<f64> = x.iter().map(|x| x * x).collect();
    let sum = squares.iter().map(|x| x.sin()).sum();
    drop(io::Error::other(Many(squares)));
    sum
}

fn owned_by_what_formats(x: &[f64; 2]) -> f64 {
    let squares: Vec<f64> = x.iter().map(|x| x * x).collect();
    let sum = squares.iter().map(|x| x.sin()).sum();
    let shown = fmt::from_fn(move |f| write!(f, "{squares:?}"));
    assert!(!shown.to_string().is_empty());
    sum
}

fn owned_by_writers(x: &[f64; 2]) -> f64 {
    let mut bytes = x[0].to_ne_bytes().to_vec();
    bytes.extend_from_slice(&x[1].to_ne_bytes());
    let sum = read(&bytes[..8]).sin() + read(&bytes[8..]).sin();
    let mut writer = BufWriter::new(bytes);
    writer.write_all(&[1, 2, 3]).unwrap();
    sum
}

/// Both derivatives of a function; they leave nothing behind.
macro_rules! gradients {
    ($function:expr, $x:expr) => {{
        let x: [f64; 2] = $x;
        let tangent = |direction| leaves_nothing(|| jvp($function, &x, &direction).1);
        (leaves_nothing(|| grad($function, &x)), [tangent([1.0, 0.0]), tangent([0.0, 1.0])])
    }};
}

#[test]
fn bytes_that_are_text() {
    let expected = |times: f64| ([times * TEXT; 2], [times * TEXT; 2]);
    assert_eq!(gradients!(written_as_text, [1.0, 1.0]), expected(1.0));
    assert_eq!(gradients!(joined_as_text, [1.0, 1.0]), expected(3.0));
}

#[test]
fn what_std_owns_is_given_back() {
    let x = [2.0_f64, 3.0];
    let squares = x.map(|x| 2.0 * x * (x * x).cos());
    assert_eq!(gradients!(owned_by_an_error, x), (squares, squares));
    assert_eq!(gradients!(owned_by_what_formats, x), (squares, squares));
    assert_eq!(gradients!(owned_by_writers, x), (x.map(f64::cos), x.map(f64::cos)));
}
