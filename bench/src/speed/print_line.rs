//! Prints a line: the least a program can do, as the other side of `ken show`'s measure.

#[expect(clippy::print_stdout, reason = "printing is all it does")]
fn main() {
    println!("a line");
}
