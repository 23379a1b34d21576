//! How a consume flow pauses partitions.

use super::listing::Listing;
use super::refuse;
use crate::plan::error::Error;
use crate::plan::manifest::{self, FlowTable};
use crate::plan::origin::Origin;
use crate::plan::tree::Node;
use crate::plan::{Pause, PauseEvery, PausedData};

/// None where nothing is paused.
pub(super) fn resolve(
    name: &str,
    table: &FlowTable,
    document: &Node,
    listing: &mut Listing,
) -> Result<Option<Pause>, Error> {
    let share = table.pause.map_or(0.0, |share| share.0);
    if table.pause.is_none() {
        for (given, key) in [(table.pause_every.is_some(), "pause-every"), (table.paused_data.is_some(), "paused-data")]
        {
            if given {
                let error = Error::refused(format!("`{key}` says how partitions are paused, and none are"));
                return Err(refuse(
                    document,
                    &["flows", name, key],
                    error.with_hint("pause = 0.5 pauses half of them"),
                ));
            }
        }
        return Ok(None);
    }
    if share == 0.0 {
        return Ok(None);
    }
    let path = format!("flows.{name}");
    if table.pause_every.is_none() {
        listing.assume(&path, "pause-every", "\"poll\"", Origin::by_default());
    }
    if table.paused_data.is_none() {
        listing.assume(&path, "paused-data", "\"discard\"", Origin::Default("what librdkafka's pause does".to_owned()));
    }
    Ok(Some(Pause {
        share,
        every: match table.pause_every {
            None | Some(manifest::PauseEvery::Poll) => PauseEvery::Poll,
            Some(manifest::PauseEvery::Time(length)) => PauseEvery::Time(length.0),
        },
        data: match table.paused_data {
            None | Some(manifest::PausedData::Discard) => PausedData::Discard,
            Some(manifest::PausedData::Keep) => PausedData::Keep,
        },
    }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::FlowKind;
    use crate::plan::resolve::tests::{plan, refused};

    fn flow(settings: &str) -> String {
        format!("[topics.in]\naccess = [\"consume\"]\n[flows.app]\nkind = \"consume\"\ntopics = [\"in\"]\n{settings}\n")
    }

    fn pause(settings: &str) -> Option<Pause> {
        let plan = plan(&flow(settings));
        let FlowKind::Consume(consume) = &plan.flows[0].kind else { panic!("a consume flow") };
        consume.pause
    }

    #[test]
    fn partitions_are_paused_where_it_is_said() {
        assert_eq!(pause(""), None);
        let least = Pause { share: 0.8, every: PauseEvery::Poll, data: PausedData::Discard };
        assert_eq!(pause("pause = 0.8"), Some(least));
        let all = Pause { share: 0.5, every: PauseEvery::Time(Duration::from_millis(100)), data: PausedData::Keep };
        assert_eq!(pause("pause = 0.5\npause-every = \"100ms\"\npaused-data = \"keep\""), Some(all));
        // the ordinary way, with nothing beside it
        assert_eq!(pause("pause = 0\npause-every = \"100ms\"\npaused-data = \"keep\""), None);
    }

    #[test]
    fn one_partition_at_least_is_read() {
        let counts = |share: f64| {
            [0, 1, 2, 6, 12].map(|all| Pause { share, every: PauseEvery::Poll, data: PausedData::Keep }.count_of(all))
        };
        assert_eq!(counts(0.8), [0, 0, 1, 5, 10]);
        assert_eq!(counts(0.5), [0, 0, 1, 3, 6]);
        assert_eq!(counts(0.25), [0, 0, 1, 2, 3]);
        assert_eq!(counts(0.0), [0; 5]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (settings, message) in [
            ("pause = 1.0", "flows.app.pause: expected a share from 0.0 to 0.9"),
            ("pause = 1", "expected a share from 0.0 to 0.9"),
            ("pause = -0.5", "expected a share from 0.0 to 0.9"),
            ("pause = 0.5\npause-every = 5", "flows.app.pause-every: expected \"poll\" or a duration"),
            ("pause = 0.5\npause-every = \"0s\"", "expected \"poll\" or a duration"),
            ("pause = 0.5\npaused-data = \"hide\"", "expected \"discard\" or \"keep\""),
            ("paused-data = \"keep\"", "`paused-data` says how partitions are paused, and none are"),
        ] {
            let error = refused(&flow(settings));
            assert!(error.contains(message), "{settings}: {error}");
        }
    }
}
