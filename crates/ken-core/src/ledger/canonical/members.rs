//! Counts the members of a value's JSON objects without writing the JSON.
//!
//! The reader compares this count with the members on an event line to detect unknown fields.

use std::fmt;

use serde::Serialize;
use serde::ser::{self, Serializer};

/// Returns the number of members in all objects of `value`.
pub(crate) fn count(value: &impl Serialize) -> usize {
    let mut count = MemberCounter(0);
    value
        .serialize(&mut count)
        .expect("ledger values have string keys");
    count.0
}

/// A serializer that only counts members.
struct MemberCounter(usize);

/// A value's `Serialize` implementation failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct MemberCountError(String);

impl ser::Error for MemberCountError {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self(why.to_string())
    }
}

type MemberCountResult = Result<(), MemberCountError>;

/// Implements the serializer methods of scalars, which have no members.
macro_rules! no_members {
    ($($method:ident: $value:ty),* $(,)?) => {
        $(fn $method(self, _: $value) -> MemberCountResult { Ok(()) })*
    };
}

impl Serializer for &mut MemberCounter {
    type Ok = ();
    type Error = MemberCountError;
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

    // The default would format the value into a `String` only to ignore it.
    fn collect_str<T: ?Sized + fmt::Display>(self, _: &T) -> MemberCountResult {
        Ok(())
    }

    fn serialize_none(self) -> MemberCountResult {
        Ok(())
    }

    fn serialize_unit(self) -> MemberCountResult {
        Ok(())
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> MemberCountResult {
        value.serialize(self)
    }

    // Written as a plain string.
    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> MemberCountResult {
        Ok(())
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> MemberCountResult {
        value.serialize(self)
    }

    /// Counts one member: a newtype variant is an object with the variant name as its only key.
    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> MemberCountResult {
        self.0 += 1;
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, MemberCountError> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, MemberCountError> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, MemberCountError> {
        Ok(self)
    }

    // Externally tagged: the variant name is the key of an object around the array.
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, MemberCountError> {
        self.0 += 1;
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, MemberCountError> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, MemberCountError> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, MemberCountError> {
        self.0 += 1;
        Ok(self)
    }
}

/// Implements the sequence serializers. An element is not a member but may contain some.
macro_rules! elements {
    ($($kind:ident: $method:ident),* $(,)?) => {
        $(impl ser::$kind for &mut MemberCounter {
            type Ok = ();
            type Error = MemberCountError;

            fn $method<T: ?Sized + Serialize>(&mut self, value: &T) -> MemberCountResult {
                value.serialize(&mut **self)
            }

            fn end(self) -> MemberCountResult {
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

/// Implements the struct serializers. Every written field is a member and may contain more.
macro_rules! fields {
    ($($kind:ident),* $(,)?) => {
        $(impl ser::$kind for &mut MemberCounter {
            type Ok = ();
            type Error = MemberCountError;

            fn serialize_field<T: ?Sized + Serialize>(
                &mut self,
                _: &'static str,
                value: &T,
            ) -> MemberCountResult {
                self.0 += 1;
                value.serialize(&mut **self)
            }

            fn end(self) -> MemberCountResult {
                Ok(())
            }
        })*
    };
}

fields! { SerializeStruct, SerializeStructVariant }

impl ser::SerializeMap for &mut MemberCounter {
    type Ok = ();
    type Error = MemberCountError;

    // The member is counted here and not in `serialize_value`, so each key counts once.
    fn serialize_key<T: ?Sized + Serialize>(&mut self, _: &T) -> MemberCountResult {
        self.0 += 1;
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> MemberCountResult {
        value.serialize(&mut **self)
    }

    fn end(self) -> MemberCountResult {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::ledger::canonical;

    #[derive(Serialize)]
    enum SampleEnum {
        Unit,
        Newtype(Option<u8>),
        Tuple(u8, BTreeMap<String, u8>),
        Struct { a: SamplePair, b: () },
    }

    #[derive(Serialize)]
    struct SamplePair(Newtype, (Option<bool>, f64));

    #[derive(Serialize)]
    struct Newtype(SampleWithSkips);

    #[derive(Serialize)]
    struct SampleWithSkips {
        #[serde(skip_serializing_if = "Option::is_none")]
        left_out: Option<u8>,
        kept: char,
        #[serde(flatten)]
        spread: BTreeMap<String, &'static str>,
    }

    #[test]
    fn as_many_members_are_counted_as_stand_in_the_text() {
        let map = |n: usize| (0..n).map(|n| (n.to_string(), 1)).collect();
        let skipping = |left_out| SampleWithSkips {
            left_out,
            kept: 'x',
            spread: BTreeMap::from([("s".to_owned(), "t")]),
        };
        let pair = |left_out| SamplePair(Newtype(skipping(left_out)), (Some(true), 0.5));
        let values = [
            json!([]),
            json!({"a": {"b": [{"c": 1}, {"c": {}}]}, "d": null}),
            json!(SampleEnum::Unit),
            json!(SampleEnum::Newtype(None)),
            json!(SampleEnum::Tuple(1, map(3))),
        ];
        for value in &values {
            assert_counts_agree(value);
        }
        assert_counts_agree(&[
            SampleEnum::Unit,
            SampleEnum::Newtype(Some(1)),
            SampleEnum::Tuple(1, map(3)),
        ]);
        for left_out in [None, Some(1)] {
            let a = pair(left_out);
            assert_counts_agree(&SampleEnum::Struct { a, b: () });
        }
    }

    fn assert_counts_agree(value: &impl Serialize) {
        let text = canonical::to_string(value);
        let written = canonical::check(&text).map(|members| members.all);
        assert_eq!(Ok(count(value)), written, "{text}");
    }
}
