//! Times a folder's model: `speed FOLDER`. Best of many runs, tokens counted with both marks.

#![expect(clippy::print_stdout, reason = "a table is its answer")]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use ken_embed::{Embedder as _, TransformerEmbedder};

/// Runs each figure is the best of, and texts and tokens of a text in each figure.
const RUNS: usize = 20;
const SHAPES: &[(usize, usize)] = &[(1, 8), (1, 16), (1, 32), (1, 64), (1, 256), (32, 64)];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: speed FOLDER")?;
    let folder = Path::new(&folder);
    let model = TransformerEmbedder::open(folder)?;
    let known = model.known();
    let opened = best(RUNS, || TransformerEmbedder::open(folder).map(drop))?;
    println!("opened, with the digest: {opened:.1} ms");
    let opened = best(RUNS, || {
        TransformerEmbedder::open_with_digest(folder, known).map(drop)
    })?;
    println!("opened, the digest known: {opened:.1} ms");
    for (texts, tokens) in SHAPES {
        let text = "word ".repeat(tokens - 2);
        let batch = vec![&*text; *texts];
        let took = best(RUNS.div_ceil(*texts), || model.embed(&batch).map(drop))?;
        println!("{texts} x {tokens} tokens: {took:.1} ms");
    }
    Ok(())
}

/// Returns milliseconds of the quickest run.
fn best<E>(runs: usize, mut act: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let mut best = f64::MAX;
    for _ in 0..runs {
        let started = Instant::now();
        act()?;
        best = best.min(1e3 * started.elapsed().as_secs_f64());
    }
    Ok(best)
}
