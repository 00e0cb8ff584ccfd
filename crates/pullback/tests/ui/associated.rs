use pullback::autodiff;

struct Model;

impl Model {
    // Nothing in it says that it is an associated function: then the derivative's name has to, `Self::df`.
    #[autodiff(df, Reverse, Active, Active)]
    fn square(x: f64) -> f64 {
        x * x
    }
}

fn main() {}
