//! Serde over a tree: types from values, and errors that know the path and the place.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::error::Error;
use super::tree::{Entry, Kind, Node};

/// Reads a `T` from a tree.
pub(super) fn decode<'de, T: Deserialize<'de>>(node: &'de Node) -> Result<T, Error> {
    T::deserialize(node)
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.kind {
            Kind::Text(text) => visitor.visit_borrowed_str(text),
            Kind::Integer(number) => visitor.visit_i64(*number),
            Kind::Float(number) => visitor.visit_f64(*number),
            Kind::Boolean(value) => visitor.visit_bool(*value),
            Kind::List(items) => visitor.visit_seq(Items(items.iter())),
            Kind::Table(table) => visitor.visit_map(Entries { rest: table.0.iter(), current: None }),
        }
        .map_err(|error: Error| error.at(&self.origin))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.kind {
            Kind::Text(text) => {
                visitor.visit_enum(BorrowedStrDeserializer::<Error>::new(text)).map_err(|error| error.at(&self.origin))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}

struct Items<'de>(std::slice::Iter<'de, Node>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|node| seed.deserialize(node).map_err(|error| error.at(&node.origin))).transpose()
    }
}

struct Entries<'de> {
    rest: std::slice::Iter<'de, Entry>,
    current: Option<&'de Entry>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.current = self.rest.next();
        self.current
            .map(|entry| {
                seed.deserialize(BorrowedStrDeserializer::new(&entry.key))
                    .map_err(|error: Error| error.at(&entry.origin))
            })
            .transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let entry = self.current.expect("serde asks for a key first");
        seed.deserialize(&entry.node).map_err(|error| error.at(&entry.node.origin).under(&entry.key))
    }
}
