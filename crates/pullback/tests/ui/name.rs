use pullback::autodiff;

#[autodiff]
fn f(x: f64) -> f64 {
    x
}

#[autodiff(Reverse, Active, Active)]
fn g(x: f64) -> f64 {
    x
}

#[autodiff(h, Reverse, Active, Active)]
fn h(x: f64) -> f64 {
    x
}

#[autodiff(a::di, Reverse, Active, Active)]
fn i(x: f64) -> f64 {
    x
}

#[autodiff(dj Reverse, Active, Active)]
fn j(x: f64) -> f64 {
    x
}

#[autodiff("dk", Reverse, Active, Active)]
fn k(x: f64) -> f64 {
    x
}

fn main() {}
