//! A `.properties` file as `java.util.Properties.load(InputStream)` reads it: ISO-8859-1, to the byte.
//!
//! The crate java-properties is not used: it decodes Windows-1252 and fails on the surrogate pairs that Java writes.
//! Nothing here knows Kafka, and values are not trimmed: that is Kafka's, not Java's.

use std::fmt;

/// A name and its value, as they stand in a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Line {
    /// Without escapes.
    pub name: String,
    /// Without escapes; not trimmed.
    pub value: String,
    /// Where it begins, counted from 1.
    pub line: usize,
}

/// Without name and value: either may be a part of a secret.
impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)
    }
}

/// Java does not load the file, or loads what is no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct Malformed {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: &'static str,
}

/// All that is set, in the order of the file; what is set twice stands here twice.
///
/// # Errors
/// At a `\u` without four hexadecimal digits, which Java refuses, and at half a surrogate pair, which is no character.
pub fn parse(bytes: &[u8]) -> Result<Vec<Line>, Malformed> {
    let mut reader = Reader { bytes, at: 0, line: 1 };
    let mut lines = Vec::new();
    while let Some((text, line)) = reader.logical_line() {
        let (name, value) = split(&text);
        let decode = |text| decode(text).map_err(|problem| Malformed { line, problem });
        lines.push(Line { name: decode(name)?, value: decode(value)?, line });
    }
    Ok(lines)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl Reader<'_> {
    /// The next byte; an end of line, whichever of the three it is, reads as `\n`.
    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        if byte == b'\r' && self.bytes.get(self.at) == Some(&b'\n') {
            self.at += 1;
        }
        if matches!(byte, b'\r' | b'\n') {
            self.line += 1;
            return Some(b'\n');
        }
        Some(byte)
    }

    /// Where a `\n` or `\r` is a file's last byte, Java drops a backslash before it and the line ends, be it empty. Before
    /// `\r\n` the line goes on, and if nothing follows and it is empty, it is none.
    fn ended_by_one_byte(&self) -> bool {
        self.at == self.bytes.len() && !self.bytes.ends_with(b"\r\n")
    }

    /// A line with its continuations joined and its escapes kept; comments and blank lines are none. With the line where
    /// its text begins.
    fn logical_line(&mut self) -> Option<(Vec<u8>, usize)> {
        let mut text = Vec::new();
        let mut began = self.line;
        let mut in_margin = true;
        let mut continued = false;
        let mut escaped = false;
        loop {
            if text.is_empty() {
                began = self.line;
            }
            let Some(byte) = self.next() else { break };
            if in_margin {
                if is_blank(byte) || (byte == b'\n' && !continued) {
                    continue;
                }
                in_margin = false;
                continued = false;
            }
            match byte {
                b'#' | b'!' if text.is_empty() => {
                    while self.next().is_some_and(|byte| byte != b'\n') {}
                    in_margin = true;
                }
                b'\n' if text.is_empty() => in_margin = true,
                b'\n' if escaped && !self.ended_by_one_byte() => {
                    text.pop();
                    (in_margin, continued, escaped) = (true, true, false);
                }
                b'\n' => break,
                _ => {
                    escaped = byte == b'\\' && !escaped;
                    text.push(byte);
                }
            }
        }
        if text.is_empty() {
            return None;
        }
        if escaped {
            text.pop();
        }
        Some((text, began))
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\x0c')
}

/// The name ends at the first `=`, `:` or blank that has no backslash before it; blanks and one `=` or `:` follow it.
fn split(text: &[u8]) -> (&[u8], &[u8]) {
    let mut escaped = false;
    let end = text.iter().position(|byte| {
        let ends = !escaped && (is_blank(*byte) || matches!(byte, b'=' | b':'));
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    let rest = match skip_blanks(rest) {
        [b'=' | b':', value @ ..] => skip_blanks(value),
        value => value,
    };
    (name, rest)
}

fn skip_blanks(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(text.len());
    &text[start..]
}

/// ISO-8859-1 with Java's escapes. Java's text is UTF-16: two `\u` make one character where they are a pair.
fn decode(text: &[u8]) -> Result<String, &'static str> {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        let unit = if byte != b'\\' {
            byte.into()
        } else {
            match bytes.next() {
                Some(b'u') => hex(bytes.by_ref().take(4)).ok_or("\\u has to be followed by four hexadecimal digits")?,
                Some(b't') => b'\t'.into(),
                Some(b'n') => b'\n'.into(),
                Some(b'r') => b'\r'.into(),
                Some(b'f') => 0x0c,
                Some(byte) => byte.into(),
                None => break,
            }
        };
        units.push(unit);
    }
    String::from_utf16(&units).map_err(|_| "\\u with half a surrogate pair is no character")
}

fn hex(digits: impl Iterator<Item = u8>) -> Option<u16> {
    let digits: Option<Vec<u32>> = digits.map(|digit| char::from(digit).to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() == 4)?;
    u16::try_from(digits.iter().fold(0, |value, digit| value * 16 + digit)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each file holds, as Java 17 told it.
    type Cases = &'static [(&'static [u8], &'static [(&'static str, &'static str)])];

    #[test]
    #[rustfmt::skip]
    fn files_read_as_java_reads_them() {
        let cases: Cases = &[
            (b"a=b", &[("a", "b")]),
            (b"a = b ", &[("a", "b ")]),
            (b"a:b", &[("a", "b")]),
            (b"a b", &[("a", "b")]),
            (b"a\tb", &[("a", "b")]),
            (b"a\x0c=\x0cb", &[("a", "b")]),
            (b"a", &[("a", "")]),
            (b"a=", &[("a", "")]),
            (b"=b", &[("", "b")]),
            (b"a = = b", &[("a", "= b")]),
            (b"a\\=b\\:c\\ d=e", &[("a=b:c d", "e")]),
            (b"  # not=this\n! nor=this\na=b#c!", &[("a", "b#c!")]),
            (b"a=b\\\n   # c", &[("a", "b# c")]),
            (b"a=b\\\\\n=c", &[("a", "b\\"), ("", "c")]),
            (b"a=1\\\r\n  2\\\r  3\\\n\\\n4", &[("a", "1234")]),
            (b"\\\n# a comment after all\nb=1", &[("b", "1")]),
            (b"a=b\\", &[("a", "b")]),
            (b"a=b\\\n", &[("a", "b")]),
            (b"\\", &[("", "")]),
            (b"\\\n", &[("", "")]),
            (b"\\\r\n", &[]),
            (b"a=1\r\rb=2\r\n\nc=3", &[("a", "1"), ("b", "2"), ("c", "3")]),
            (b"a=\\u00e9\\u20AC\\ud83d\\ude00", &[("a", "é€😀")]),
            (b"a=\\ud83d\\\n   \\ude00", &[("a", "😀")]),
            (b"a=\xe9\x80\xff", &[("a", "é\u{80}ÿ")]),
            (b"\xef\xbb\xbfa=b", &[("ï»¿a", "b")]),
            (b"a=\\t\\n\\r\\f\\b\\q\\\"\\\\", &[("a", "\t\n\r\u{c}bq\"\\")]),
            (b"a=\\\n\n b=1", &[("a", ""), ("b", "1")]),
            (b" \x0c\t a=b \t", &[("a", "b \t")]),
            (b"a=\x00\x0b\x85b", &[("a", "\u{0}\u{b}\u{85}b")]),
            (b"a=1\na=2", &[("a", "1"), ("a", "2")]),
            (b"p=\"it's; #1 = 2:3\"", &[("p", "\"it's; #1 = 2:3\"")]),
        ];
        for (file, held) in cases {
            let lines = parse(file).expect("Java reads it");
            let read: Vec<_> = lines.iter().map(|line| (line.name.as_str(), line.value.as_str())).collect();
            assert_eq!(read, *held, "{}", file.escape_ascii());
        }
    }

    #[test]
    fn a_setting_is_where_its_text_begins() {
        let places = |file: &[u8]| parse(file).expect("well-formed").iter().map(|line| line.line).collect::<Vec<_>>();
        assert_eq!(places(b"a=1\nb=2\r\n\r\n# c\rd=4\\\r\n  5\n\ne=6"), [1, 2, 5, 8]);
        assert_eq!(places(b"\\\n\\\n  a=1"), [3]);
    }

    #[test]
    fn what_java_refuses_and_what_is_no_text_is_refused_with_its_line() {
        for (file, line) in [
            (&b"a=1\nb=\\u12"[..], 2),
            (b"\\u00g0=1", 1),
            (b"a=\\u+041", 1),
            (b"a=\\uuuu0041", 1),
            (b"\\u004=1", 1),
            (b"a=\\ud83d", 1),
            (b"\n\na=\\ude00\\ud83d", 3),
            (b"a=\\ud83d\nb=\\ude00", 1),
        ] {
            assert_eq!(parse(file).expect_err("malformed").line, line, "{}", file.escape_ascii());
        }
        let malformed = parse(b"sasl.password=hunter2\\u12").expect_err("malformed").to_string();
        assert_eq!(malformed, "line 1: \\u has to be followed by four hexadecimal digits");
    }
}
