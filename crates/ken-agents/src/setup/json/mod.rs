//! JSON with comments as text: where its members lie, and edits that touch no other byte.

mod splice;
mod value;

use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

pub(super) use splice::{add, cut, fill, set};
pub(super) use value::{Json, list, object, text};

/// A text with the places of everything in it.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    /// `None` where there is nothing but blanks and comments.
    pub(super) root: Option<Node>,
    commas: Vec<usize>,
    comments: Vec<Range<usize>>,
}

/// A value and where it lies.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) range: Range<usize>,
    pub(super) value: serde_json::Value,
    pub(super) items: Vec<Item>,
}

/// A member of an object or an element of an array.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The name of a member.
    pub(super) key: Option<String>,
    /// From the name, or else the value, to the end of the value.
    pub(super) range: Range<usize>,
    pub(super) node: Node,
}

/// What is at a place in a document.
#[derive(Debug)]
pub(super) enum At<'a> {
    Nothing,
    Node(&'a Node),
    /// A name on the way stands twice.
    Twice(String),
}

impl<'a> Document<'a> {
    /// Takes a text apart; says why it cannot be.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
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
        let root = parsed.value.as_ref().map(node).transpose()?;
        Ok(Self {
            text,
            root,
            commas,
            comments,
        })
    }

    /// Returns what lies at a path of names.
    pub(super) fn at(&self, path: &[&str]) -> At<'_> {
        let Some(root) = &self.root else {
            return At::Nothing;
        };
        let mut node = root;
        for name in path {
            let mut named = node
                .items
                .iter()
                .filter(|it| it.key.as_deref() == Some(*name));
            match (named.next(), named.next()) {
                (None, _) => return At::Nothing,
                (Some(item), None) => node = &item.node,
                (Some(_), Some(_)) => return At::Twice((*name).to_owned()),
            }
        }
        At::Node(node)
    }

    /// Returns whether there is a comment in a range.
    pub(super) fn has_comment(&self, range: &Range<usize>) -> bool {
        let mut comments = self.comments.iter();
        comments.any(|it| range.start <= it.start && it.end <= range.end)
    }

    /// Returns the comma between two positions.
    fn comma(&self, range: Range<usize>) -> Option<usize> {
        self.commas.iter().copied().find(|at| range.contains(at))
    }

    /// Returns where the last comment before `end` ends, if it begins at or after `start`.
    fn last_comment(&self, start: usize, end: usize) -> Option<usize> {
        let inside = self
            .comments
            .iter()
            .filter(|it| start <= it.start && it.end <= end);
        inside.map(|it| it.end).max()
    }
}

impl Node {
    pub(super) fn is_object(&self) -> bool {
        self.value.is_object()
    }

    pub(super) fn is_array(&self) -> bool {
        self.value.is_array()
    }

    /// Returns what is between the brackets.
    pub(super) fn inside(&self) -> Range<usize> {
        self.range.start + 1..self.range.end - 1
    }
}

fn node(value: &ast::Value<'_>) -> Result<Node, String> {
    use serde_json::Value;
    let range = value.start()..value.end();
    let (value, items) = match value {
        ast::Value::StringLit(it) => (Value::String(it.value.to_string()), Vec::new()),
        ast::Value::NumberLit(it) => {
            let number = serde_json::from_str(it.value);
            (number.map_err(|error| error.to_string())?, Vec::new())
        }
        ast::Value::BooleanLit(it) => (Value::Bool(it.value), Vec::new()),
        ast::Value::NullKeyword(_) => (Value::Null, Vec::new()),
        ast::Value::Object(it) => {
            let members = it.properties.iter().map(member);
            let items = members.collect::<Result<Vec<_>, _>>()?;
            let pairs = items.iter().filter_map(|item| {
                let key = item.key.clone()?;
                Some((key, item.node.value.clone()))
            });
            (Value::Object(pairs.collect()), items)
        }
        ast::Value::Array(it) => {
            let elements = it.elements.iter().map(|element| {
                let node = node(element)?;
                let range = node.range.clone();
                Ok::<_, String>(Item {
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
    Ok(Node {
        range,
        value,
        items,
    })
}

fn member(property: &ast::ObjectProp<'_>) -> Result<Item, String> {
    let node = node(&property.value)?;
    Ok(Item {
        key: Some(property.name.as_str().to_owned()),
        range: property.start()..node.range.end,
        node,
    })
}
