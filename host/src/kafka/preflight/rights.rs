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
    /// Whether the bits allow it; a broker that does not tell allows it for now.
    pub(super) fn is_in(self, bits: i32) -> bool {
        const NOT_TOLD: i32 = i32::MIN;
        bits == NOT_TOLD || bits & (1 << (self as i32)) != 0
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

/// Refuses what the bits do not allow.
pub(super) fn check(
    bits: i32,
    operation: Operation,
    principal: &str,
    resource: Resource,
    broker: &str,
) -> Result<(), PreflightError> {
    if operation.is_in(bits) {
        return Ok(());
    }
    Err(denied(operation, principal, resource, broker))
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
        assert!(Operation::Read.is_in(bits) && Operation::Write.is_in(bits) && Operation::Describe.is_in(bits));
        assert!(!Operation::Create.is_in(bits) && !Operation::Write.is_in(1 << 8) && !Operation::Write.is_in(0));
        assert!(Operation::Write.is_in(i32::MIN));
    }
}
