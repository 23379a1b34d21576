//! What a principal may do, as brokers tell it: the bits of `authorized operations` (KIP-430).

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

/// What a principal lacks on one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// To what.
    pub resource: Resource,
    /// What is wanted and not allowed; at least one.
    pub operations: Vec<Operation>,
}

impl Lack {
    /// As a sentence has it.
    fn words(&self) -> String {
        let names: Vec<String> = self.operations.iter().map(|operation| format!("{operation:?}")).collect();
        format!("{} on {}", names.join(" and "), self.resource)
    }

    /// What `kafka-acls` is to be told; who may write or read may describe.
    fn options(&self) -> String {
        let is_enough = |operation: &&Operation| **operation != Operation::Describe || self.operations.len() == 1;
        let operations =
            self.operations.iter().filter(is_enough).map(|operation| format!("--operation {operation:?} "));
        operations.collect::<String>() + &self.resource.option()
    }
}

/// `the right Write on topic …`, or several.
pub(super) fn words(lacks: &[Lack]) -> String {
    let all: Vec<String> = lacks.iter().map(Lack::words).collect();
    let several = lacks.len() > 1 || lacks.iter().any(|lack| lack.operations.len() > 1);
    format!("the right{} {}", if several { "s" } else { "" }, all.join(", "))
}

/// The commands that give them.
pub(super) fn commands(lacks: &[Lack], principal: &str, broker: &str) -> String {
    let command = |lack: &Lack| {
        format!(
            "kafka-acls --bootstrap-server {broker} --command-config admin.properties --add --allow-principal \"{principal}\" {}",
            lack.options()
        )
    };
    lacks.iter().map(command).collect::<Vec<_>>().join("; ")
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
