//! One request to a broker without TLS, and its answer: for what rdkafka's admin client doesn't have.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable};

const LIMIT: Duration = Duration::from_secs(10);

/// Panics when the broker doesn't answer; what it answers is the caller's to judge.
pub(super) fn ask<A: Decodable>(address: &str, api: ApiKey, version: i16, request: &impl Encodable) -> A {
    let header = RequestHeader::default().with_request_api_key(api as i16).with_request_api_version(version);
    let mut body = BytesMut::new();
    header.encode(&mut body, api.request_header_version(version)).expect("the version is known");
    request.encode(&mut body, version).expect("the version is known");
    let mut frame = BytesMut::new();
    frame.put_i32(body.len() as i32);
    frame.put(body);
    let mut answer = exchange(address, &frame).unwrap_or_else(|error| panic!("{api:?} to {address}: {error}"));
    ResponseHeader::decode(&mut answer, api.response_header_version(version)).expect("a header");
    A::decode(&mut answer, version).unwrap_or_else(|error| panic!("{api:?} of {address}: {error}"))
}

fn exchange(address: &str, frame: &[u8]) -> std::io::Result<Bytes> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.write_all(frame)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut answer = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut answer)?;
    Ok(answer.into())
}
