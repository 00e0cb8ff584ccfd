use pullback::Differentiable;

struct Plain;

#[derive(Differentiable)]
struct Holder {
    value: f64,
    plain: Plain,
}

#[derive(Differentiable)]
union Either {
    float: f32,
    bits: u32,
}

#[derive(Differentiable)]
struct Option {
    #[pullback(ignore)]
    value: f64,
}

fn main() {}
