//! Which evals are wanted, and where what is measured goes: to the screen line by line, and to files.

use crate::Outcome;
use std::fs;
use std::path::PathBuf;

pub struct Results {
    evals: Vec<String>,
    /// The directory of a GradBench installation.
    pub peers: Option<PathBuf>,
    pub directory: PathBuf,
    lines: Vec<String>,
}

impl Results {
    /// What `[--peers DIR] [--out DIR] [EVAL…]` ask for.
    pub fn new(options: &[&str]) -> Outcome<Self> {
        let (mut evals, mut peers, mut directory) = (Vec::new(), None, std::env::temp_dir());
        let mut options = options.iter();
        while let Some(option) = options.next() {
            match *option {
                "--peers" => peers = Some(PathBuf::from(options.next().ok_or("--peers needs a directory")?)),
                "--out" => directory = PathBuf::from(options.next().ok_or("--out needs a directory")?),
                eval => evals.push(eval.to_owned()),
            }
        }
        fs::create_dir_all(&directory).map_err(|error| format!("`{}`: {error}", directory.display()))?;
        Ok(Results { evals, peers, directory, lines: Vec::new() })
    }

    /// Whether an eval is to be run: all are, if none is named.
    pub fn is_wanted(&self, eval: &str) -> bool {
        self.evals.is_empty() || self.evals.iter().any(|wanted| wanted == eval)
    }

    /// A line of the table.
    pub fn line(&mut self, line: String) {
        println!("{line}");
        self.lines.push(line);
    }

    /// Write the table and a chart to files, and say where they are.
    pub fn save(&self, table: &str, chart: &str, svg: &str) -> Outcome<()> {
        for (name, text) in [(table, self.lines.join("\n").as_str()), (chart, svg)] {
            let path = self.directory.join(name);
            fs::write(&path, text.trim_end().to_owned() + "\n")
                .map_err(|error| format!("`{}`: {error}", path.display()))?;
            println!("{}", path.display());
        }
        Ok(())
    }
}
