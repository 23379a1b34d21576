//! The field's producer experiment: random records of 250 to 750 bytes, as fast as they go or at a rate.
//!
//! Each iteration is one message. It draws from the worker's [`Rng`] in this order: the key, the size, then the body's
//! bytes (fresh) or its place in the pool (copied, repeated). Nothing is allocated for a message.

mod body;
mod key;

use body::Bodies;
use key::Keys;
use khost_guest::prelude::*;

khost_guest::flows! { "write" => stream Write }

struct Write {
    topic: Topic,
    sizes: Sizes,
    keys: Keys,
    bodies: Bodies,
    rng: Rng,
}

/// Of values, in bytes, both included.
#[derive(Clone, Copy)]
struct Sizes {
    min: u32,
    max: u32,
}

impl Sizes {
    fn from_params() -> Result<Self> {
        let sizes = Sizes { min: run::param("min-size")?, max: run::param("max-size")? };
        if sizes.min > sizes.max {
            return Err(format!("parameter `min-size` ({}) is above `max-size` ({})", sizes.min, sizes.max).into());
        }
        Ok(sizes)
    }
}

impl Stream for Write {
    fn setup() -> Result<Self> {
        let sizes = Sizes::from_params()?;
        Ok(Write {
            topic: Topic::open("load"),
            sizes,
            keys: Keys::from_params()?,
            bodies: Bodies::from_params(sizes)?,
            rng: Rng::new(run::seed()),
        })
    }

    fn iterate(&mut self, _iteration: u64, out: &mut Batch) -> Result<Progress> {
        let message = self.keys.add_to(out.message(self.topic), &mut self.rng);
        let size = self.rng.between(self.sizes.min, self.sizes.max);
        self.bodies.add_to(message, size, &mut self.rng);
        Ok(More)
    }
}

#[cfg(test)]
mod tests;
