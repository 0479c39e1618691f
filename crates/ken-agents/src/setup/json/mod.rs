//! JSON with comments as text: positions of its members and edits that keep all other bytes.
//!
//! Parsing and reserializing would lose comments, order and formatting of a person's file.

mod splice;
mod value;

use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

pub(super) use splice::{append_item, fill_empty, remove_item, replace_value};
pub(super) use value::{JsonText, json_array, json_object, json_string};

/// A parsed text with the byte range of every value, comma and comment.
#[derive(Debug)]
pub(super) struct JsonDocument<'a> {
    pub(super) text: &'a str,
    /// `None` if the text has only whitespace and comments.
    pub(super) root: Option<JsonNode>,
    commas: Vec<usize>,
    comments: Vec<Range<usize>>,
}

/// A value and its position.
#[derive(Clone, Debug)]
pub(super) struct JsonNode {
    pub(super) range: Range<usize>,
    pub(super) value: serde_json::Value,
    pub(super) items: Vec<JsonItem>,
}

/// A member of an object or an element of an array.
#[derive(Clone, Debug)]
pub(super) struct JsonItem {
    /// The key of an object member; `None` in an array.
    pub(super) key: Option<String>,
    /// From the key, or else the value, to the end of the value.
    pub(super) range: Range<usize>,
    pub(super) node: JsonNode,
}

/// The result of looking up a path in a document.
#[derive(Debug)]
pub(super) enum JsonLookup<'a> {
    Nothing,
    Node(&'a JsonNode),
    /// A key on the path occurs twice.
    Twice(String),
}

impl<'a> JsonDocument<'a> {
    /// Parses a text.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
        // Beyond standard JSON, only comments and trailing commas are accepted.
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        // Tokens are collected for the positions of commas, which the AST does not contain.
        let parsed = parse_to_ast(text, &collect, &options).map_err(|error| error.to_string())?;
        let mut commas = Vec::new();
        let mut comments = Vec::new();
        for token in parsed.tokens.iter().flatten() {
            let range = token.start()..token.end();
            match &token.token {
                Token::Comma => commas.push(range.start),
                Token::CommentLine(_) | Token::CommentBlock(_) => comments.push(range),
                Token::OpenBrace
                | Token::CloseBrace
                | Token::OpenBracket
                | Token::CloseBracket
                | Token::Colon
                | Token::String(_)
                | Token::Word(_)
                | Token::Boolean(_)
                | Token::Number(_)
                | Token::Null => {}
            }
        }
        let root = parsed.value.as_ref().map(build_node).transpose()?;
        Ok(Self {
            text,
            root,
            commas,
            comments,
        })
    }

    /// Returns the value at a path of keys.
    pub(super) fn at(&self, path: &[&str]) -> JsonLookup<'_> {
        let Some(root) = &self.root else {
            return JsonLookup::Nothing;
        };
        let mut node = root;
        for name in path {
            // Every member has to be looked at, because a later duplicate makes the path ambiguous.
            let mut named = node
                .items
                .iter()
                .filter(|it| it.key.as_deref() == Some(*name));
            match (named.next(), named.next()) {
                // JSON parsers disagree on duplicate keys, so neither value is taken.
                (None, _) => return JsonLookup::Nothing,
                (Some(item), None) => node = &item.node,
                (Some(_), Some(_)) => return JsonLookup::Twice((*name).to_owned()),
            }
        }
        JsonLookup::Node(node)
    }

    /// Returns true if a range contains a comment.
    pub(super) fn has_comment(&self, range: &Range<usize>) -> bool {
        let mut comments = self.comments.iter();
        comments.any(|it| range.start <= it.start && it.end <= range.end)
    }

    /// Returns the position of the comma in a range.
    fn comma(&self, range: Range<usize>) -> Option<usize> {
        self.commas.iter().copied().find(|at| range.contains(at))
    }

    /// Returns the end of the last comment in `start..end`.
    fn last_comment_end(&self, start: usize, end: usize) -> Option<usize> {
        let inside = self
            .comments
            .iter()
            .filter(|it| start <= it.start && it.end <= end);
        inside.map(|it| it.end).max()
    }
}

impl JsonNode {
    pub(super) fn is_object(&self) -> bool {
        self.value.is_object()
    }

    pub(super) fn is_array(&self) -> bool {
        self.value.is_array()
    }

    /// Returns the range between the brackets.
    pub(super) fn inside(&self) -> Range<usize> {
        self.range.start + 1..self.range.end - 1
    }
}

fn build_node(value: &ast::Value<'_>) -> Result<JsonNode, String> {
    use serde_json::Value;
    let range = value.start()..value.end();
    let (plain, items) = match value {
        ast::Value::StringLit(it) => (Value::String(it.value.to_string()), Vec::new()),
        ast::Value::NumberLit(it) => {
            // Parsed by `serde_json`, so that numbers compare equal to those of values to write.
            let number = serde_json::from_str(it.value);
            (number.map_err(|error| error.to_string())?, Vec::new())
        }
        ast::Value::BooleanLit(it) => (Value::Bool(it.value), Vec::new()),
        ast::Value::NullKeyword(_) => (Value::Null, Vec::new()),
        ast::Value::Object(it) => {
            let members = it.properties.iter().map(build_member);
            let items = members.collect::<Result<Vec<_>, _>>()?;
            let pairs = items.iter().filter_map(|item| {
                let key = item.key.clone()?;
                Some((key, item.node.value.clone()))
            });
            (Value::Object(pairs.collect()), items)
        }
        ast::Value::Array(it) => {
            let elements = it.elements.iter().map(|element| {
                let node = build_node(element)?;
                let range = node.range.clone();
                Ok::<_, String>(JsonItem {
                    key: None,
                    range,
                    node,
                })
            });
            let items = elements.collect::<Result<Vec<_>, _>>()?;
            let values = items.iter().map(|item| item.node.value.clone());
            (Value::Array(values.collect()), items)
        }
    };
    Ok(JsonNode {
        range,
        value: plain,
        items,
    })
}

fn build_member(property: &ast::ObjectProp<'_>) -> Result<JsonItem, String> {
    let node = build_node(&property.value)?;
    Ok(JsonItem {
        key: Some(property.name.as_str().to_owned()),
        range: property.start()..node.range.end,
        node,
    })
}
