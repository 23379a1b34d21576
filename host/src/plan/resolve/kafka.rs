//! librdkafka's settings of a flow, checked together.

use super::refuse;
use crate::plan::error::Error;
use crate::plan::kafka_names::{Settings, canonical, check_together, for_producers, is_of_the_connection};
use crate::plan::manifest::Kind;
use crate::plan::tree::Node;

/// Checks what a flow's clients get: the settings for all, and the flow's over them. A consume flow has clients of both
/// kinds, and each gets what it takes.
pub(super) fn check(flow: &str, kind: Kind, for_all: &Settings, own: &Settings, document: &Node) -> Result<(), Error> {
    if kind != Kind::Consume
        && let Some(name) = own.keys().find(|name| !for_producers(name))
    {
        let path = written(&["flows", flow, "kafka"], name, document).unwrap_or_default();
        return Err(refuse(
            document,
            &path,
            Error::refused("this is a consumer's setting, and this flow only produces"),
        ));
    }
    if let Some(name) = own.keys().find(|name| is_of_the_connection(name)) {
        let path = written(&["flows", flow, "kafka"], name, document).unwrap_or_default();
        let error = Error::refused("how the cluster is reached is the same for all flows");
        return Err(refuse(document, &path, error.with_hint("set it in [kafka]")));
    }
    let mut together = for_all.clone();
    together.extend(own.clone());
    check_together(&together).map_err(|(name, error)| {
        let path = written(&["flows", flow, "kafka"], name, document).or_else(|| written(&["kafka"], name, document));
        refuse(document, &path.unwrap_or_default(), error)
    })
}

/// The path of a setting by the name that was written for it.
fn written<'a>(table: &[&'a str], name: &str, document: &'a Node) -> Option<Vec<&'a str>> {
    let key = document.find(table)?.table()?.keys().find(|key| canonical(key) == name)?;
    Some([table, &[key]].concat())
}
