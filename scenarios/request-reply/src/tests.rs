use khost_guest::testing::{Host, Record};

use super::*;

fn times(service: &str) -> Vec<f64> {
    let host = Host::new().flow("app").topic("requests", 2).topic("replies", 1).param("service", service).seed(3);
    let mut app = host.duration_param("service-time", Duration::from_millis(50)).consume::<App>().expect("good");
    let call = app.handle(&vec![Record::new("requests"); 20_000]);
    call.messages
        .iter()
        .map(|reply| reply.value_text().expect("text").parse::<f64>().expect("nanoseconds") / 1e6)
        .collect()
}

#[test]
fn fixed_times_are_fixed() {
    assert!(times("fixed").iter().all(|ms| *ms == 50.0));
}

/// An exponential distribution's standard deviation is its mean.
#[test]
fn exponential_times_have_the_mean_and_the_spread() {
    let times = times("exponential");
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let deviation = (times.iter().map(|ms| (ms - mean).powi(2)).sum::<f64>() / times.len() as f64).sqrt();
    assert!((mean - 50.0).abs() < 1.0 && (deviation - 50.0).abs() < 1.5, "{mean} {deviation}");
}
