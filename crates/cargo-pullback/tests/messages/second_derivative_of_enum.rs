use pullback::grad;

enum Item {
    Float(f64),
    Floats(Vec<f64>),
}

fn sum(x: &[f64]) -> f64 {
    let mut items = vec![];
    for i in 0..x.len() {
        items.push(if i % 2 == 0 { Item::Float(x[i]) } else { Item::Floats(vec![x[i]]) });
    }
    let value = |item: &Item| match item {
        Item::Float(x) => x * x,
        Item::Floats(x) => x[0] * x[0] * x[0],
    };
    items.iter().map(value).sum()
}

fn main() {
    let twice = |z: &[f64]| grad(|x: &[f64]| sum(x), z).iter().sum::<f64>();
    println!("{:?}", grad(twice, &[1.0, 2.0, 3.0][..]));
}
