use pullback::autodiff;

#[autodiff(df, Reverse, Duplicated, Const, Const, Active)]
fn f(a: &[f64], b: &[f64], second: bool) -> f64 {
    let chosen = if second { b } else { a };
    chosen.iter().map(|x| x * x).sum()
}

fn main() {
    println!("{:?}", df(&[1.0], &mut [0.0], &[2.0], true));
}
