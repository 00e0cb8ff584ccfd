use pullback::Differentiable;

mod other {
    pub struct Port {
        pub number: u64,
        pub level: f64,
    }

    impl Drop for Port {
        fn drop(&mut self) {}
    }
}

// All of it can be copied, and it would be closed twice.
#[derive(Differentiable)]
#[pullback(remote = "other::Port")]
struct Port {
    number: u64,
    level: f64,
}

#[derive(Differentiable)]
struct Holder {
    #[pullback(with = "Port")]
    port: other::Port,
}

const LAYOUT: pullback::abi::Layout = Holder::LAYOUT;

fn main() {}
