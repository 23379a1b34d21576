//! What a principal may do, as brokers tell it: the bits of `authorized operations` (KIP-430).

use super::PreflightError;

/// An operation of Kafka's ACLs, by its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Of records, and of a group's offsets.
    Read = 3,
    /// Of records.
    Write = 4,
    /// Of topics.
    Create = 5,
    /// To see that something is there.
    Describe = 8,
}

impl Operation {
    /// Whether the bits allow it; nothing where the broker does not tell.
    pub(super) fn is_in(self, bits: i32) -> Option<bool> {
        const NOT_TOLD: i32 = i32::MIN;
        (bits != NOT_TOLD).then_some(bits & (1 << (self as i32)) != 0)
    }
}

/// What an operation is done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// By name.
    Topic(String),
    /// By name.
    Group(String),
}

impl Resource {
    /// As `kafka-acls` takes it.
    pub(super) fn option(&self) -> String {
        match self {
            Resource::Topic(name) => format!("--topic {name}"),
            Resource::Group(name) => format!("--group {name}"),
        }
    }
}

impl std::fmt::Display for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Resource::Topic(name) => write!(f, "topic `{name}`"),
            Resource::Group(name) => write!(f, "group `{name}`"),
        }
    }
}

/// Refuses what the bits do not allow; answers whether the broker said that it is allowed.
pub(super) fn check(
    bits: i32,
    operation: Operation,
    principal: &str,
    resource: Resource,
    broker: &str,
) -> Result<bool, PreflightError> {
    match operation.is_in(bits) {
        Some(false) => Err(denied(operation, principal, resource, broker)),
        told => Ok(told.is_some()),
    }
}

pub(super) fn denied(operation: Operation, principal: &str, resource: Resource, broker: &str) -> PreflightError {
    PreflightError::Denied { principal: principal.to_owned(), operation, resource, broker: broker.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_kafkas_operations() {
        // READ, WRITE and DESCRIBE
        let bits = 1 << 3 | 1 << 4 | 1 << 8;
        for operation in [Operation::Read, Operation::Write, Operation::Describe] {
            assert_eq!(operation.is_in(bits), Some(true));
        }
        assert_eq!(Operation::Create.is_in(bits), Some(false));
        assert_eq!(Operation::Write.is_in(1 << 8), Some(false));
        assert_eq!(Operation::Write.is_in(0), Some(false));
        assert_eq!(Operation::Write.is_in(i32::MIN), None);
    }
}
