use pullback::Differentiable;

mod other {
    pub struct Point {
        pub x: f64,
        pub y: f64,
    }

    pub struct Hidden {
        pub x: f64,
        y: f64,
    }

    pub struct Named {
        pub name: &'static str,
        pub x: f64,
    }

    pub union Either {
        pub truth: bool,
        pub byte: u8,
    }

    pub enum Shape {
        Round(f64),
    }

    pub struct Loud {
        pub text: String,
        pub x: f64,
    }

    impl Drop for Loud {
        fn drop(&mut self) {}
    }
}

#[derive(Differentiable)]
#[pullback(remote = "other::Point")]
struct WithoutY {
    x: f64,
}

#[derive(Differentiable)]
#[pullback(remote = "other::Point")]
struct WithAnInteger {
    x: f64,
    y: u64,
}

#[derive(Differentiable)]
#[pullback(remote = "other::Hidden")]
struct WithAPrivateField {
    x: f64,
    y: f64,
}

// A reference that ends would become one that never does.
#[derive(Differentiable)]
#[pullback(remote = "other::Named")]
struct WithAnotherLifetime<'a> {
    name: &'a str,
    x: f64,
}

#[derive(Differentiable)]
#[pullback(remote = "other::Shape")]
enum Shape {
    Round(f64),
}

#[derive(Differentiable)]
#[pullback(remot = "other::Point")]
struct Misspelt {
    x: f64,
    y: f64,
}

#[derive(Differentiable)]
struct Body {
    #[pullback(with = "f64")]
    at: other::Point,
}

// What is behind the reference lies elsewhere.
#[derive(Differentiable)]
#[pullback(remote = "other::Point")]
struct Place {
    x: f64,
    y: f64,
}

#[derive(Differentiable)]
struct Lent<'a> {
    #[pullback(with = "Place")]
    at: &'a other::Point,
}

#[derive(Differentiable)]
enum Either<'a> {
    Lent(#[pullback(with = "Place")] &'a other::Point),
}

#[derive(Differentiable)]
struct Both {
    #[pullback(skip, with = "f64")]
    at: other::Point,
}

#[derive(Differentiable)]
#[pullback(remote = "other::Either")]
struct OneOfAUnion {
    truth: bool,
}

// What it holds can be taken out by nobody.
#[derive(Differentiable)]
#[pullback(remote = "other::Loud")]
struct WithoutDrop {
    text: String,
    x: f64,
}

fn main() {}
