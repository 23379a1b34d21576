//! How a run goes, on stderr: a live line on a terminal, a plain line every few seconds elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::numbers::{count, decimal, millis, plural};
use crate::load::{LogLine, Observer, Progress};
use crate::measure::{LiveSecond, new_histogram};

/// How often a plain line comes.
const PLAIN: Duration = Duration::from_secs(5);

/// Shows progress and the guests' log lines.
pub struct Display {
    bar: Option<ProgressBar>,
    /// When the last plain line came.
    told: Option<Instant>,
}

impl Display {
    /// On stderr, as that is.
    pub fn new() -> Self {
        let capable = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let bar = capable.then(|| {
            let style = ProgressStyle::with_template("{bar:20} {wide_msg}").expect("a constant template");
            ProgressBar::with_draw_target(Some(1_000), ProgressDrawTarget::stderr())
                .with_style(style.progress_chars("=> "))
        });
        Display { bar, told: None }
    }

    /// Takes the live line away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Rates and percentiles are of the last whole seconds, at most `most` of them.
    fn words(progress: &Progress, most: usize) -> String {
        let live = &progress.live;
        let last = &live.seconds[live.seconds.len().saturating_sub(most)..];
        let rate = match last.len() {
            0 => String::new(),
            n => {
                let sum = |of: fn(&LiveSecond) -> u64| last.iter().map(of).sum::<u64>() as f64 / n as f64;
                format!(" ({}/s, {} MB/s)", decimal(sum(|s| s.acknowledged)), decimal(sum(|s| s.bytes) / 1e6))
            }
        };
        let mut latency = new_histogram();
        for second in last.iter().filter_map(|second| second.latency.as_ref()) {
            latency.add(second).expect("all histograms have the same bounds");
        }
        let p99 = match latency.is_empty() {
            true => String::new(),
            false => format!(", p99 {} ms", millis(latency.value_at_quantile(0.99) as f64)),
        };
        let draining = if progress.draining { ", draining" } else { "" };
        let elapsed = progress.elapsed.as_secs();
        let iterations =
            progress.rounds.map_or(String::new(), |what| format!("{} {what}, ", count(progress.live.iterations)));
        let unanswered = match live.unanswered {
            0 => String::new(),
            n => format!(", {} failed or timed out", plural(n, "request")),
        };
        if progress.rounds == Some("records") && live.acknowledged + live.failed == 0 {
            return format!("{elapsed} s: {} records{draining}", count(live.iterations));
        }
        format!(
            "{elapsed} s: {iterations}{} acknowledged{rate}, {} failed{unanswered}{p99}{draining}",
            count(live.acknowledged),
            count(live.failed)
        )
    }
}

impl Default for Display {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for Display {
    fn progress(&mut self, progress: &Progress) {
        if let Some(bar) = &self.bar {
            bar.set_position((progress.share.unwrap_or(0.0) * 1_000.0) as u64);
            bar.set_message(Self::words(progress, 1));
        } else if self.told.get_or_insert_with(Instant::now).elapsed() >= PLAIN {
            self.told = Some(Instant::now());
            eprintln!("{}", Self::words(progress, PLAIN.as_secs() as usize));
        }
    }

    fn say(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }

    fn log(&mut self, line: &LogLine) {
        self.say(&format!("[{} {}#{}] {}", line.level.name(), line.flow, line.worker, line.text));
    }
}
