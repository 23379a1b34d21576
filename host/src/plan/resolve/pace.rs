//! When a stream's iterations are due.

use std::time::Duration;

use crate::plan::amount::Rate;
use crate::plan::error::Error;
use crate::plan::manifest::{FlowRate, StageTable};
use crate::plan::{Pace, Stage};

/// Makes the pace of `rate` and `stages`. An error has the key that it is about.
pub(super) fn resolve(rate: Option<FlowRate>, stages: Option<&[StageTable]>) -> Result<Pace, (&'static str, Error)> {
    let stages = stages.unwrap_or_default();
    match rate {
        Some(FlowRate::Unpaced) if !stages.is_empty() => {
            let error = Error::refused("a flow with `stages` can't be unpaced: `rate` is where its first stage starts");
            Err(("rate", error.with_hint("leave one of the two out")))
        }
        Some(FlowRate::Paced(rate)) if stages.is_empty() && rate.is_zero() => {
            let error = Error::refused("at this rate the flow would never do anything");
            Err(("rate", error.with_hint("enabled = false turns a flow off")))
        }
        Some(FlowRate::Paced(rate)) if stages.is_empty() => Ok(Pace::Rate(rate)),
        _ if stages.is_empty() => Ok(Pace::Unpaced),
        Some(FlowRate::Paced(rate)) => ramps(Some(rate), stages),
        Some(FlowRate::Unpaced) | None => ramps(None, stages),
    }
}

/// Each stage goes on from where the one before has got to; one that takes no time is a jump.
fn ramps(start: Option<Rate>, stages: &[StageTable]) -> Result<Pace, (&'static str, Error)> {
    let mut from = start.or_else(|| stages.first().and_then(|first| first.rate)).unwrap_or(Rate::ZERO);
    let mut ramps = Vec::new();
    for stage in stages {
        let (length, to) = (stage.length.0, stage.rate.unwrap_or(Rate::ZERO));
        if !length.is_zero() {
            if from.is_zero() && to.is_zero() {
                let error = Error::refused("a stage that goes from 0/s to 0/s does nothing");
                return Err(("stages", error.with_hint("a `rate` beside `stages` is where the first one starts")));
            }
            ramps.push(Stage { length, from, to });
        }
        from = to;
    }
    if ramps.is_empty() {
        Err(("stages", Error::refused("the stages take no time at all")))
    } else {
        Ok(Pace::Stages(ramps))
    }
}

/// How long all stages take.
pub(super) fn length(stages: &[Stage]) -> Duration {
    stages.iter().map(|stage| stage.length).sum()
}

/// How many iterations are due within all stages.
pub(super) fn iterations(stages: &[Stage]) -> u64 {
    let due = |stage: &Stage| (stage.from.per_second() + stage.to.per_second()) / 2.0 * stage.length.as_secs_f64();
    // A whole number that came out a little high is that number.
    (stages.iter().map(due).sum::<f64>() - 1e-6).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::amount::Length;

    fn rate(text: &str) -> Rate {
        Rate::parse(text).expect(text)
    }

    fn stages(stages: &[(u64, &str)]) -> Vec<StageTable> {
        stages
            .iter()
            .map(|(seconds, text)| StageTable {
                length: Length(Duration::from_secs(*seconds)),
                rate: Some(rate(text)),
                users: None,
            })
            .collect()
    }

    fn shown(pace: Pace) -> Vec<(u64, String, String)> {
        match pace {
            Pace::Stages(stages) => {
                stages.iter().map(|s| (s.length.as_secs(), s.from.to_string(), s.to.to_string())).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    fn resolved(start: Option<&str>, list: &[(u64, &str)]) -> Result<Pace, (&'static str, String)> {
        let start = start.map(|text| FlowRate::Paced(rate(text)));
        resolve(start, Some(&stages(list))).map_err(|(key, error)| (key, error.to_string()))
    }

    #[test]
    fn the_first_stage_is_level_unless_a_rate_says_where_it_starts() {
        let list = [(60, "100/s"), (300, "1000/s")];
        assert_eq!(
            shown(resolved(None, &list).expect("valid")),
            [(60, "100/s".into(), "100/s".into()), (300, "100/s".into(), "1000/s".into())]
        );
        assert_eq!(shown(resolved(Some("0/s"), &list).expect("valid"))[0], (60, "0/s".into(), "100/s".into()));
    }

    #[test]
    fn a_stage_of_no_time_is_a_jump() {
        let list = [(10, "100/s"), (0, "500/s"), (10, "500/s")];
        assert_eq!(
            shown(resolved(None, &list).expect("valid")),
            [(10, "100/s".into(), "100/s".into()), (10, "500/s".into(), "500/s".into())]
        );
    }

    #[test]
    fn contradictions_are_refused() {
        assert_eq!(resolved(None, &[(10, "0/s")]).expect_err("idle").0, "stages");
        assert_eq!(resolved(Some("5/s"), &[(0, "1/s")]).expect_err("no time").1, "the stages take no time at all");
        assert_eq!(resolved(Some("0/s"), &[]).expect_err("idle").0, "rate");
        let unpaced = resolve(Some(FlowRate::Unpaced), Some(&stages(&[(10, "1/s")])));
        assert_eq!(unpaced.expect_err("both").0, "rate");
        assert_eq!(resolve(Some(FlowRate::Unpaced), None).ok(), Some(Pace::Unpaced));
        assert_eq!(resolve(None, None).ok(), Some(Pace::Unpaced));
    }

    #[test]
    fn iterations_are_the_area_under_the_stages() {
        let Pace::Stages(list) = resolved(Some("0/s"), &[(60, "100/s"), (10, "0.1/s")]).expect("valid") else {
            panic!("stages")
        };
        assert_eq!(iterations(&list), 3_501);
        assert_eq!(iterations(&list[..1]), 3_000);
        assert_eq!(length(&list), Duration::from_secs(70));
    }
}
