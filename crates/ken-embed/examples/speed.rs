//! Times a folder's model: `speed FOLDER`. Best of many runs, tokens counted with both marks.

#![expect(clippy::print_stdout, reason = "a table is its answer")]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use ken_embed::{Embedder as _, Transformer};

/// Runs each figure is the best of, and texts and tokens of a text in each figure.
const RUNS: usize = 20;
const SHAPES: &[(usize, usize)] = &[(1, 8), (1, 16), (1, 32), (1, 64), (1, 256), (32, 64)];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: speed FOLDER")?;
    let started = Instant::now();
    let model = Transformer::open(Path::new(&folder))?;
    println!("opened in {:?}", started.elapsed());
    for (texts, tokens) in SHAPES {
        let text = "word ".repeat(tokens - 2);
        let batch = vec![&*text; *texts];
        let mut best = f64::MAX;
        for _ in 0..RUNS.div_ceil(*texts) {
            let started = Instant::now();
            model.embed(&batch)?;
            best = best.min(started.elapsed().as_secs_f64());
        }
        println!("{texts} x {tokens} tokens: {:.1} ms", 1e3 * best);
    }
    Ok(())
}
