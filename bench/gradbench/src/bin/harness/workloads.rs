//! What is timed: an input for each eval, of numbers that look random, always the same.

use serde_json::{Value, json};

/// An eval at one size: the names of its primal, if it has one, and of its derivative, and their input.
pub struct Workload {
    pub eval: &'static str,
    pub size: &'static str,
    pub primal: Option<&'static str>,
    pub derivative: &'static str,
    pub input: Value,
}

/// All of them, at the sizes of GradBench that take milliseconds.
pub fn all() -> Vec<Workload> {
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    let mut workloads = Vec::new();
    let mut add = |eval, size, [primal, derivative]: [&'static str; 2], input| {
        let primal = Some(primal).filter(|name| !name.is_empty());
        workloads.push(Workload { eval, size, primal, derivative, input });
    };
    let objective = ["objective", "jacobian"];
    let primal = ["primal", "gradient"];
    add("gmm", "32, 50, 1000", objective, gmm(&mut noise, 32, 50, 1000));
    add("gmm", "64, 100, 1000", objective, gmm(&mut noise, 64, 100, 1000));
    add("ba", "10", objective, ba(1197, 126_327, 563_734));
    add("lstm", "6, 8192", objective, lstm(&mut noise, 6, 8192));
    add("ht", "7 big", objective, ht(&mut noise, 10_000, 3200));
    add("det", "10", primal, json!({ "A": noise.list(100), "ell": 10 }));
    add("ode", "100000, 10", primal, json!({ "x": noise.list(100_000), "s": 10 }));
    add("llsq", "16392, 128", primal, json!({ "x": noise.list(128), "n": 16_392 }));
    add("lse", "640000", primal, json!({ "x": noise.list(640_000) }));
    let points = noise.rows(10_000, 16);
    add("kmeans", "100, 10000, 16", ["cost", "dir"], json!({ "centroids": points[9900..], "points": points }));
    for modes in ["rr", "ff", "fr", "rf"] {
        add("particle", modes, ["", modes], json!({ "w": 0.0 }));
    }
    for modes in ["rr", "ff", "fr", "rf"] {
        add("saddle", modes, ["", modes], json!({ "start": [1.0, 1.0] }));
    }
    workloads
}

/// Numbers between 0 and 1.
struct Noise(u64);

impl Noise {
    fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.number() * n as f64) as usize
    }

    fn list(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.number()).collect()
    }

    fn rows(&mut self, n: usize, width: usize) -> Vec<Vec<f64>> {
        (0..n).map(|_| self.list(width)).collect()
    }
}

fn gmm(noise: &mut Noise, d: usize, k: usize, n: usize) -> Value {
    json!({
        "d": d, "k": k, "n": n, "m": 0, "gamma": 1.0,
        "x": noise.rows(n, d), "alpha": noise.list(k), "mu": noise.rows(k, d),
        "q": noise.rows(k, d), "l": noise.rows(k, d * (d - 1) / 2),
    })
}

fn ba(n: usize, m: usize, p: usize) -> Value {
    json!({
        "n": n, "m": m, "p": p, "w": 0.4, "x": [0.5, 1.5, 6.0], "feat": [270.0, 300.0],
        "cam": [0.3, -0.2, 0.5, 1.0, -1.0, 0.5, 900.0, 320.0, 240.0, -0.1, 0.02],
    })
}

fn lstm(noise: &mut Noise, layers: usize, characters: usize) -> Value {
    let bits = 14;
    let character = |noise: &mut Noise| (0..bits).map(|_| noise.number().round()).collect::<Vec<f64>>();
    json!({
        "main_params": noise.rows(2 * layers, 4 * bits), "extra_params": noise.rows(3, bits),
        "state": noise.rows(2 * layers, bits),
        "sequence": (0..characters).map(|_| character(noise)).collect::<Vec<_>>(),
    })
}

/// A hand with four bones that move each vertex, as models have.
fn ht(noise: &mut Noise, vertices: usize, points: usize) -> Value {
    let bones = 22;
    let triangles = 2 * vertices;
    let transform = |noise: &mut Noise| {
        let mut rows = noise.rows(3, 4);
        rows.push(vec![0.0, 0.0, 0.0, 1.0]);
        rows
    };
    let transforms = |noise: &mut Noise| (0..bones).map(|_| transform(noise)).collect::<Vec<_>>();
    let position = |noise: &mut Noise| [noise.number(), noise.number(), noise.number(), 1.0];
    let weights = |noise: &mut Noise| {
        let mut weights = vec![0.0; bones];
        (0..4).for_each(|_| weights[noise.below(bones)] += 0.25);
        weights
    };
    let triangle = |noise: &mut Noise| [0; 3].map(|_| noise.below(vertices));
    json!({
        "theta": noise.list(26),
        "us": noise.rows(points, 2),
        "data": {
            "correspondences": (0..points).map(|_| noise.below(triangles)).collect::<Vec<_>>(),
            "points": noise.rows(points, 3),
            "model": {
                "bone_count": bones,
                "bone_names": (0..bones).map(|bone| format!("bone{bone}")).collect::<Vec<_>>(),
                // The forearm, the wrist, and five fingers of four bones that hang on it.
                "parents": (0..bones).map(|bone| match bone {
                    0 => -1,
                    bone if bone % 4 == 1 => 0,
                    bone => bone as i64 - 1,
                }).collect::<Vec<_>>(),
                "base_relatives": transforms(noise),
                "inverse_base_absolutes": transforms(noise),
                "base_positions": (0..vertices).map(|_| position(noise)).collect::<Vec<_>>(),
                "weights": (0..vertices).map(|_| weights(noise)).collect::<Vec<_>>(),
                "triangles": (0..triangles).map(|_| triangle(noise)).collect::<Vec<_>>(),
                "is_mirrored": false,
            },
        },
    })
}
