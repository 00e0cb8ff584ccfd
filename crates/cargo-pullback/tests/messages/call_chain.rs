use pullback::autodiff;

unsafe extern "C" {
    fn mystery(x: f64) -> f64;
}

fn helper(x: f64) -> f64 {
    unsafe { mystery(x) }
}

fn total(xs: &[f64]) -> f64 {
    xs.iter().map(|x| helper(x * x)).sum()
}

#[autodiff(df, Reverse, Duplicated, Active)]
#[autodiff(tf, Forward, Dual, Dual)]
fn f(xs: &[f64]) -> f64 {
    total(xs) + 1.0
}

fn main() {
    println!("{:?} {:?}", df(&[1.0], &mut [0.0]), tf(&[1.0], &[1.0]));
}
