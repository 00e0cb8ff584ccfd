use pullback::{Differentiable, autodiff};

#[derive(Differentiable)]
struct Model {
    #[pullback(skip)]
    scale: f64,
    weight: f64,
}

#[derive(Differentiable)]
enum Weight {
    Given(#[pullback(skip)] f64),
    Found(u64, f64),
}

#[autodiff(t_of_enum, Forward, Dual, Dual)]
fn of_enum(weight: &Weight) -> &f64 {
    match weight {
        Weight::Given(value) | Weight::Found(_, value) => value,
    }
}

impl Model {
    #[autodiff(t_scale, Forward, self = Dual, return = Dual)]
    fn scale(&self) -> &f64 {
        &self.scale
    }

    #[autodiff(t_weight, Forward, self = Dual, return = Dual)]
    fn weight(&self) -> &f64 {
        &self.weight
    }

    #[autodiff(t_itself, Forward, self = Dual, return = Dual)]
    fn itself(&self) -> &Model {
        self
    }

    #[autodiff(t_both, Forward, self = Dual, return = Dual)]
    fn both(&self) -> Vec<&f64> {
        vec![&self.scale, &self.weight]
    }

    #[autodiff(t_one, Forward, self = Dual, which = Const, return = Dual)]
    fn one(&self, which: usize) -> Option<&f64> {
        if which == 0 { Some(&self.scale) } else { None }
    }
}

fn main() {
    let (m, d) = (Model { scale: 1.0, weight: 2.0 }, Model { scale: 3.0, weight: 4.0 });
    println!("{:?} {:?} {:?}", Model::t_scale(&m, &d), Model::t_weight(&m, &d), Model::t_itself(&m, &d).0.scale);
    println!("{:?} {:?}", Model::t_both(&m, &d), Model::t_one(&m, &d, 1));
    println!("{:?}", t_of_enum(&Weight::Found(0, 1.0), &Weight::Given(2.0)));
}
