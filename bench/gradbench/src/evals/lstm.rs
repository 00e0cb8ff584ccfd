//! `lstm`: the loss of a recurrent network that predicts the bits of the next character.

use super::flat;
use crate::protocol::{Eval, evaluate, evaluate_plain};
use pullback::{Differentiable, autodiff, make_zero};
use serde::Deserialize;

pub const EVAL: Eval = Eval {
    name: "lstm",
    functions: &[
        ("objective", |input| evaluate_plain(input, |input: &Input| objective(&input.parameters, &input.data))),
        ("jacobian", |input| {
            evaluate(
                input,
                |input: &Input| gradient(&input.parameters, &input.data),
                |_, gradient| [gradient.main, gradient.extra].concat(),
            )
        }),
    ],
};

#[derive(Deserialize)]
struct Input {
    #[serde(flatten)]
    data: Data,
    #[serde(flatten)]
    parameters: Parameters,
}

#[derive(Deserialize)]
struct Data {
    /// Hidden state and cell of each layer, at the beginning.
    #[serde(deserialize_with = "flat")]
    state: Vec<f64>,
    /// The bits of one character after the other.
    sequence: Vec<Vec<f64>>,
}

#[derive(Deserialize, Differentiable)]
struct Parameters {
    /// For each layer four weights, then four biases, of each bit: of the gates to forget, of the input and the output,
    /// and of the change.
    #[serde(rename = "main_params", deserialize_with = "flat")]
    main: Vec<f64>,
    /// Weights of the input, weights and biases of the output.
    #[serde(rename = "extra_params", deserialize_with = "flat")]
    extra: Vec<f64>,
}

#[autodiff(d_objective, Reverse, Duplicated, Const, ActiveOnly)]
fn objective(parameters: &Parameters, data: &Data) -> f64 {
    let bits = parameters.extra.len() / 3;
    let (input_weights, output) = parameters.extra.split_at(bits);
    let (output_weights, output_biases) = output.split_at(bits);
    let mut state = data.state.clone();
    let mut signal = vec![0.0; bits];
    let mut total = 0.0;
    for [character, next] in data.sequence.array_windows() {
        for ((signal, bit), weight) in signal.iter_mut().zip(character).zip(input_weights) {
            *signal = bit * weight;
        }
        for (layer, state) in parameters.main.chunks_exact(8 * bits).zip(state.chunks_exact_mut(2 * bits)) {
            let (hidden, cell) = state.split_at_mut(bits);
            step(layer, hidden, cell, &mut signal);
        }
        for ((signal, weight), bias) in signal.iter_mut().zip(output_weights).zip(output_biases) {
            *signal = *signal * weight + bias;
        }
        let normalisation = (2.0 + signal.iter().map(|y| y.exp()).sum::<f64>()).ln();
        total += next.iter().zip(&signal).map(|(bit, y)| bit * (y - normalisation)).sum::<f64>();
    }
    -total / (bits * (data.sequence.len() - 1)) as f64
}

/// One layer: changes its hidden state and cell, and passes the hidden state on as the signal.
fn step(layer: &[f64], hidden: &mut [f64], cell: &mut [f64], signal: &mut [f64]) {
    let bits = hidden.len();
    let [forget, ingate, outgate, change] = std::array::from_fn(|gate| {
        let (weights, biases) = (&layer[gate * bits..], &layer[(4 + gate) * bits..]);
        move |bit: usize, x: f64| x * weights[bit] + biases[bit]
    });
    for (bit, ((hidden, cell), signal)) in hidden.iter_mut().zip(cell).zip(signal).enumerate() {
        let kept = *cell * sigmoid(forget(bit, *signal));
        *cell = kept + sigmoid(ingate(bit, *hidden)) * change(bit, *hidden).tanh();
        *hidden = sigmoid(outgate(bit, *signal)) * cell.tanh();
        *signal = *hidden;
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn gradient(parameters: &Parameters, data: &Data) -> Parameters {
    let mut gradient = make_zero(parameters);
    d_objective(parameters, &mut gradient, data);
    gradient
}
