//! From text to token: what it may look like, and what a JWT says of itself. Nothing is verified: that is for the broker.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::{MOST_BYTES, Refusal, Token};

/// How long a token is taken to live that does not tell: an opaque one, or a JWT without `exp`.
const UNTOLD: Duration = Duration::from_secs(5 * 60);
/// The end of the year 9999, in seconds: no date beyond it can be shown, or counted in microseconds.
const LAST_SECOND: f64 = 253_402_300_799.0;

/// Takes a text for a token; line breaks at its end do not count.
pub(super) fn token(text: &[u8], now: SystemTime) -> Result<Token, Refusal> {
    let breaks = text.iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    let value = checked(&text[..text.len() - breaks])?;
    let claims = claims(value);
    let expires = claims.as_ref().and_then(expiry).unwrap_or(now + UNTOLD);
    if expires <= now {
        return Err(Refusal::Expired { at: expires });
    }
    let principal = claims.as_ref().and_then(|claims| claims.get("sub")?.as_str()).filter(|sub| !sub.is_empty());
    // it goes to librdkafka as a C string
    let principal = principal.map(|sub| sub.replace('\0', ""));
    Ok(Token { value: value.into(), expires, principal, extensions: Vec::new() })
}

/// RFC 7628, 3.1, and RFC 6750, 2.1: `1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="`.
fn checked(text: &[u8]) -> Result<&str, Refusal> {
    if text.is_empty() {
        return Err(Refusal::Empty);
    }
    if text.len() > MOST_BYTES {
        return Err(Refusal::TooLong);
    }
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    // padding alone is no token
    let body = &text[..(text.len() - padding).max(1)];
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(byte);
    if let Some(at) = body.iter().position(|byte| !allowed(byte)) {
        return Err(Refusal::Character { byte: body[at], at: at + 1 });
    }
    Ok(std::str::from_utf8(text).expect("ASCII only, as was looked at"))
}

/// A JWT's claims: `header.claims.signature`, both objects in base64url. Anything else is an opaque token.
fn claims(token: &str) -> Option<Map<String, Value>> {
    let object = |part: &str| -> Option<Map<String, Value>> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part.trim_end_matches('=')).ok()?).ok()
    };
    let parts: Vec<_> = token.split('.').collect();
    let [header, claims, _signature] = parts[..] else { return None };
    object(header)?;
    object(claims)
}

/// `exp` of RFC 7519: seconds since 1970, which may have a fraction.
fn expiry(claims: &Map<String, Value>) -> Option<SystemTime> {
    let seconds = claims.get("exp")?.as_f64()?.clamp(0.0, LAST_SECOND);
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds))
}

/// A JWT that nobody signed, for tests.
#[cfg(test)]
pub(super) fn unsigned(claims: &str) -> String {
    format!("{}.{}.", URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#), URL_SAFE_NO_PAD.encode(claims))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds)
    }

    fn read(text: &str) -> Result<Token, Refusal> {
        token(text.as_bytes(), at(1_000.0))
    }

    #[test]
    fn a_jwt_tells_its_end_and_its_subject() {
        let text = unsigned(r#"{"sub":"alice","exp":1600.5,"iat":1}"#);
        let token = read(&text).unwrap();
        assert_eq!((token.expires, token.principal.as_deref()), (at(1600.5), Some("alice")));
        assert_eq!(token.value(), text);
        assert!(token.extensions.is_empty());
    }

    #[test]
    fn what_does_not_tell_lives_for_five_minutes() {
        let made = [
            "opaque",
            "two.parts",
            "a.b.c",
            "e30.bm90IGpzb24.c2ln",
            "a.b.c.d.e",
            "padded+/~==",
            &unsigned("{}"),
            &unsigned("[]"),
            &unsigned(r#"{"exp":"soon"}"#),
        ];
        for text in made {
            let token = read(text).unwrap();
            assert_eq!((token.expires, token.principal.as_deref()), (at(1_300.0), None), "{text}");
        }
    }

    #[test]
    fn an_expired_one_is_refused_with_its_time() {
        assert_eq!(read(&unsigned(r#"{"exp":1000}"#)), Err(Refusal::Expired { at: at(1_000.0) }));
        assert_eq!(read(&unsigned(r#"{"exp":-5}"#)), Err(Refusal::Expired { at: at(0.0) }));
        assert!(read(&unsigned(r#"{"exp":1001}"#)).is_ok());
    }

    #[test]
    fn an_end_far_away_can_be_counted_and_shown() {
        let token = read(&unsigned(r#"{"exp":1e300}"#)).unwrap();
        assert_eq!(humantime::format_rfc3339_seconds(token.expires).to_string(), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn line_breaks_at_the_end_do_not_count() {
        assert_eq!(read("opaque\r\n\n").unwrap().value(), "opaque");
        for empty in ["", "\n", "\r\n"] {
            assert_eq!(read(empty), Err(Refusal::Empty));
        }
    }

    #[test]
    fn what_the_grammar_does_not_have_is_refused() {
        let refused = |text: &[u8]| match token(text, at(1_000.0)) {
            Err(Refusal::Character { byte, at }) => (byte, at),
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(b"Bearer abc"), (b' ', 7));
        assert_eq!(refused(br#"{"access_token":"abc"}"#), (b'{', 1));
        assert_eq!(refused(b"two\nlines"), (b'\n', 4));
        assert_eq!(refused(b"a=b"), (b'=', 2));
        assert_eq!(refused(b"=="), (b'=', 1));
        assert_eq!(refused(b"a\x01b"), (1, 2));
        assert_eq!(refused("tökén".as_bytes()), (0xc3, 2));
        assert_eq!(refused(b"\0"), (0, 1));
        assert_eq!(token(&vec![b'a'; MOST_BYTES + 1], at(0.0)), Err(Refusal::TooLong));
        assert!(token(&vec![b'a'; MOST_BYTES], at(0.0)).is_ok());
    }

    #[test]
    fn a_subject_is_a_c_string() {
        assert_eq!(read(&unsigned(r#"{"sub":"a\u0000b"}"#)).unwrap().principal.as_deref(), Some("ab"));
        assert_eq!(read(&unsigned(r#"{"sub":""}"#)).unwrap().principal, None);
    }
}
