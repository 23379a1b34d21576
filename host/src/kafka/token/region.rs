//! The AWS region of a cluster of Amazon MSK: what is set, else what its brokers' names say, else the environment's.

use super::TokenError;

/// Where AWS's tools look for it, in their order.
const VARIABLES: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];

/// Finds it.
pub(super) fn find(
    set: Option<&str>,
    broker_host: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String, TokenError> {
    let given = set.filter(|region| !region.is_empty()).map(str::to_owned);
    given
        .or_else(|| of_host(broker_host?))
        .or_else(|| VARIABLES.iter().find_map(|name| variable(name).filter(|region| !region.is_empty())))
        .ok_or_else(|| TokenError::Region { host: broker_host.map(str::to_owned) })
}

/// `b-1.name.xyz.c2.kafka.us-east-1.amazonaws.com`, `boot-xyz.c1.kafka-serverless.eu-west-1.amazonaws.com`, and in China
/// `….amazonaws.com.cn`.
fn of_host(host: &str) -> Option<String> {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let host = host.strip_suffix(".cn").unwrap_or(&host).strip_suffix(".amazonaws.com")?;
    let mut labels = host.rsplit('.');
    let region = labels.next()?;
    let is_msk = matches!(labels.next()?, "kafka" | "kafka-serverless");
    (is_msk && !region.is_empty()).then(|| region.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "b-1.name.xyz.c2.kafka.us-east-1.amazonaws.com";

    fn unset(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn brokers_name_it() {
        let found = |host| of_host(host).unwrap_or_default();
        assert_eq!(found(HOST), "us-east-1");
        assert_eq!(found("B-1.Name.Xyz.C2.Kafka.US-EAST-1.Amazonaws.com."), "us-east-1");
        assert_eq!(found("b-1-public.name.xyz.c2.kafka.eu-central-1.amazonaws.com"), "eu-central-1");
        assert_eq!(found("boot-xyz.c1.kafka-serverless.eu-west-1.amazonaws.com"), "eu-west-1");
        assert_eq!(found("b-2.name.xyz.c2.kafka.cn-north-1.amazonaws.com.cn"), "cn-north-1");
        assert_eq!(found("b-2.name.xyz.c2.kafka.us-gov-west-1.amazonaws.com"), "us-gov-west-1");
        for other in
            ["localhost", "", "10.0.0.1", "amazonaws.com", ".amazonaws.com", "s3.us-east-1.amazonaws.com", "kafka.cn"]
        {
            assert_eq!(of_host(other), None, "{other}");
        }
        assert_eq!(of_host("kafka.us-east-1.amazonaws.com.example.org"), None);
    }

    #[test]
    fn what_is_set_goes_first_and_the_environment_last() {
        let variable = |name: &str| (name == "AWS_DEFAULT_REGION").then(|| "sa-east-1".to_owned());
        assert_eq!(find(Some("eu-north-1"), Some(HOST), variable).unwrap(), "eu-north-1");
        assert_eq!(find(None, Some(HOST), variable).unwrap(), "us-east-1");
        assert_eq!(find(None, Some("localhost"), variable).unwrap(), "sa-east-1");
        assert_eq!(find(None, None, |name| Some(name.to_owned())).unwrap(), "AWS_REGION");
        assert_eq!(
            find(Some(""), None, |name| (name != "AWS_REGION").then(|| "x".into()).or(Some("".into()))).unwrap(),
            "x"
        );
    }

    #[test]
    fn where_nothing_tells_it_that_is_said() {
        let error = find(None, Some("localhost"), unset).unwrap_err();
        assert!(matches!(&error, TokenError::Region { host: Some(host) } if host == "localhost"));
        assert!(find(None, None, unset).unwrap_err().hint().contains("AWS_REGION"));
    }
}
