use pullback::autodiff;

#[autodiff(df, Reverse, Duplicated, Const, Active)]
fn f(x: &[f64], tmp: &mut [f64]) -> f64 {
    for i in 0..x.len() {
        tmp[i] = x[i] * x[i];
    }
    tmp.iter().sum()
}

fn main() {
    println!("{:?}", df(&[1.0], &mut [0.0], &mut [0.0]));
}
