use pullback::{Writable, autodiff, grad, jvp};

#[autodiff(d_count, Reverse, Duplicated, Const, Active)]
fn count<T: Copy + Into<f64> + Writable>(values: &[T], scale: f64) -> f64 {
    values.iter().map(|value| (*value).into() * scale).sum()
}

fn main() {
    // Fine: there are floats.
    println!("{}", d_count(&[1.0], &mut [0.0], 2.0));
    println!("{}", d_count(&[1_u8], &mut [0], 2.0));
    println!("{}", grad(|n: &i32| f64::from(*n), &7));
    println!("{:?}", jvp(|x: &f64| *x as i32, &7.5, &1.0));
}
