use pullback::autodiff;

trait Layer {
    fn apply(&self, x: f64) -> f64;
}

struct Scale(f64);

impl Layer for Scale {
    fn apply(&self, x: f64) -> f64 {
        self.0 * x
    }
}

struct Shift(f64);

impl Layer for Shift {
    fn apply(&self, x: f64) -> f64 {
        self.0 + x
    }
}

fn layers(n: usize) -> Vec<Box<dyn Layer>> {
    let mut all: Vec<Box<dyn Layer>> = Vec::new();
    for i in 0..n {
        if i % 2 == 0 {
            all.push(Box::new(Scale(2.0)));
        } else {
            all.push(Box::new(Shift(1.0)));
        }
    }
    all
}

#[autodiff(df, Reverse, Active, Const, Active)]
fn f(x: f64, n: usize) -> f64 {
    let mut y = x;
    for layer in &layers(n) {
        y = layer.apply(y);
    }
    y
}

fn main() {
    println!("{:?}", df(1.0, 3));
}
