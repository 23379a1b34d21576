//! What numbers count towards: the flows, and what guests name.

use std::sync::{Mutex, PoisonError};

/// Operations of a run: each has histograms of its own, and a row that somebody should read.
const MOST: usize = 1_000;

/// A row of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The flow's number in the plan.
    pub flow: usize,
    /// The flow's name, or what the guest named.
    pub name: String,
    /// In the order of the guest's first call.
    pub labels: Vec<(String, String)>,
}

/// All operations of a run by number. The first are the flows themselves, in the plan's order.
#[derive(Debug)]
pub(super) struct Operations {
    flows: usize,
    list: Mutex<Vec<Operation>>,
}

impl Operations {
    pub(super) fn new<'f>(flows: impl Iterator<Item = &'f str>) -> Self {
        let list: Vec<_> =
            flows.enumerate().map(|(flow, name)| Operation { flow, name: name.into(), labels: vec![] }).collect();
        Operations { flows: list.len(), list: Mutex::new(list) }
    }

    /// A guest's handle for an operation: above 0; the same for the same name and labels.
    pub(super) fn open(&self, flow: usize, name: &str, labels: Vec<(String, String)>) -> Result<u32, String> {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = Operation { flow, name: name.into(), labels };
        let at = match list[self.flows..].iter().position(|known| *known == wanted) {
            Some(at) => at,
            None if list.len() >= MOST => return Err(format!("it opens more than {MOST} operations")),
            None => {
                list.push(wanted);
                list.len() - 1 - self.flows
            }
        };
        Ok(at as u32 + 1)
    }

    /// The operation's number behind a guest's handle; 0 is the flow itself.
    #[inline]
    pub(super) fn number(&self, flow: usize, handle: u32) -> u32 {
        if handle == 0 { flow as u32 } else { self.flows as u32 + handle - 1 }
    }

    /// All of them, at the end.
    pub(super) fn list(&self) -> Vec<Operation> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_and_numbers() {
        let operations = Operations::new(["write", "read"].into_iter());
        let by = |tenant: &str| vec![("tenant".to_owned(), tenant.to_owned())];
        let first = operations.open(1, "check-in", by("diku")).expect("room");
        let second = operations.open(1, "check-in", by("other")).expect("room");
        assert_eq!(operations.open(1, "check-in", by("diku")), Ok(first));
        assert_eq!((first, second), (1, 2));
        assert_eq!((operations.number(1, 0), operations.number(1, first), operations.number(0, 0)), (1, 2, 0));
        assert_eq!(operations.list()[3].labels, by("other"));
    }
}
