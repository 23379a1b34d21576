//! The consumer groups that will be joined, and those whose lag is told: their coordinators answer, and the principal may read
//! with the first, and describe the others.

use std::time::{Duration, Instant};

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{DescribeGroupsRequest, FindCoordinatorRequest, GroupId};
use kafka_protocol::protocol::StrBytes;

use super::PreflightError;
use super::brokers::{Brokers, ask, failed};
use super::rights::Operation;
use crate::kafka::Code;

/// How long a cluster may take to find a coordinator; the first group ever makes it create a topic.
const COORDINATOR: Duration = Duration::from_secs(10);
/// From here on several groups can be asked for at once, in another field.
const SEVERAL: i16 = 4;
/// From here on a group that nobody has joined yet is an error, without the rights to it (KIP-1043).
const WITHOUT_RIGHTS: i16 = 6;
/// From here on rights can be asked for.
const WITH_RIGHTS: i16 = 3;

const NONE: i16 = 0;
const LOADING: i16 = ResponseError::CoordinatorLoadInProgress.code();
const NO_COORDINATOR_YET: i16 = ResponseError::CoordinatorNotAvailable.code();
const NOT_COORDINATOR: i16 = ResponseError::NotCoordinator.code();
const GROUP_DENIED: i16 = ResponseError::GroupAuthorizationFailed.code();

/// What is lacking to read with a group; nothing at all where the broker does not tell.
pub(super) fn lacks(brokers: &mut Brokers, group: &str) -> Result<Option<Vec<Operation>>, PreflightError> {
    let Some(bits) = rights(brokers, group)? else { return Ok(Some(vec![Operation::Describe, Operation::Read])) };
    let told = Operation::Read.is_in(bits);
    Ok(told.map(|allowed| if allowed { Vec::new() } else { vec![Operation::Read] }))
}

/// Whether the group may be described, and so asked what it has committed.
pub(super) fn is_described(brokers: &mut Brokers, group: &str) -> Result<bool, PreflightError> {
    Ok(rights(brokers, group)?.is_some())
}

/// The rights to a group, as the broker's bits; none where it may not even be described.
fn rights(brokers: &mut Brokers, group: &str) -> Result<Option<i32>, PreflightError> {
    let until = Instant::now() + COORDINATOR;
    loop {
        let (code, coordinator) = find(brokers, group)?;
        let code = match (code, coordinator) {
            (NONE, Some(id)) => {
                let (code, bits) = describe(brokers, id, group)?;
                if code == NONE {
                    return Ok(Some(bits));
                }
                code
            }
            (code, _) => code,
        };
        match code {
            GROUP_DENIED => return Ok(None),
            LOADING | NO_COORDINATOR_YET | NOT_COORDINATOR if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(50));
            }
            code => return Err(PreflightError::Group { name: group.to_owned(), reason: Code(code.into()).text() }),
        }
    }
}

/// The group's coordinator: a code of Kafka's, and the broker if that is none.
fn find(brokers: &mut Brokers, group: &str) -> Result<(i16, Option<i32>), PreflightError> {
    let (id, connection) = brokers.any();
    let name = StrBytes::from_string(group.to_owned());
    let several = connection.version::<FindCoordinatorRequest>().unwrap_or_default() >= SEVERAL;
    let request = if several {
        FindCoordinatorRequest::default().with_coordinator_keys(vec![name])
    } else {
        FindCoordinatorRequest::default().with_key(name)
    };
    let answer = ask((id, connection), &request)?;
    let found = if several {
        answer.coordinators.first().map_or((NO_COORDINATOR_YET, -1), |found| (found.error_code, found.node_id.0))
    } else {
        (answer.error_code, answer.node_id.0)
    };
    Ok((found.0, Some(found.1).filter(|id| *id >= 0)))
}

/// What the coordinator says: a code, and the rights.
fn describe(brokers: &mut Brokers, id: i32, group: &str) -> Result<(i16, i32), PreflightError> {
    let Some(connection) = brokers.get(id) else { return Ok((NOT_COORDINATOR, 0)) };
    let version = connection.version::<DescribeGroupsRequest>().unwrap_or_default().min(WITHOUT_RIGHTS - 1);
    let request = DescribeGroupsRequest::default()
        .with_groups(vec![GroupId(StrBytes::from_string(group.to_owned()))])
        .with_include_authorized_operations(version >= WITH_RIGHTS);
    let answer = connection.ask_as(&request, version).map_err(|error| failed(id, connection, error))?;
    let group = answer.groups.first();
    Ok(group.map_or((NOT_COORDINATOR, 0), |group| (group.error_code, group.authorized_operations)))
}
