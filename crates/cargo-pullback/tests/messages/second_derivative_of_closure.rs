use pullback::grad;

fn main() {
    let outer = |x: &f64| {
        let inner = |x: &Option<f64>| x.map_or(0.0, |x| x * x);
        grad(inner, &Some(*x)).unwrap_or_default()
    };
    println!("{}", grad(outer, &1.0));
}
