//! Data sets while a run lasts: what all workers share of them, and what one worker has opened.
//!
//! Reading takes no lock; what is handed to a guest is allocated once a call, not once a row.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::draws::{hash, mix};
use super::shared::Shared;
use super::stop::Ended;
use crate::data::{DataSet, ReadError, Reader, Turn, Turns};
use crate::guest::Rows;
use crate::measure::RunClock;
use crate::plan::{self, Plan};

/// The largest list that a guest can be given, in bytes: half of what 32 bits address.
const MOST_BYTES: u64 = i32::MAX as u64;
/// What a cell takes beside its bytes.
const CELL_BYTES: u64 = 8;

/// The data sets of a run, in the plan's order.
#[derive(Default)]
pub(super) struct Data(Vec<Shelf>);

/// One of them.
struct Shelf {
    name: String,
    set: DataSet,
    turns: Turns,
    /// When a guest first got fewer rows than it asked for, in nanoseconds since the load's start.
    exhausted_ns: AtomicU64,
    /// By flow: whether one of its guests did.
    short: Vec<AtomicBool>,
}

/// What came of a data set.
#[derive(Debug, Clone)]
pub struct DataFigures {
    /// Rows that it has.
    pub rows: u64,
    /// Empty messages of a raw file, which are no rows.
    pub skipped: u64,
    /// Rows that guests got in its order; those that went round count again.
    pub handed_out: u64,
    /// When a guest first got fewer rows than it asked for, in nanoseconds since the load's start.
    pub exhausted_ns: Option<u64>,
    /// By flow of the plan: whether one of its guests did.
    pub short: Vec<bool>,
}

impl Data {
    /// `sets` are the plan's.
    pub(super) fn new(plan: &Plan, sets: Vec<DataSet>) -> Self {
        let shelf = |(planned, set): (&plan::DataSet, DataSet)| Shelf {
            name: planned.name.clone(),
            turns: Turns::new(planned.order, set.row_count(), mix(plan.seed, &[hash(&planned.name)])),
            set,
            exhausted_ns: AtomicU64::new(u64::MAX),
            short: plan.flows.iter().map(|_| AtomicBool::new(false)).collect(),
        };
        Data(plan.data.iter().zip(sets).map(shelf).collect())
    }

    pub(super) fn figures(&self) -> Vec<DataFigures> {
        let figures = |shelf: &Shelf| DataFigures {
            rows: shelf.set.row_count(),
            skipped: shelf.set.skipped(),
            handed_out: shelf.turns.taken(),
            exhausted_ns: Some(shelf.exhausted_ns.load(Relaxed)).filter(|ns| *ns != u64::MAX),
            short: shelf.short.iter().map(|short| short.load(Relaxed)).collect(),
        };
        self.0.iter().map(figures).collect()
    }

    fn known(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|shelf| shelf.name.as_str())
    }
}

impl Shelf {
    fn take(&self, count: u32, flow: usize, clock: &RunClock) -> Turn {
        let turn = self.turns.take(count);
        if turn.is_short {
            self.exhausted_ns.fetch_min(clock.now_ns(), Relaxed);
            self.short[flow].store(true, Relaxed);
        }
        turn
    }
}

/// What one worker's instance has opened. A text as error is a mistake of the scenario.
pub(super) struct OpenData {
    flow: usize,
    opened: Vec<bool>,
    reader: Reader,
    most_bytes: u64,
}

impl OpenData {
    /// `memory_bytes` is what an instance may have: what it asks for has to have room there.
    pub(super) fn new(shared: &Shared, flow: usize, memory_bytes: u64) -> Self {
        OpenData {
            flow,
            opened: vec![false; shared.data.0.len()],
            reader: Reader::default(),
            most_bytes: memory_bytes.min(MOST_BYTES),
        }
    }

    /// Forgets what the last instance opened.
    pub(super) fn reset(&mut self) {
        self.opened.fill(false);
    }

    pub(super) fn open(&mut self, shared: &Shared, name: &str) -> Result<u32, String> {
        let Some(at) = shared.data.known().position(|known| known == name) else {
            return Err(match plan::nearest(name, shared.data.known()) {
                Some(near) => {
                    format!("it opens the data set `{name}`, which the manifest lacks; the nearest is `{near}`")
                }
                None => format!("it opens the data set `{name}`, which the manifest lacks"),
            });
        };
        self.opened[at] = true;
        Ok(at as u32 + 1)
    }

    pub(super) fn row_count(&self, shared: &Shared, of: u32) -> Result<u64, String> {
        Ok(self.shelf(shared, of)?.set.row_count())
    }

    pub(super) fn columns(&self, shared: &Shared, of: u32) -> Result<Vec<String>, String> {
        Ok(self.shelf(shared, of)?.set.columns().to_vec())
    }

    /// Rows by number; fewer where there are no more.
    pub(super) fn get(&mut self, shared: &Shared, of: u32, first: u64, count: u32) -> Result<Rows, String> {
        let shelf = self.shelf(shared, of)?;
        let last = first.saturating_add(count.into()).min(shelf.set.row_count());
        self.read(shared, shelf, std::iter::once(first.min(last)..last))
    }

    /// The next rows in the data set's order; fewer where there are no more.
    pub(super) fn next(&mut self, shared: &Shared, of: u32, count: u32) -> Result<Rows, String> {
        let shelf = self.shelf(shared, of)?;
        let turn = shelf.take(count, self.flow, &shared.clock);
        self.read(shared, shelf, shelf.turns.rows(&turn))
    }

    fn read(
        &mut self,
        shared: &Shared,
        shelf: &Shelf,
        stretches: impl Iterator<Item = Range<u64>>,
    ) -> Result<Rows, String> {
        let mut rows = Rows::default();
        let row_bytes = shelf.set.columns().len() as u64 * CELL_BYTES;
        let mut cell_bytes = 0;
        for stretch in stretches {
            cell_bytes += (stretch.end - stretch.start) * row_bytes;
            let read = match self.most_bytes.checked_sub(cell_bytes) {
                Some(room) => shelf.set.read(stretch, &mut self.reader, room, &mut rows.bytes, &mut rows.cells),
                None => Err(ReadError::TooLarge { most: self.most_bytes }),
            };
            match read {
                Ok(()) => {}
                Err(ReadError::TooLarge { .. }) => {
                    let limit = plan::format_bytes(self.most_bytes);
                    return Err(format!(
                        "it asks for more rows of the data set `{}` than an instance has room for: {limit} (limits.memory)",
                        shelf.name
                    ));
                }
                Err(error) => {
                    let text = format!("the data set `{}`: {error}", shelf.name);
                    shared.stop.end_because(Ended::Failed(text.clone()));
                    return Err(text);
                }
            }
        }
        Ok(rows)
    }

    fn shelf<'s>(&self, shared: &'s Shared, handle: u32) -> Result<&'s Shelf, String> {
        let at = handle.checked_sub(1).map(|at| at as usize).filter(|at| self.opened.get(*at) == Some(&true));
        at.map(|at| &shared.data.0[at]).ok_or_else(|| format!("{handle} is no data set that was opened"))
    }
}
