use pullback::autodiff;

#[autodiff(df, Reverse, Active, Active)]
fn inverse_sqrt(x: f32) -> f32 {
    let i = 0x5f3759df - (x.to_bits() >> 1);
    let y = f32::from_bits(i);
    y * (1.5 - 0.5 * x * y * y)
}

fn main() {
    println!("{:?}", df(1.0));
}
