//! Who may run beside whom. Ordinary tests run in parallel; one that stops a broker or measures time runs alone.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static TURNS: RwLock<()> = RwLock::new(());

thread_local! {
    /// This test's turn; it is taken once a test, since a second wait for the same lock could last for ever.
    static MINE: RefCell<Weak<Turn>> = const { RefCell::new(Weak::new()) };
}

/// Held as long as the test runs. The fields are only there to be dropped.
#[expect(dead_code, reason = "guards")]
pub(crate) enum Turn {
    Beside(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

/// Runs beside other ordinary tests. Whatever needs a machine that is not measured takes it by itself.
pub(crate) fn beside() -> Rc<Turn> {
    MINE.with_borrow_mut(|mine| {
        mine.upgrade().unwrap_or_else(|| {
            let turn = Rc::new(Turn::Beside(TURNS.read().unwrap_or_else(PoisonError::into_inner)));
            *mine = Rc::downgrade(&turn);
            turn
        })
    })
}

/// Runs with no other test beside it. To be taken first in a test.
pub(crate) fn alone() -> Rc<Turn> {
    MINE.with_borrow_mut(|mine| match mine.upgrade() {
        Some(turn) if matches!(*turn, Turn::Alone(_)) => turn,
        Some(_) => panic!("`alone` comes before anything else in a test"),
        None => {
            let turn = Rc::new(Turn::Alone(TURNS.write().unwrap_or_else(PoisonError::into_inner)));
            *mine = Rc::downgrade(&turn);
            turn
        }
    })
}
