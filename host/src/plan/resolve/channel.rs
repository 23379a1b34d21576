//! The channels of a scenario: which topics replies come in, and how they are told apart.

use super::listing::Listing;
use super::{names, reading, refuse};
use crate::plan::channel::{self, Channel, FailureSign, ReadId, Sign, WriteId};
use crate::plan::error::Error;
use crate::plan::manifest::{ChannelTable, Named};
use crate::plan::origin::Origin;
use crate::plan::tree::Node;
use crate::plan::{Topic, written};

/// What Spring's replying templates and listeners take.
const SPRING_ID: &str = "header:kafka_correlationId";
const SPRING_TOPIC: &str = "header:kafka_replyTopic";
const KEEP: u32 = 1;

pub(super) fn resolve(
    tables: &Named<ChannelTable>,
    topics: &[Topic],
    document: &Node,
    listing: &mut Listing,
) -> Result<Vec<Channel>, Error> {
    tables.0.iter().map(|(name, table)| one(name, table, topics, document, listing)).collect()
}

fn one(
    name: &str,
    table: &ChannelTable,
    topics: &[Topic],
    document: &Node,
    listing: &mut Listing,
) -> Result<Channel, Error> {
    names::check_key("channel", name).map_err(|error| refuse(document, &["channels", name], error))?;
    let at = |key: &str, error| refuse(document, &["channels", name, key], error);
    let spring = table.spring.unwrap_or(false);
    let mut spring_key = |given: &Option<String>, key: &str, value: &str| {
        if given.is_none() && spring {
            let origin = Origin::Default("as Spring has it".to_owned());
            listing.assume(&format!("channels.{name}"), key, &written::quoted(value), origin);
            return Some(value.to_owned());
        }
        given.clone()
    };
    let request = spring_key(&table.request, "request", SPRING_ID);
    let reply = spring_key(&table.reply, "reply", SPRING_ID);
    let reply_topic = spring_key(&table.reply_topic, "reply-topic", SPRING_TOPIC);

    let numbers = numbers(table, topics).map_err(|error| at("topics", error))?;
    let request = match &request {
        Some(text) => channel::parse_written(text).map_err(|error| at("request", error))?,
        None => {
            let origin = Origin::Default("only `expect` can be used".to_owned());
            listing.assume(&format!("channels.{name}"), "request", "\"none\"", origin);
            None
        }
    };
    let reply = match (&reply, &request) {
        (Some(text), _) => channel::parse_read(text).map_err(|error| at("reply", error))?,
        (None, Some(place)) => {
            let (text, read) = match place {
                WriteId::Header(name) => (format!("header:{name}"), ReadId::Header(name.clone())),
                WriteId::Key => ("key".to_owned(), ReadId::Key),
            };
            let origin = Origin::Default("as `request`".to_owned());
            listing.assume(&format!("channels.{name}"), "reply", &written::quoted(&text), origin);
            read
        }
        (None, None) => {
            let error = Error::refused("it does not say where the id of a reply is read: `reply`");
            let hint = "reply = \"header:correlation-id\", \"key\" or \"json:/pointer\"";
            return Err(refuse(document, &["channels", name], error).with_hint(hint));
        }
    };
    let failure = match &table.failure {
        None => None,
        Some(text) => Some(failure(text, &numbers, topics).map_err(|error| at("failure", error))?),
    };
    let header = |text: &Option<String>, key: &str| match text {
        None => Ok(None),
        Some(_) if request.is_none() => {
            Err(at(key, Error::refused("the channel has no `request`, in which this header would be")))
        }
        Some(text) => channel::parse_header(text).map(Some).map_err(|error| at(key, error)),
    };
    let (reply_topic, reply_partition) =
        (header(&reply_topic, "reply-topic")?, header(&table.reply_partition, "reply-partition")?);
    if table.keep.is_none() {
        listing.assume(&format!("channels.{name}"), "keep", &KEEP.to_string(), Origin::by_default());
    }
    Ok(Channel {
        name: name.to_owned(),
        topics: numbers,
        request,
        reply,
        failure,
        reply_topic,
        reply_partition,
        keep: table.keep.map_or(KEEP, |keep| keep.0) as usize,
    })
}

/// The channel's topics by number, all instances of a repeated one.
fn numbers(table: &ChannelTable, topics: &[Topic]) -> Result<Vec<usize>, Error> {
    let Some(names) = table.topics.as_ref().filter(|names| !names.is_empty()) else {
        return Err(Error::refused("the channel has no `topics`, in which replies would come")
            .with_hint("topics = [\"NAME\"], a name of [topics]"));
    };
    reading::topics(names.iter().map(String::as_str), topics)
}

fn failure(text: &str, numbers: &[usize], topics: &[Topic]) -> Result<FailureSign, Error> {
    match channel::parse_sign(text)? {
        Sign::Other(failure) => Ok(failure),
        Sign::Topic(name) => {
            let failing = reading::of_name(&name, topics)?;
            if failing.iter().any(|number| !numbers.contains(number)) {
                let own: Vec<&str> = numbers.iter().map(|number| topics[*number].key.as_str()).collect();
                return Err(
                    Error::refused(format!("topic {name:?} is none of the channel's `topics`")).with_known(&name, own)
                );
            }
            Ok(FailureSign::Topics(failing))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::resolve::tests::{plan, refused};

    const TOPICS: &str = "[flows.write]\nkind = \"stream\"\n\
        [topics.work]\naccess = [\"produce\"]\n\
        [topics.done]\neach = [\"a\", \"b\"]\naccess = [\"consume\"]\n\
        [topics.error]\naccess = [\"consume\"]\n";

    fn channel(table: &str) -> Channel {
        plan(&format!("{TOPICS}[channels.import]\n{table}")).channels.remove(0)
    }

    fn no(table: &str) -> String {
        refused(&format!("{TOPICS}[channels.import]\n{table}"))
    }

    #[test]
    fn a_repeated_topic_is_all_of_its_instances() {
        let one = channel("topics = [\"done\", \"error\"]\nrequest = \"header:id\"\nfailure = \"topic:error\"");
        assert_eq!((one.topics, one.failure), (vec![1, 2, 3], Some(FailureSign::Topics(vec![3]))));
        assert_eq!((one.reply, one.keep), (ReadId::Header("id".into()), 1));
    }

    #[test]
    fn springs_headers_and_what_is_said_beside_them() {
        let id = "kafka_correlationId".to_owned();
        let one = channel("topics = [\"done\"]\nspring = true\nkeep = 0");
        assert_eq!((one.request, one.reply), (Some(WriteId::Header(id.clone())), ReadId::Header(id.clone())));
        assert_eq!((one.reply_topic.as_deref(), one.reply_partition, one.keep), (Some("kafka_replyTopic"), None, 0));
        let one = channel("topics = [\"done\"]\nspring = true\nreply = \"key\"\nreply-topic = \"header:to\"");
        assert_eq!((one.request, one.reply), (Some(WriteId::Header(id)), ReadId::Key));
        assert_eq!(one.reply_topic.as_deref(), Some("to"));
    }

    #[test]
    fn what_is_left_out_is_in_the_plan_with_its_origin() {
        let text = format!("{TOPICS}[channels.import]\ntopics = [\"done\"]\nspring = true");
        let plan = plan(&text);
        let shown = crate::plan::show(&plan);
        assert!(shown.contains("[channels.import]"), "{shown}");
        assert!(shown.contains("request     = \"header:kafka_correlationId\""), "{shown}");
        assert!(shown.contains("# default: as Spring has it"), "{shown}");
    }

    #[test]
    fn what_can_not_be_is_refused() {
        for (table, said) in [
            ("", "channels.import.topics: the channel has no `topics`"),
            ("topics = []", "channels.import.topics: the channel has no `topics`"),
            ("topics = [\"doen\"]", "there is no topic \"doen\"\n"),
            ("topics = [\"work\"]\nreply = \"key\"", "does not grant reading"),
            ("topics = [\"done\", \"done\"]", "stands here twice"),
            ("topics = [\"done\"]", "channels.import: it does not say where the id of a reply is read"),
            ("topics = [\"done\"]\nreply = \"json:job\"", "channels.import.reply: \"job\" is no JSON pointer"),
            ("topics = [\"done\"]\nreply = \"json:/a~b\"", "a ~ in it is alone"),
            ("topics = [\"done\"]\nrequest = \"json:/a\"", "hint: khost writes no id into a value"),
            ("topics = [\"done\"]\nreply = \"key\"\nfailure = \"topic:error\"", "is none of the channel's `topics`"),
            ("topics = [\"done\"]\nreply = \"key\"\nfailure = \"topic:erorr\"", "hint: did you mean `error`?"),
            ("topics = [\"done\"]\nreply = \"key\"\nreply-topic = \"header:a\"", "the channel has no `request`"),
            ("topics = [\"done\"]\nrequst = \"key\"", "unknown key `requst` in [channels.import]"),
        ] {
            let message = no(table);
            assert!(message.contains(said), "{table}: {message}");
            assert!(message.contains("scenario.toml:"), "{table}: {message}");
        }
        assert!(no("topics = [\"doen\"]\nreply = \"key\"").contains("hint: did you mean `done`?"));
    }

    #[test]
    fn what_lies_over_a_manifest_adds_no_channel() {
        let text = format!("{TOPICS}[channels.import]\ntopics = [\"done\"]\nspring = true");
        let sources = crate::plan::resolve::tests::sources(&text);
        let sets = vec!["channels.imprt.keep=2".to_owned()];
        let error = crate::plan::resolve(&crate::plan::Sources { sets, ..sources }).expect_err("there is none");
        assert!(error.to_string().contains("the manifest has no channel \"imprt\""), "{error}");
    }
}
