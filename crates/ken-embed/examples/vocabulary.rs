//! Packs a WordPiece vocabulary for `ken-embed`: `vocabulary VOCAB.TXT OUT.FST`.
//!
//! The id of a token is its line number from 0. Equal input gives equal bytes.

use std::error::Error;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("usage: vocabulary VOCAB.TXT OUT.FST".into());
    };
    let text = fs::read_to_string(from)?;
    let mut tokens: Vec<(&str, u64)> = text.lines().zip(0..).collect();
    tokens.sort_unstable();
    fs::write(to, fst::Map::from_iter(tokens)?.as_fst().as_bytes())?;
    Ok(())
}
