//! How a run goes, on stderr: a live line on a terminal, a plain line every few seconds elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::numbers::{count, decimal, millis};
use crate::load::{LogLine, Observer, Progress};
use crate::measure::{Live, new_histogram};

/// How often a plain line comes.
const PLAIN: Duration = Duration::from_secs(5);

/// Shows progress and the guests' log lines.
pub struct Display {
    bar: Option<ProgressBar>,
    told: Option<Instant>,
    last: (f64, Live),
    /// Durations since the last plain line.
    recent: hdrhistogram::Histogram<u64>,
}

impl Display {
    /// On stderr, as that is.
    pub fn new() -> Self {
        let capable = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let bar = capable.then(|| {
            let style = ProgressStyle::with_template("{bar:24} {msg}").expect("a constant template");
            ProgressBar::with_draw_target(Some(1_000), ProgressDrawTarget::stderr())
                .with_style(style.progress_chars("=> "))
        });
        Display { bar, told: None, last: (0.0, Live::default()), recent: new_histogram() }
    }

    /// A line for the person at the terminal.
    pub fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }

    /// Takes the live line away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn words(&mut self, progress: &Progress) -> String {
        let live = &progress.live;
        let elapsed = progress.elapsed.as_secs_f64();
        let (before, last) = std::mem::replace(&mut self.last, (elapsed, Live { recent: None, ..live.clone() }));
        let seconds = (elapsed - before).max(0.001);
        let rate = live.acknowledged.saturating_sub(last.acknowledged) as f64 / seconds;
        let megabytes = live.bytes.saturating_sub(last.bytes) as f64 / seconds / 1e6;
        let p99 = match self.recent.is_empty() {
            true => "n/a".into(),
            false => format!("{} ms", millis(self.recent.value_at_quantile(0.99) as f64)),
        };
        self.recent.reset();
        let draining = if progress.draining { ", draining" } else { "" };
        format!(
            "{elapsed:.0} s: {} acknowledged ({}/s, {} MB/s), {} failed, p99 {p99}{draining}",
            count(live.acknowledged),
            decimal(rate),
            decimal(megabytes),
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
        if let Some(recent) = &progress.live.recent {
            self.recent.add(recent).expect("all histograms have the same bounds");
        }
        if self.bar.is_none() && self.told.get_or_insert_with(Instant::now).elapsed() < PLAIN {
            return;
        }
        let words = self.words(progress);
        self.told = Some(Instant::now());
        match &self.bar {
            Some(bar) => {
                bar.set_position((progress.share.unwrap_or(0.0) * 1_000.0) as u64);
                bar.set_message(words);
            }
            None => eprintln!("{words}"),
        }
    }

    fn log(&mut self, line: &LogLine) {
        self.say(&format!("[{} {}#{}] {}", line.level.name(), line.flow, line.worker, line.text));
    }
}
