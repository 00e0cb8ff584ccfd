use pullback::autodiff;

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64, y: f64, z: f64) -> f64 {
    x * y * z
}

#[autodiff(dg, Reverse, Active)]
fn g(x: f64) -> f64 {
    x
}

#[autodiff(dh, Reverse, Active, Active, Const, Const)]
fn h(x: f64) -> f64 {
    x
}

#[autodiff(di, Reverse, Duplicated, Active)]
fn i(x: &mut f64) {
    *x = 1.0;
}

struct S;

impl S {
    #[autodiff(dj, Reverse, Active, Active)]
    fn j(&self, x: f64) -> f64 {
        x
    }
}

fn main() {}
