//! librdkafka's settings: which there are, what they may be, and who may set them.
//!
//! Values are checked here because librdkafka's own reading is lax: it takes `16k` for 16, `1e6` for 1 and `010` for 8.
//! Names are kept as librdkafka's own, so that `linger.ms` and `queue.buffering.max.ms` can't be set side by side.

mod alternatives;
mod policy;
mod property;
mod together;
mod value;

use super::error::Error;
use super::suggest::nearest;
use policy::check_open;

pub(super) use alternatives::is_replaced;
pub(super) use policy::check_harmless;
#[cfg(test)]
pub(super) use policy::harmless;
pub use policy::is_secret;
pub(super) use property::names;
pub use property::{canonical, for_consumers, for_producers, is_of_the_connection, is_own};
pub(super) use together::{Settings, check_together};
pub(super) use value::Scalar;

/// The settings that a person may set, khost's own left out.
pub fn open_to_all() -> impl Iterator<Item = &'static str> {
    property::names().filter(|name| check_open(name).is_ok() && !is_own(name))
}

/// The setting of this name, if a person may set it.
fn open(name: &str) -> Result<&'static property::Property, Error> {
    check_open(name)?;
    property::find(name).ok_or_else(|| {
        let error = Error::refused("librdkafka has no such setting");
        match (crate::plan::java::hint(name), nearest(name, property::names())) {
            (Some(hint), _) => error.with_hint(hint),
            (None, Some(meant)) => error.with_hint(format!("did you mean `{meant}`?")),
            (None, None) => error.with_hint("its settings are listed in librdkafka's CONFIGURATION.md"),
        }
    })
}

/// What librdkafka is to be given for a value, by the rules of its setting.
///
/// # Errors
/// When there is no such setting, khost owns it, or the value is none of its values.
pub(super) fn check(name: &str, value: &Scalar) -> Result<String, Error> {
    value::check(open(name)?, value)
}
