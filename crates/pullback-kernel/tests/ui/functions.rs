//! What cannot be a kernel function.

use pullback_kernel::kernel;

#[kernel]
fn sum(x: &[f32]) -> f32 {
    x.iter().sum()
}

#[kernel]
async fn later(x: f32) -> f32 {
    x
}

#[kernel]
unsafe fn careless(x: f32) -> f32 {
    x
}

#[kernel]
fn any<T>(x: T) -> T {
    x
}

#[kernel]
fn pair((x, y): (f32, f32)) -> f32 {
    x + y
}

#[kernel(fast)]
fn fast(x: f32) -> f32 {
    x
}

struct Counter(f32);

impl Counter {
    #[kernel]
    fn next(self) -> f32 {
        self.0 + 1.0
    }
}

fn main() {}
