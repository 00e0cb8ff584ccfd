//! Charts, as SVG.

use crate::time::{Row, Time};
use std::fmt::Write as _;

const BAR: f64 = 14.0;
const GAP: f64 = 14.0;
const LEFT: f64 = 170.0;
/// The width of a factor of ten.
const DECADE: f64 = 220.0;
const COLOURS: [&str; 6] = ["#c0392b", "#34495e", "#7f8c8d", "#2980b9", "#27ae60", "#8e44ad"];

/// How long derivatives take: for each workload a bar for each tool, in powers of ten of the time of ours. A bar that
/// ends at the line in the middle takes as long as ours, one to the left of it less.
pub fn bars(rows: &[Row]) -> String {
    let mut tools: Vec<&str> = Vec::new();
    for time in rows.iter().flat_map(|row| &row.times) {
        if !tools.contains(&time.tool.as_str()) {
            tools.push(&time.tool);
        }
    }
    let colour = |tool: &str| COLOURS[tools.iter().position(|t| *t == tool).unwrap_or(0) % COLOURS.len()];
    let relative = |row: &Row, time: &Time| (time.derivative / row.times[0].derivative).log10();
    let all = || rows.iter().flat_map(|row| row.times.iter().map(|time| relative(row, time)));
    let (least, most) = (all().fold(0.0, f64::min).floor() - 0.5, all().fold(0.5, f64::max).ceil());
    let place = |log: f64| LEFT + (log - least) * DECADE;
    let bars: usize = rows.iter().map(|row| row.times.len()).sum();
    let top = 40.0;
    let height = top + bars as f64 * BAR + rows.len() as f64 * GAP + 30.0;
    let width = place(most) + 90.0;

    let mut svg = start(width, height);
    for (i, tool) in tools.iter().enumerate() {
        let x = LEFT + 110.0 * i as f64;
        let fill = colour(tool);
        let _ = writeln!(svg, "<rect x=\"{x}\" y=\"10\" width=\"10\" height=\"10\" fill=\"{fill}\"/>");
        let _ = writeln!(svg, "<text x=\"{}\" y=\"19\">{tool}</text>", x + 15.0);
    }
    for decade in least.ceil() as i32..=most as i32 {
        let (x, stroke) = (place(f64::from(decade)), if decade == 0 { "#333" } else { "#ccc" });
        let bottom = height - 25.0;
        let _ = writeln!(svg, "<line x1=\"{x}\" x2=\"{x}\" y1=\"{top}\" y2=\"{bottom}\" stroke=\"{stroke}\"/>");
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}×</text>",
            height - 10.0,
            10f64.powi(decade)
        );
    }
    let mut y = top + GAP / 2.0;
    for row in rows {
        let middle = y + row.times.len() as f64 * BAR / 2.0 + 4.0;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{} {}</text>",
            LEFT - 8.0,
            row.eval,
            row.size
        );
        for time in &row.times {
            let (end, fill) = (place(relative(row, time)), colour(&time.tool));
            let length = end - LEFT;
            let thick = BAR - 2.0;
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{length:.1}\" height=\"{thick}\" fill=\"{fill}\"/>"
            );
            let (x, baseline, ms) = (end + 4.0, y + BAR - 4.0, time.derivative);
            let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{baseline}\" fill=\"#555\">{ms:.2} ms</text>");
            y += BAR;
        }
        y += GAP;
    }
    svg + "</svg>\n"
}

/// Something that grows: pairs of work and amount.
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// How amounts for each unit of work change while the work grows, relative to its smallest size, by powers of ten; a
/// panel for each kind of amount. What is linear is level, what falls has a part that does not grow.
pub fn lines(panels: &[(&str, Vec<Line>)]) -> String {
    const PANEL: f64 = 640.0;
    const TOP: f64 = 30.0;
    const HALF: f64 = 220.0;
    /// The width of a factor of ten of work, and the height of one of amount.
    const SCALE: [f64; 2] = [110.0, 160.0];
    let height = TOP + 2.0 * HALF + 30.0;
    let mut svg = start(PANEL * panels.len() as f64, height);
    for (panel, (title, lines)) in panels.iter().enumerate() {
        let left = PANEL * panel as f64 + 50.0;
        let place = |work: f64, amount: f64| {
            let level = (amount * SCALE[1]).clamp(-HALF, HALF);
            (left + work * SCALE[0], TOP + HALF - level)
        };
        let _ = writeln!(svg, "<text x=\"{left}\" y=\"16\" font-size=\"13\">{title} for each unit of work</text>");
        for decade in -1..=1 {
            let ((x, y), stroke) = (place(0.0, f64::from(decade)), if decade == 0 { "#333" } else { "#ccc" });
            let right = x + 4.0 * SCALE[0];
            let _ = writeln!(svg, "<line x1=\"{x}\" x2=\"{right}\" y1=\"{y}\" y2=\"{y}\" stroke=\"{stroke}\"/>");
            let label = 10f64.powi(decade);
            let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{label}×</text>", x - 6.0, y + 4.0);
        }
        for decade in 0..=4 {
            let (x, y) = (place(f64::from(decade), 0.0).0, TOP + 2.0 * HALF + 16.0);
            let label = 10f64.powi(decade);
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{label}× work</text>");
        }
        for (i, Line { name, points }) in lines.iter().enumerate() {
            let Some((work, amount)) = points.first().filter(|(_, amount)| *amount > 0.0) else { continue };
            let each = |(w, a): &(f64, f64)| place((w / work).log10(), ((a / w) / (amount / work)).log10());
            let places: Vec<(f64, f64)> = points.iter().map(each).collect();
            let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let (path, colour) = (path.join(" "), COLOURS[i % COLOURS.len()]);
            let _ =
                writeln!(svg, "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>");
            if let Some((x, y)) = places.last() {
                let _ =
                    writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{name}</text>", x + 4.0, y + 4.0);
            }
        }
    }
    svg + "</svg>\n"
}

fn start(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    )
}
