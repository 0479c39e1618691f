//! Counts the members a value's objects have when it is written as JSON, without writing it.

use std::fmt;

use serde::Serialize;
use serde::ser::{self, Serializer};

/// Returns how many members all objects of `value` have together.
pub(crate) fn count(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    value
        .serialize(&mut count)
        .expect("ledger values have string keys");
    count.0
}

/// Members seen so far.
struct Count(usize);

/// A value said that it cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unwritable(String);

impl ser::Error for Unwritable {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self(why.to_string())
    }
}

type Counted = Result<(), Unwritable>;

/// Text and numbers have no members.
macro_rules! no_members {
    ($($method:ident: $value:ty),* $(,)?) => {
        $(fn $method(self, _: $value) -> Counted { Ok(()) })*
    };
}

impl Serializer for &mut Count {
    type Ok = ();
    type Error = Unwritable;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    no_members! {
        serialize_bool: bool,
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_f32: f32, serialize_f64: f64,
        serialize_char: char, serialize_str: &str, serialize_bytes: &[u8],
        serialize_unit_struct: &'static str,
    }

    fn collect_str<T: ?Sized + fmt::Display>(self, _: &T) -> Counted {
        Ok(())
    }

    fn serialize_none(self) -> Counted {
        Ok(())
    }

    fn serialize_unit(self) -> Counted {
        Ok(())
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Counted {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Counted {
        Ok(())
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Counted {
        value.serialize(self)
    }

    /// A variant with something in it is an object with one member.
    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Counted {
        self.0 += 1;
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Unwritable> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Unwritable> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Unwritable> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Unwritable> {
        self.0 += 1;
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Unwritable> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Unwritable> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Unwritable> {
        self.0 += 1;
        Ok(self)
    }
}

/// What stands in an array is looked into; it is no member.
macro_rules! elements {
    ($($kind:ident: $method:ident),* $(,)?) => {
        $(impl ser::$kind for &mut Count {
            type Ok = ();
            type Error = Unwritable;

            fn $method<T: ?Sized + Serialize>(&mut self, value: &T) -> Counted {
                value.serialize(&mut **self)
            }

            fn end(self) -> Counted {
                Ok(())
            }
        })*
    };
}

elements! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

/// A field that is written is a member, and may hold more.
macro_rules! fields {
    ($($kind:ident),* $(,)?) => {
        $(impl ser::$kind for &mut Count {
            type Ok = ();
            type Error = Unwritable;

            fn serialize_field<T: ?Sized + Serialize>(
                &mut self,
                _: &'static str,
                value: &T,
            ) -> Counted {
                self.0 += 1;
                value.serialize(&mut **self)
            }

            fn end(self) -> Counted {
                Ok(())
            }
        })*
    };
}

fields! { SerializeStruct, SerializeStructVariant }

impl ser::SerializeMap for &mut Count {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, _: &T) -> Counted {
        self.0 += 1;
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Counted {
        value.serialize(&mut **self)
    }

    fn end(self) -> Counted {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::canonical;

    #[derive(Serialize)]
    enum Any {
        Unit,
        Newtype(Option<u8>),
        Tuple(u8, BTreeMap<String, u8>),
        Struct { a: Pair, b: () },
    }

    #[derive(Serialize)]
    struct Pair(Newtype, (Option<bool>, f64));

    #[derive(Serialize)]
    struct Newtype(Skipping);

    #[derive(Serialize)]
    struct Skipping {
        #[serde(skip_serializing_if = "Option::is_none")]
        left_out: Option<u8>,
        kept: char,
        #[serde(flatten)]
        spread: BTreeMap<String, &'static str>,
    }

    #[test]
    fn as_many_members_are_counted_as_stand_in_the_text() {
        let map = |n: usize| (0..n).map(|n| (n.to_string(), 1)).collect();
        let skipping = |left_out| Skipping {
            left_out,
            kept: 'x',
            spread: BTreeMap::from([("s".to_owned(), "t")]),
        };
        let pair = |left_out| Pair(Newtype(skipping(left_out)), (Some(true), 0.5));
        let values = [
            json!([]),
            json!({"a": {"b": [{"c": 1}, {"c": {}}]}, "d": null}),
            json!(Any::Unit),
            json!(Any::Newtype(None)),
            json!(Any::Tuple(1, map(3))),
        ];
        for value in &values {
            agrees(value);
        }
        agrees(&[Any::Unit, Any::Newtype(Some(1)), Any::Tuple(1, map(3))]);
        for left_out in [None, Some(1)] {
            let a = pair(left_out);
            agrees(&Any::Struct { a, b: () });
        }
    }

    fn agrees(value: &impl Serialize) {
        let text = canonical::to_string(value);
        let written = canonical::check(&text).map(|members| members.all);
        assert_eq!(Ok(count(value)), written, "{text}");
    }
}
