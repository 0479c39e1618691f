//! Serde and JSON Schema for types with a text form.
//!
//! A type names its pattern once. Deserialization uses its `FromStr`, so values from the command
//! line and from a ledger pass the same validation.

macro_rules! text_form {
    ($type:ty, $name:literal, $pattern:literal) => {
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                // A visitor parses the borrowed text; `String::deserialize` would allocate.
                struct TextVisitor;
                impl ::serde::de::Visitor<'_> for TextVisitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str($name)
                    }
                    fn visit_str<E: ::serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(TextVisitor)
            }
        }

        impl ::schemars::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}

pub(crate) use text_form;
