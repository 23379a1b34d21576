//! Values: fresh bytes for each message, or slices of a pool: copied, or kept once by khost for all workers.
//!
//! A compressible value is random bytes and zeros. A fresh one has its zeros at the end, so its share is exact to the byte.
//! The pool alternates the two in short blocks, so a slice's share is right to within a block, and on average.

use khost_guest::Message;
use khost_guest::prelude::*;

use crate::Sizes;

pub enum Bodies {
    /// `random` is the share of a value that is random bytes.
    Fresh { random: f64 },
    /// A pool of this worker's, copied into each message.
    Copied { pool: Vec<u8> },
    /// A pool that khost keeps, sent without a copy.
    Repeated { pool: Body },
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Fresh,
    Copied,
    Repeated,
}

/// Of the pool, in bytes: long enough for a compressor to find the zeros, short beside a value.
const BLOCK: usize = 64;

impl Bodies {
    pub fn from_params(sizes: Sizes) -> Result<Self> {
        let compressibility: f64 = run::param("compressibility")?;
        if !(0.0..=1.0).contains(&compressibility) {
            return Err(format!("parameter `compressibility` is {compressibility}; it must be from 0 to 1").into());
        }
        let random = 1.0 - compressibility;
        let kind =
            run::choice("bodies", &[("fresh", Kind::Fresh), ("copied", Kind::Copied), ("repeated", Kind::Repeated)])?;
        if kind == Kind::Fresh {
            return Ok(Bodies::Fresh { random });
        }
        let size: u32 = run::param("pool-size")?;
        if size < sizes.max {
            return Err(format!("parameter `pool-size` ({size}) is below `max-size` ({})", sizes.max).into());
        }
        let pool = pool(size as usize, random);
        Ok(if kind == Kind::Copied { Bodies::Copied { pool } } else { Bodies::Repeated { pool: Body::share(&pool) } })
    }

    pub fn add_to(&self, message: Message<'_>, size: u32, rng: &mut Rng) {
        match self {
            Bodies::Fresh { random } => {
                message.value_fill(size as usize, |value| rng.fill(&mut value[..part(size as usize, *random)]));
            }
            Bodies::Copied { pool } => {
                let start = rng.between(0, pool.len() as u32 - size) as usize;
                message.value(&pool[start..start + size as usize]);
            }
            Bodies::Repeated { pool } => {
                let start = rng.between(0, pool.length() - size);
                message.value_slice(pool.slice(start, size));
            }
        }
    }
}

/// The same for every worker: khost keeps equal bodies once.
fn pool(size: usize, random: f64) -> Vec<u8> {
    let mut rng = Rng::new(0);
    let mut pool = vec![0; size];
    // What one block rounds off, the next makes up for.
    let (mut end, mut filled) = (0, 0);
    for block in pool.chunks_mut(BLOCK) {
        end += block.len();
        let length = part(end, random) - filled;
        rng.fill(&mut block[..length]);
        filled += length;
    }
    pool
}

fn part(of: usize, share: f64) -> usize {
    (of as f64 * share).round() as usize
}
