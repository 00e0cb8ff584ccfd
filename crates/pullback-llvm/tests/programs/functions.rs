// Functions that go through import and export. Each takes and returns plain numbers, so that a test can compare the
// original with what came back. All have the signature `fn(&[f64], &mut [f64]) -> f64`.

use std::collections::BTreeMap;

#[derive(Clone, Copy)]
enum Shape {
    Circle(f64),
    Rectangle(f64, f64),
    Point,
}

fn area(shape: Shape) -> f64 {
    match shape {
        Shape::Circle(r) => std::f64::consts::PI * r * r,
        Shape::Rectangle(a, b) => a * b,
        Shape::Point => 0.0,
    }
}

#[unsafe(no_mangle)]
pub fn loops(x: &[f64], out: &mut [f64]) -> f64 {
    let mut sum = 0.0;
    for (i, v) in x.iter().enumerate() {
        let mut k = 0;
        while k < i {
            sum += v.sin() * (k as f64);
            k += 1;
        }
        out[i] = sum;
    }
    sum
}

#[unsafe(no_mangle)]
pub fn vectors(x: &[f64], out: &mut [f64]) -> f64 {
    let mut v: Vec<f64> = Vec::new();
    for a in x {
        v.push(a * 2.0);
        v.push(a.tan());
    }
    let doubled: Vec<f64> = v.iter().map(|a| a * a).collect();
    out[..doubled.len().min(x.len())].copy_from_slice(&doubled[..doubled.len().min(x.len())]);
    doubled.iter().sum::<f64>() + v.capacity() as f64 * 0.0
}

#[unsafe(no_mangle)]
pub fn enums(x: &[f64], out: &mut [f64]) -> f64 {
    let mut shapes = [Shape::Point; 4];
    for (i, slot) in shapes.iter_mut().enumerate() {
        *slot = match i % 3 {
            0 => Shape::Circle(x[i]),
            1 => Shape::Rectangle(x[i], x[i + 1]),
            _ => Shape::Point,
        };
    }
    out[0] = area(shapes[0]);
    shapes.into_iter().map(area).sum()
}

#[unsafe(no_mangle)]
pub fn swaps(x: &[f64], out: &mut [f64]) -> f64 {
    out.copy_from_slice(x);
    let last = out.len() - 1;
    out.swap(0, last);
    out.reverse();
    out.rotate_left(2);
    out[0] * 3.0 + out[1]
}

#[inline(never)]
fn power(x: f64, n: u32) -> f64 {
    if n == 0 {
        1.0
    } else if n % 2 == 0 {
        let half = power(x, n / 2);
        half * half
    } else {
        x * power(x, n - 1)
    }
}

#[unsafe(no_mangle)]
pub fn recursion(x: &[f64], _: &mut [f64]) -> f64 {
    x.iter().enumerate().map(|(i, v)| power(*v, i as u32 + 3)).sum()
}

fn checked(x: f64) -> Option<f64> {
    if x > 0.5 { Some(x.ln()) } else { None }
}

#[unsafe(no_mangle)]
pub fn options(x: &[f64], out: &mut [f64]) -> f64 {
    let mut best: Option<f64> = None;
    for (i, v) in x.iter().enumerate() {
        let Some(y) = checked(*v) else {
            out[i] = -1.0;
            continue;
        };
        best = Some(best.map_or(y, |b| b.max(y)));
    }
    best.unwrap_or(f64::NAN)
}

#[unsafe(no_mangle)]
pub fn formatting(x: &[f64], out: &mut [f64]) -> f64 {
    let text = format!("{:.3}|{:?}", x[0], &x[1..3]);
    out[0] = text.len() as f64;
    text.bytes().map(|b| b as f64).sum()
}

#[unsafe(no_mangle)]
pub fn math(x: &[f64], out: &mut [f64]) -> f64 {
    let a = x[0];
    out[0] = a.sinh() + a.atan2(2.0) + a.powi(3) + a.powf(1.5) + a.abs().cbrt() + a.exp_m1() + a.ln_1p();
    let b = a as f32;
    out[1] = (b.cos().mul_add(2.0, b.floor()) + b.hypot(1.0) + b.tanh()) as f64;
    a.clamp(0.2, 0.9).min(0.5).max(-1.0).copysign(-1.0) + a.round() + a.rem_euclid(0.3)
}

#[unsafe(no_mangle)]
pub fn integers(x: &[f64], out: &mut [f64]) -> f64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for v in x {
        hash = (hash ^ v.to_bits()).wrapping_mul(0x100_0000_01b3).rotate_left(7);
        let n = (v * 1000.0) as i32;
        hash = hash.wrapping_add(u64::from(n.unsigned_abs().leading_zeros()));
        hash ^= (n as i64).saturating_mul(i64::MAX / 3) as u64;
        hash = ((hash as u128).wrapping_mul(0xdead_beef_cafe_babe_1234_5678u128) >> 32) as u64;
    }
    out[0] = (hash >> 40) as f64;
    (hash % 1000) as f64
}

struct Node {
    value: f64,
    next: Option<Box<Node>>,
}

#[unsafe(no_mangle)]
pub fn lists(x: &[f64], out: &mut [f64]) -> f64 {
    let mut head: Option<Box<Node>> = None;
    for v in x {
        head = Some(Box::new(Node { value: *v, next: head }));
    }
    let mut sum = 0.0;
    let mut at = &head;
    let mut weight = 1.0;
    while let Some(node) = at {
        sum += weight * node.value;
        weight *= 0.5;
        at = &node.next;
    }
    out[0] = weight;
    sum
}

#[unsafe(no_mangle)]
pub fn dynamic(x: &[f64], out: &mut [f64]) -> f64 {
    let functions: [&dyn Fn(f64) -> f64; 3] = [&|v| v + 1.0, &|v| v * x[1], &|v| v.exp()];
    let mut sum = 0.0;
    for (i, v) in x.iter().enumerate() {
        let f = functions[std::hint::black_box(i) % 3];
        out[i] = f(*v);
        sum += out[i];
    }
    sum
}

#[unsafe(no_mangle)]
pub fn atomics(x: &[f64], out: &mut [f64]) -> f64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    let counter = AtomicU64::new(0);
    for v in x {
        if *v > 0.5 {
            counter.fetch_add(3, Ordering::SeqCst);
        }
    }
    out[0] = f64::from_bits(std::hint::black_box(x[0].to_bits()));
    counter.load(Ordering::Acquire) as f64
}

#[unsafe(no_mangle)]
pub fn maps(x: &[f64], out: &mut [f64]) -> f64 {
    let mut map = BTreeMap::new();
    for (i, v) in x.iter().enumerate() {
        *map.entry(i % 3).or_insert(0.0) += v;
    }
    let mut product = 1.0;
    for (key, value) in &map {
        out[*key] = *value;
        product *= value + 1.0;
    }
    product
}

#[unsafe(no_mangle)]
pub fn simd_like(x: &[f64], out: &mut [f64]) -> f64 {
    let a: [f32; 4] = [x[0] as f32, x[1] as f32, x[2] as f32, x[3] as f32];
    let b = a.map(|v| v * v + 1.0);
    for (o, v) in out.iter_mut().zip(b) {
        *o = v as f64;
    }
    b.iter().fold(0.0f32, |m, v| m.max(*v)) as f64
}

// What catches a panic is called, never taken apart, so it must not be inlined into what is imported.
#[inline(never)]
fn catching(x: &[f64]) -> Option<i32> {
    let caught = std::panic::catch_unwind(|| {
        if x[0] > -1.0 {
            std::panic::panic_any(17i32);
        }
    });
    caught.err().and_then(|e| e.downcast_ref::<i32>().copied())
}

#[unsafe(no_mangle)]
pub fn panics(x: &[f64], out: &mut [f64]) -> f64 {
    out[0] = 1.0;
    catching(x).map_or(x[1], f64::from)
}
