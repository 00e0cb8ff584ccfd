//! Random primals with random shadows, most of them wrong: one too many or too few somewhere, another variant, a list
//! that ends early. A wrong one is told with argument, path and both sizes, and nothing has been written by then; a
//! right one gets the right gradient. `cargo xtask valgrind` runs this file, and others, under valgrind.

use pullback::{Differentiable, autodiff, make_zero};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Something of everything that has a shape.
#[derive(Differentiable, Clone, Debug)]
struct Model {
    rows: Vec<Vec<f64>>,
    scale: Option<f64>,
    parts: Box<[Part]>,
    list: List,
    inputs: usize,
}

#[derive(Differentiable, Clone, Debug)]
enum Part {
    Nothing,
    Point { at: (f64, f64) },
    Path(Vec<f64>),
}

#[derive(Differentiable, Clone, Debug)]
enum List {
    End,
    Node(f64, Box<List>),
}

impl Model {
    fn random(random: &mut Random) -> Model {
        let rows = (0..random.below(4)).map(|_| random.floats(4)).collect();
        let scale = (random.below(2) == 0).then(|| random.float());
        let parts = (0..random.below(4)).map(|_| Part::random(random)).collect();
        let mut list = List::End;
        for _ in 0..random.below(4) {
            list = List::Node(random.float(), Box::new(list));
        }
        Model { rows, scale, parts, list, inputs: random.below(9) }
    }

    /// Every float, in order.
    fn each(&mut self, visit: &mut dyn FnMut(&mut f64)) {
        self.rows.iter_mut().flatten().for_each(&mut *visit);
        self.scale.iter_mut().for_each(&mut *visit);
        for part in &mut self.parts {
            match part {
                Part::Nothing => {}
                Part::Point { at } => [&mut at.0, &mut at.1].into_iter().for_each(&mut *visit),
                Part::Path(values) => values.iter_mut().for_each(&mut *visit),
            }
        }
        let mut list = &mut self.list;
        while let List::Node(value, rest) = list {
            visit(value);
            list = rest;
        }
    }

    fn floats(&self) -> Vec<f64> {
        let mut floats = Vec::new();
        self.clone().each(&mut |value| floats.push(*value));
        floats
    }

    /// Everything that can be seen of it, with the bits of its floats.
    fn image(&self) -> (String, Vec<u64>) {
        (format!("{self:?}"), self.floats().iter().map(|value| value.to_bits()).collect())
    }
}

impl Part {
    fn random(random: &mut Random) -> Part {
        match random.below(3) {
            0 => Part::Nothing,
            1 => Part::Point { at: (random.float(), random.float()) },
            _ => Part::Path(random.floats(4)),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Part::Nothing => "Nothing",
            Part::Point { .. } => "Point",
            Part::Path(_) => "Path",
        }
    }
}

/// A generator of random numbers: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    /// A small number of quarters, so that sums and products are exact.
    fn float(&mut self) -> f64 {
        self.below(65) as f64 / 4.0 - 8.0
    }

    fn floats(&mut self, bound: usize) -> Vec<f64> {
        (0..self.below(bound)).map(|_| self.float()).collect()
    }

    /// Another length, at most one more than that.
    fn other_length(&mut self, length: usize) -> usize {
        if length > 0 && self.below(2) == 0 { self.below(length) } else { length + 1 }
    }
}

/// The floats of the model in order, each times one of the weights, in turn.
#[autodiff(d_weighted, Reverse, Duplicated, Duplicated, Active)]
#[autodiff(t_weighted, Forward, Dual, Dual, Dual)]
fn weighted(model: &Model, weights: &[f64]) -> f64 {
    let mut sum = 0.0;
    let mut next = 0;
    let mut add = |value: f64| {
        sum += value * weights[next % weights.len()];
        next += 1;
    };
    model.rows.iter().flatten().for_each(|value| add(*value));
    if let Some(scale) = model.scale {
        add(scale);
    }
    for part in &model.parts {
        match part {
            Part::Nothing => {}
            Part::Point { at } => {
                add(at.0);
                add(at.1);
            }
            Part::Path(values) => values.iter().for_each(|value| add(*value)),
        }
    }
    let mut list = &model.list;
    while let List::Node(value, rest) = list {
        add(*value);
        list = rest;
    }
    sum
}

/// Change a shadow's shape in one place. Returns the path of that place, and what is said of the primal and of the
/// shadow.
fn spoil(shadow: &mut Model, weights: &mut Vec<f64>, random: &mut Random) -> [String; 3] {
    let lengths =
        |path: String, old: usize, new: usize| [path, format!("has length {old}"), format!("has length {new}")];
    match random.below(6) {
        0 => {
            let (old, new) = (weights.len(), random.other_length(weights.len()));
            weights.resize(new, 0.5);
            lengths("weights".into(), old, new)
        }
        1 => {
            let (old, new) = (shadow.rows.len(), random.other_length(shadow.rows.len()));
            shadow.rows.resize(new, vec![0.25]);
            lengths("model.rows".into(), old, new)
        }
        2 if !shadow.rows.is_empty() => {
            let index = random.below(shadow.rows.len());
            let (old, new) = (shadow.rows[index].len(), random.other_length(shadow.rows[index].len()));
            shadow.rows[index].resize(new, 0.75);
            lengths(format!("model.rows[{index}]"), old, new)
        }
        3 if !shadow.parts.is_empty() => {
            let index = random.below(shadow.parts.len());
            let old = shadow.parts[index].name();
            while shadow.parts[index].name() == old {
                shadow.parts[index] = Part::random(random);
            }
            let new = shadow.parts[index].name();
            [format!("model.parts[{index}]"), format!("is `{old}`"), format!("is `{new}`")]
        }
        4 => {
            let (mut path, mut place) = (String::from("model.list"), &mut shadow.list);
            for _ in 0..random.below(4) {
                if let List::Node(_, rest) = place {
                    (path, place) = (path + ".Node.1", rest);
                }
            }
            let (other, old, new) = match place {
                List::End => (List::Node(0.5, Box::new(List::End)), "End", "Node"),
                List::Node(..) => (List::End, "Node", "End"),
            };
            *place = other;
            [path, format!("is `{old}`"), format!("is `{new}`")]
        }
        _ => {
            let (other, old, new) = match shadow.scale {
                Some(_) => (None, "Some", "None"),
                None => (Some(1.0), "None", "Some"),
            };
            shadow.scale = other;
            ["model.scale".into(), format!("is `{old}`"), format!("is `{new}`")]
        }
    }
}

/// A primal, its weights, and shadows that fit and hold something already.
fn random_arguments(random: &mut Random) -> (Model, Vec<f64>, Model, Vec<f64>) {
    let model = Model::random(random);
    let weights: Vec<f64> = (0..1 + random.below(4)).map(|_| random.float()).collect();
    let (mut shadow, mut weights_shadow) = (make_zero(&model), make_zero(&weights));
    shadow.each(&mut |value| *value = random.float());
    weights_shadow.iter_mut().for_each(|value| *value = random.float());
    (model, weights, shadow, weights_shadow)
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn a_wrong_shadow_is_told_before_anything_is_written() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..400 {
        let (model, weights, mut shadow, mut weights_shadow) = random_arguments(&mut random);
        let [path, primal, wrong] = spoil(&mut shadow, &mut weights_shadow, &mut random);
        let argument = path.split(['.', '[']).next().expect("a path begins with the argument");
        let expected = format!(
            "shadow of argument `{argument}` does not fit: `{path}` {primal}, its shadow {wrong}\n\
             help: `pullback::make_zero` makes a shadow that fits"
        );
        let images = (model.image(), bits(&weights), shadow.image(), bits(&weights_shadow));
        let reverse = catch_unwind(AssertUnwindSafe(|| {
            d_weighted(&model, &mut shadow, &weights, &mut weights_shadow);
        }));
        let forward = catch_unwind(AssertUnwindSafe(|| {
            t_weighted(&model, &shadow, &weights, &weights_shadow);
        }));
        for result in [reverse, forward] {
            let message = result.expect_err("it panics").downcast::<String>().expect("a message");
            assert_eq!(*message, expected);
        }
        assert_eq!(
            (model.image(), bits(&weights), shadow.image(), bits(&weights_shadow)),
            images,
            "nothing is written"
        );
    }
}

#[test]
fn a_right_shadow_gets_the_gradient() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..200 {
        let (model, weights, mut shadow, mut weights_shadow) = random_arguments(&mut random);
        let values = model.floats();
        let weight = |index: usize| weights[index % weights.len()];
        let tangent: f64 =
            shadow.floats().iter().enumerate().map(|(index, tangent)| tangent * weight(index)).sum::<f64>()
                + values
                    .iter()
                    .enumerate()
                    .map(|(index, value)| value * weights_shadow[index % weights.len()])
                    .sum::<f64>();
        let primal = weighted(&model, &weights);
        assert_eq!(t_weighted(&model, &shadow, &weights, &weights_shadow), (primal, tangent));

        let expected: Vec<f64> =
            shadow.floats().iter().enumerate().map(|(index, before)| before + weight(index)).collect();
        let mut expected_weights = weights_shadow.clone();
        values.iter().enumerate().for_each(|(index, value)| expected_weights[index % weights.len()] += value);
        assert_eq!(d_weighted(&model, &mut shadow, &weights, &mut weights_shadow), primal);
        assert_eq!((shadow.floats(), weights_shadow), (expected, expected_weights));
    }
}
