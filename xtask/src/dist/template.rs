//! Templates with `{{name}}` placeholders, and generated blocks inside files written by hand.

use std::collections::BTreeMap;

/// Lines around a generated block, in whatever comment syntax the file has.
const BLOCK_BEGIN: &str = "release:begin";
const BLOCK_END: &str = "release:end";

/// Values by placeholder.
#[derive(Clone, Debug, Default)]
pub(super) struct Values(BTreeMap<String, String>);

impl Values {
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Fills a template; an unknown placeholder is an error, so that a typo cannot ship.
    pub(super) fn render(&self, template: &str) -> Result<String, String> {
        let mut rendered = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after
                .split_once("}}")
                .ok_or_else(|| "a placeholder does not end".to_owned())?;
            let value = self.0.get(name.trim());
            let value = value.ok_or_else(|| format!("no value for the placeholder `{name}`"))?;
            rendered.push_str(before);
            rendered.push_str(value);
            rest = after;
        }
        rendered.push_str(rest);
        Ok(rendered)
    }
}

/// Replaces the lines between the marks of `text` by `block`.
pub(super) fn replace_block(text: &str, block: &str) -> Result<String, String> {
    let mut replaced = String::with_capacity(text.len());
    let mut is_inside = false;
    let mut blocks = 0;
    for line in text.split_inclusive('\n') {
        if line.contains(BLOCK_END) {
            is_inside = false;
        }
        if !is_inside {
            replaced.push_str(line);
        }
        if line.contains(BLOCK_BEGIN) {
            is_inside = true;
            blocks += 1;
            replaced.push_str(block);
        }
    }
    if blocks == 1 && !is_inside {
        Ok(replaced)
    } else {
        Err(format!(
            "needs one block between `{BLOCK_BEGIN}` and `{BLOCK_END}`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_without_value_is_an_error() {
        let mut values = Values::default();
        values.set("version", "1.2.3");
        assert_eq!(
            values.render("v{{version}}/x {}").as_deref(),
            Ok("v1.2.3/x {}")
        );
        assert!(values.render("{{versoin}}").is_err());
        assert!(values.render("{{version").is_err());
    }

    #[test]
    fn only_the_block_of_a_file_is_replaced() {
        let text = "a\n# release:begin\nold\n# release:end\nb\n";
        let replaced = replace_block(text, "new\n");
        assert_eq!(
            replaced.as_deref(),
            Ok("a\n# release:begin\nnew\n# release:end\nb\n")
        );
        assert!(replace_block("no block\n", "new\n").is_err());
        assert!(replace_block("# release:begin\n", "new\n").is_err());
    }
}
