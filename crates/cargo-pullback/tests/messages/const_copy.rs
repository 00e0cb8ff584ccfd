use pullback::autodiff;

#[autodiff(df, Reverse, Duplicated, Const, Active)]
fn f(x: &[f64], tmp: &mut [f64]) -> f64 {
    tmp.copy_from_slice(x);
    tmp[0] * tmp[1]
}

fn main() {
    println!("{:?}", df(&[1.0], &mut [0.0], &mut [0.0]));
}
