//! A Java client's `client.properties`: what it holds, and what that is for librdkafka and for khost.
//!
//! Pure: stores and tokens that a file names are opened elsewhere. No note and no error shows the value of a secret, nor
//! a name that may be a part of one, such as a line of a key whose backslash is missing.

mod defaults;
mod file;
mod jaas;
mod names;
mod pem;
mod properties;
mod sasl;
mod stores;
mod tokens;
mod translate;
mod values;

pub(in crate::plan) use defaults::other_defaults;
pub(in crate::plan) use names::hint;
pub use names::rows;
pub use properties::{Line, Malformed, parse};
pub(in crate::plan) use translate::{Given, translate};
