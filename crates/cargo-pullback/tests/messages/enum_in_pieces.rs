use pullback::grad;

enum Shape {
    Pair(f32, f32),
    Boxed(Box<f32>),
}

fn f(x: &[f32; 2]) -> f32 {
    let mut shapes = [Shape::Boxed(Box::new(x[0])), Shape::Pair(x[0], x[1])];
    let mut sum = 0.0;
    for (x, shape) in x.iter().zip(&mut shapes) {
        sum += match shape {
            Shape::Pair(a, b) => *a * *b,
            Shape::Boxed(a) => **a,
        };
        *shape = if *x > 1.0 { Shape::Pair(*x, sum) } else { Shape::Boxed(Box::new(*x)) };
    }
    match &shapes[1] {
        Shape::Pair(a, b) => sum + *a * *b,
        Shape::Boxed(a) => sum + **a,
    }
}

fn main() {
    println!("{:?}", grad(f, &[1.0, 2.0]));
}
