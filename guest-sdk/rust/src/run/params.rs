//! The manifest's parameters, by type.

use std::time::Duration;

use crate::{Error, Result, host};

/// A type that a parameter can have.
pub trait Param: Sized {
    /// What its text must be, for the error: `a whole number from 0 to 255`.
    fn expected() -> String;

    /// The value that this text means, as the contract writes values; `None` when it means none.
    fn parse(text: &str) -> Option<Self>;
}

/// A parameter's value: `let size: u32 = run::param("size")?;`.
///
/// Types are text (`String`), `bool`, integers, `f64` (finite) and [`Duration`], which is for parameters that the
/// manifest writes as one, such as `"250ms"`.
///
/// Errors: [`Error::Text`] when the manifest has no such parameter, and when its value is of another type.
pub fn param<T: Param>(name: &str) -> Result<T, Error> {
    parse(name, &text(name)?)
}

/// The items of a list parameter.
///
/// Errors: as for [`param`], also when it is not a list.
pub fn param_list<T: Param>(name: &str) -> Result<Vec<T>, Error> {
    let Some(items) = host::param_list(name) else {
        let text = text(name)?;
        return Err(Error::text(format!("parameter `{name}` is `{text}`, not a list")));
    };
    items.iter().map(|item| parse(name, item)).collect()
}

/// A parameter that is one of a few words: `run::choice("key", &[("none", Key::None), ("random", Key::Random)])?`.
///
/// Errors: [`Error::Text`] when the manifest has no such parameter, and when its value is no word of the list.
pub fn choice<T: Clone>(name: &str, of: &[(&str, T)]) -> Result<T, Error> {
    let text = text(name)?;
    let chosen = of.iter().find(|(word, _)| *word == text);
    chosen.map(|(_, value)| value.clone()).ok_or_else(|| {
        let words: Vec<&str> = of.iter().map(|(word, _)| *word).collect();
        Error::text(format!("parameter `{name}` is `{text}`; it must be one of {}", words.join(", ")))
    })
}

fn text(name: &str) -> Result<String, Error> {
    host::param(name).ok_or_else(|| match host::param_list(name) {
        Some(_) => Error::text(format!("parameter `{name}` is a list")),
        None => Error::text(format!("the manifest has no parameter `{name}`")),
    })
}

fn parse<T: Param>(name: &str, text: &str) -> Result<T, Error> {
    T::parse(text).ok_or_else(|| Error::text(format!("parameter `{name}` is `{text}`; it must be {}", T::expected())))
}

impl Param for String {
    fn expected() -> String {
        "text".into()
    }
    fn parse(text: &str) -> Option<Self> {
        Some(text.into())
    }
}

impl Param for bool {
    fn expected() -> String {
        "true or false".into()
    }
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Param for f64 {
    fn expected() -> String {
        "a number".into()
    }
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

impl Param for Duration {
    fn expected() -> String {
        "a duration".into()
    }
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Duration::from_nanos)
    }
}

macro_rules! integers {
    ($($integer:ty)+) => {$(
        impl Param for $integer {
            fn expected() -> String {
                format!("a whole number from {} to {}", Self::MIN, Self::MAX)
            }
            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }
    )+};
}

integers! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Host;
    use crate::{Batch, Progress, Session};

    struct Nothing;

    impl Session for Nothing {
        fn setup() -> Result<Self> {
            Ok(Nothing)
        }
        fn iterate(&mut self, _: u64, _: &mut Batch) -> Result<Progress> {
            Ok(Progress::Done)
        }
    }

    /// Runs `read` in the setup of a host that has these parameters.
    fn with<T>(params: &[(&str, &str)], read: fn() -> Result<T, Error>) -> Result<T, String>
    where
        T: 'static,
    {
        let host = params.iter().fold(Host::new(), |host, (name, value)| host.param(name, value));
        let host = host.param_list("tenants", &["diku", "7"]).duration_param("pause", Duration::from_millis(250));
        let running = host.session::<Nothing>().expect("it sets nothing up");
        running.within(read).map_err(|error| error.to_string())
    }

    #[test]
    fn values_by_type() {
        assert_eq!(with(&[("size", "500")], || param::<u32>("size")), Ok(500));
        assert_eq!(with(&[("size", "-5")], || param::<i64>("size")), Ok(-5));
        assert_eq!(with(&[("share", "0.5")], || param::<f64>("share")), Ok(0.5));
        assert_eq!(with(&[("on", "true")], || param::<bool>("on")), Ok(true));
        assert_eq!(with(&[("name", "é ")], || param::<String>("name")), Ok("é ".into()));
        assert_eq!(with(&[], || param::<Duration>("pause")), Ok(Duration::from_millis(250)));
        assert_eq!(with(&[], || param_list::<String>("tenants")), Ok(vec!["diku".into(), "7".into()]));
        assert_eq!(with(&[("key", "set")], || choice("key", &[("none", 0), ("set", 2)])), Ok(2));
    }

    #[test]
    fn values_of_another_type_are_told_what_they_must_be() {
        let text = |value: &'static str, read| with(&[("p", value)], read).unwrap_err();
        assert_eq!(
            text("big", || param::<u8>("p").map(drop)),
            "parameter `p` is `big`; it must be a whole number from 0 to 255"
        );
        assert_eq!(
            text("300", || param::<u8>("p").map(drop)),
            "parameter `p` is `300`; it must be a whole number from 0 to 255"
        );
        assert_eq!(text("nan", || param::<f64>("p").map(drop)), "parameter `p` is `nan`; it must be a number");
        assert_eq!(text("yes", || param::<bool>("p").map(drop)), "parameter `p` is `yes`; it must be true or false");
        assert_eq!(text("2s", || param::<Duration>("p").map(drop)), "parameter `p` is `2s`; it must be a duration");
        let chosen = || choice("p", &[("none", ()), ("set", ())]);
        assert_eq!(text("sett", chosen), "parameter `p` is `sett`; it must be one of none, set");
    }

    #[test]
    fn what_is_missing_is_told_by_name() {
        assert_eq!(with(&[], || param::<u8>("size")), Err("the manifest has no parameter `size`".into()));
        assert_eq!(with(&[], || param_list::<u8>("sizes")), Err("the manifest has no parameter `sizes`".into()));
    }

    #[test]
    fn a_list_is_not_a_value() {
        assert_eq!(with(&[], || param::<String>("tenants")), Err("parameter `tenants` is a list".into()));
        assert_eq!(with(&[("p", "1")], || param_list::<u8>("p")), Err("parameter `p` is `1`, not a list".into()));
        let item = "parameter `tenants` is `diku`; it must be a whole number from 0 to 255";
        assert_eq!(with(&[], || param_list::<u8>("tenants")), Err(item.into()));
    }
}
