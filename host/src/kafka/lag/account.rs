//! What a group has left to read in one partition, of offsets and of what was found between them. Pure.
//!
//! Offsets are not records: some belong to the ends of transactions, to records of aborted ones, or to what compaction and
//! retention took. Where a group stands still, what lies before the end is looked at, and offsets without a record are left out.

/// A group that has not moved for so many samples stands still.
const STILL: u32 = 3;
/// More offsets than this are not looked at.
pub(super) const MOST_LOOKED_AT: i64 = 10_000;

/// One partition of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account {
    /// The next offset that the group reads.
    position: i64,
    /// Behind the last record that it could read.
    end: i64,
    /// For how many samples both have stayed.
    position_still: u32,
    end_still: u32,
    /// From the position up to here it is known how many records there are.
    looked_to: i64,
    found: i64,
    /// It could not be looked at: not tried again from here.
    hidden: bool,
}

impl Account {
    pub(super) fn new(position: i64, end: i64) -> Self {
        Account { position, end, position_still: 0, end_still: 0, looked_to: position, found: 0, hidden: false }
    }

    /// The next sample.
    pub(super) fn sample(&mut self, position: i64, end: i64) {
        if position != self.position {
            let end_still = if end == self.end { self.end_still + 1 } else { 0 };
            *self = Account { end_still, ..Account::new(position, end) };
            return;
        }
        self.position_still += 1;
        self.end_still = if end == self.end { self.end_still + 1 } else { 0 };
        self.end = end;
    }

    /// Records that are left, as far as that is known.
    pub(super) fn records(&self) -> u64 {
        let hollow = self.looked_to - self.position - self.found;
        u64::try_from(self.end - self.position - hollow).unwrap_or(0)
    }

    /// From where to where it should be looked: where the group stands still, as long as it may have read all that there is.
    /// Where it has records before it, once the end stands still too. At the run's `last` sample nothing has to stand still.
    pub(super) fn wants_look(&self, last: bool) -> Option<(i64, i64)> {
        let unknown = self.end - self.looked_to;
        let is_still = self.position_still >= STILL && (self.found == 0 || self.end_still >= STILL);
        let wanted = (is_still || last) && !self.hidden && (1..=MOST_LOOKED_AT).contains(&unknown);
        wanted.then_some((self.looked_to, self.end))
    }

    /// So many records are between where [`Self::wants_look`] said; none where that can't be known.
    pub(super) fn looked(&mut self, records: Option<i64>) {
        match records {
            Some(records) => {
                self.found += records;
                self.looked_to = self.end;
            }
            None => self.hidden = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(samples: &[(i64, i64)]) -> Account {
        let mut account = Account::new(samples[0].0, samples[0].1);
        samples[1..].iter().for_each(|(position, end)| account.sample(*position, *end));
        account
    }

    #[test]
    fn records_are_offsets_until_more_is_known() {
        assert_eq!(after(&[(10, 25)]).records(), 15);
        assert_eq!(after(&[(10, 25), (25, 25)]).records(), 0);
        assert_eq!(after(&[(30, 25)]).records(), 0, "what was committed lies behind the end: nothing is left");
    }

    #[test]
    fn markers_before_the_end_are_no_records() {
        let mut account = after(&[(10, 12), (10, 12), (10, 12)]);
        assert_eq!(account.wants_look(false), None, "it may just be slow");
        account.sample(10, 12);
        assert_eq!(account.wants_look(false), Some((10, 12)));
        account.looked(Some(0));
        assert_eq!((account.records(), account.wants_look(false)), (0, None));
        // an aborted transaction more
        account.sample(10, 17);
        assert_eq!((account.records(), account.wants_look(false)), (5, Some((12, 17))));
        account.looked(Some(0));
        assert_eq!(account.records(), 0);
        // and then records: they count until the group moves
        account.sample(10, 27);
        account.looked(Some(9));
        assert_eq!(account.records(), 9);
        account.sample(20, 27);
        assert_eq!(account.records(), 7, "nothing is known from here");
    }

    #[test]
    fn a_group_with_records_before_it_is_looked_at_again_once_nothing_comes() {
        let mut account = after(&[(0, 200); 4]);
        account.looked(Some(198));
        assert_eq!(account.records(), 198);
        for second in 2..6 {
            account.sample(0, second * 200);
            assert_eq!(account.wants_look(false), None);
            assert_eq!(account.records() as i64, second * 200 - 2);
        }
        (0..3).for_each(|_| account.sample(0, 1_000));
        assert_eq!(account.wants_look(false), Some((200, 1_000)));
    }

    #[test]
    fn much_is_not_looked_at_and_neither_is_what_could_not_be() {
        let mut account = after(&[(0, MOST_LOOKED_AT + 1); 9]);
        assert_eq!((account.wants_look(false), account.wants_look(true)), (None, None));
        account = after(&[(0, MOST_LOOKED_AT); 9]);
        assert_eq!(account.wants_look(false), Some((0, MOST_LOOKED_AT)));
        account.looked(None);
        assert_eq!((account.wants_look(true), account.records()), (None, MOST_LOOKED_AT as u64));
        account.sample(1, MOST_LOOKED_AT);
        assert!(account.wants_look(true).is_some(), "from another place");
    }

    #[test]
    fn the_last_sample_waits_for_nothing() {
        let account = after(&[(9, 10)]);
        assert_eq!((account.wants_look(false), account.wants_look(true)), (None, Some((9, 10))));
        assert_eq!(after(&[(10, 10)]).wants_look(true), None);
    }
}
