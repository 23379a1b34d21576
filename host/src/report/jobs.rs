//! Jobs: how long each run of them took, by operation and labels.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use super::document::{FlowResult, JobResult};
use super::numbers::{count, hms};
use crate::load::Operation;
use crate::measure::JobRuns;

/// Durations of an operation that are all shown.
const MOST_SHOWN: usize = 20;

/// By operation, in the order of their numbers.
pub(super) fn results(runs: &JobRuns, operations: &[Operation]) -> Vec<JobResult> {
    let by_operation = runs.by_operation().into_iter();
    by_operation
        .map(|(number, (kept, others))| {
            let operation = &operations[number as usize];
            let failed_runs: Vec<usize> = (0..kept.len()).filter(|at| kept[*at].failed).collect();
            JobResult {
                operation: operation.name.clone(),
                labels: operation.labels.clone(),
                durations_s: kept.iter().map(|run| run.took_us as f64 / 1e6).collect(),
                failed: failed_runs.len() as u64 + others.failed,
                failed_runs,
                not_kept: others.count,
            }
        })
        .collect()
}

/// A row an operation: its durations, and where there are several, what they come to.
pub(super) fn table(flow: &FlowResult) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(["jobs (hh:mm:ss)", "count", "failed", "average", "min", "max", "durations"]);
    for job in &flow.jobs {
        let all = job.durations_s.len() as u64 + job.not_kept;
        let mut cells = vec![name(job), count(all), count(job.failed)];
        cells.extend(figures(job));
        cells.push(durations(job));
        table.add_row(cells);
    }
    for column in 1..6 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn name(job: &JobResult) -> String {
    let labels: Vec<String> = job.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if labels.is_empty() { job.operation.clone() } else { format!("{} ({})", job.operation, labels.join(", ")) }
}

/// Average, shortest and longest of those that went well and were kept; nothing of a single one.
fn figures(job: &JobResult) -> [String; 3] {
    let good = || job.durations_s.iter().enumerate().filter(|(at, _)| !job.failed_runs.contains(at)).map(|(_, s)| *s);
    let several = good().count();
    if job.durations_s.len() < 2 {
        return ["", "", ""].map(str::to_owned);
    }
    if several == 0 {
        return ["n/a", "n/a", "n/a"].map(str::to_owned);
    }
    let sum: f64 = good().sum();
    [sum / several as f64, good().fold(f64::INFINITY, f64::min), good().fold(0.0, f64::max)].map(hms)
}

fn durations(job: &JobResult) -> String {
    let shown: Vec<String> = job
        .durations_s
        .iter()
        .enumerate()
        .take(MOST_SHOWN)
        .map(|(at, seconds)| {
            let failed = if job.failed_runs.contains(&at) { " failed" } else { "" };
            format!("{}{failed}", hms(*seconds))
        })
        .collect();
    let more = job.durations_s.len().saturating_sub(MOST_SHOWN) as u64 + job.not_kept;
    let more = if more > 0 { format!(", and {} more", count(more)) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::JobRun;

    fn job(seconds: &[f64], failed: &[usize]) -> JobResult {
        let mut runs = JobRuns::default();
        for (at, s) in seconds.iter().enumerate() {
            let took_us = (s * 1e6).round() as u64;
            runs.iteration(JobRun { operation: 0, at_us: at as u64, took_us, failed: failed.contains(&at) });
        }
        let labels = vec![("profile".to_owned(), "create".to_owned())];
        let mut results = results(&runs, &[Operation { flow: 0, name: "import".into(), labels }]);
        results.remove(0)
    }

    #[test]
    fn a_job_is_told_by_its_durations() {
        let one = job(&[151.25], &[]);
        assert_eq!((name(&one).as_str(), durations(&one).as_str()), ("import (profile=create)", "00:02:31"));
        assert_eq!(figures(&one), ["", "", ""]);
        let several = job(&[2.316, 62.0, 4.0], &[1]);
        assert_eq!(durations(&several), "00:00:02.316, 00:01:02 failed, 00:00:04.000");
        assert_eq!(figures(&several), ["00:00:03.158", "00:00:02.316", "00:00:04.000"]);
        assert_eq!((several.failed, several.durations_s), (1, vec![2.316, 62.0, 4.0]));
        assert_eq!(figures(&job(&[1.0, 2.0], &[0, 1])), ["n/a", "n/a", "n/a"]);
    }

    #[test]
    fn only_so_many_are_shown() {
        let many = JobResult { not_kept: 1_000, ..job(&[1.0; 25], &[]) };
        assert!(durations(&many).ends_with("00:00:01.000, and 1,005 more"), "{}", durations(&many));
    }
}
