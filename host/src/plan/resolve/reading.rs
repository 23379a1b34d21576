//! Topics that something reads: a channel, a consume flow, the lag of a group.

use crate::plan::Topic;
use crate::plan::error::Error;

/// The numbers of the topics of these names, all instances of a repeated one. Each grants reading, and stands there once.
pub(super) fn topics<'n>(names: impl IntoIterator<Item = &'n str>, all: &[Topic]) -> Result<Vec<usize>, Error> {
    let mut numbers = Vec::new();
    for name in names {
        let of_name = of_name(name, all)?;
        if !all[of_name[0]].consume {
            let error = format!("topics.{name} does not grant reading (its `access` lacks \"consume\")");
            let hint = format!("topics.{name}.access = [\"consume\"], or with \"produce\" beside it");
            return Err(Error::refused(error).with_hint(hint));
        }
        if numbers.contains(&of_name[0]) {
            return Err(Error::refused(format!("{name:?} stands here twice")).with_hint("once will do"));
        }
        numbers.extend(of_name);
    }
    Ok(numbers)
}

/// The numbers of a topic of the manifest, all instances of a repeated one; never none.
pub(super) fn of_name(name: &str, all: &[Topic]) -> Result<Vec<usize>, Error> {
    let of_name: Vec<usize> = (0..all.len()).filter(|number| all[*number].key == name).collect();
    if of_name.is_empty() {
        return Err(Error::unknown("topic", name, all.iter().map(|topic| topic.key.as_str())));
    }
    Ok(of_name)
}
