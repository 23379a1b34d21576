//! The value of `sasl.jaas.config` as Kafka's `JaasConfig` reads it: `CLASS FLAG name="value" … ;`.
//!
//! Kafka reads it with `java.io.StreamTokenizer` in its default syntax and with `-`, `_` and `$` in words; the oddities
//! of that are kept: a lone `/` starts a comment, a bare number is no value, an unclosed quote ends with its line.
//! No error shows a part of the text, since any part may be of a password.

use std::fmt;

/// A login module and what it is told.
#[derive(PartialEq, Eq)]
pub(in crate::plan) struct Module {
    pub class: String,
    /// In the order of the text; of an option that is given twice, the later value.
    pub options: Vec<(String, String)>,
}

/// Without the options, which are secrets.
impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("class", &self.class).finish_non_exhaustive()
    }
}

/// Kafka refuses the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in crate::plan) enum Malformed {
    #[error("it has to begin with the name of a login module")]
    NoClass,
    #[error("after the login module stands `required`, `requisite`, `sufficient` or `optional`")]
    NoFlag,
    #[error("an option is written name=\"value\", its value in double quotes")]
    BadOption,
    #[error("it has to end with a semicolon")]
    NoEnd,
    #[error("it has to name one login module, and names several")]
    Several,
}

impl Module {
    pub(in crate::plan) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(option, _)| option == name).map(|(_, value)| value.as_str())
    }
}

pub(in crate::plan) fn parse(text: &str) -> Result<Module, Malformed> {
    let mut tokens = Tokens { chars: text.chars().collect(), at: 0 };
    let first = tokens.next().ok_or(Malformed::NoClass)?;
    let module = entry(first, &mut tokens)?;
    match tokens.next() {
        None => Ok(module),
        Some(first) => Err(entry(first, &mut tokens).err().unwrap_or(Malformed::Several)),
    }
}

fn entry(first: Token, tokens: &mut Tokens) -> Result<Module, Malformed> {
    let class = first.text().filter(|class| !class.is_empty()).ok_or(Malformed::NoClass)?;
    let flag = tokens.next().and_then(Token::text).ok_or(Malformed::NoFlag)?.to_uppercase();
    if !["REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL"].contains(&flag.as_str()) {
        return Err(Malformed::NoFlag);
    }
    let mut options: Vec<(String, String)> = Vec::new();
    loop {
        let name = match tokens.next() {
            None => return Err(Malformed::NoEnd),
            Some(Token::Mark(';')) => return Ok(Module { class, options }),
            // Kafka lets an option have a number for its name, and then no one can ask for it.
            Some(name) => name.text().ok_or(Malformed::BadOption)?,
        };
        let equals = tokens.next() == Some(Token::Mark('='));
        let value = tokens.next().and_then(Token::text).filter(|_| equals).ok_or(Malformed::BadOption)?;
        match options.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => options.push((name, value)),
        }
    }
}

#[derive(Debug, PartialEq)]
enum Token {
    /// A word, or what stood in quotes.
    Text(String),
    Number,
    Mark(char),
}

impl Token {
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number | Self::Mark(_) => None,
        }
    }
}

struct Tokens {
    chars: Vec<char>,
    at: usize,
}

impl Iterator for Tokens {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            let c = self.read()?;
            if c <= ' ' {
                continue;
            }
            if c == '/' {
                self.comment();
                continue;
            }
            return Some(if starts_number(c) {
                self.number(c)
            } else if is_word(c) {
                self.at -= 1;
                Token::Text(self.take_while(|c| is_word(c) || starts_number(c)))
            } else if matches!(c, '"' | '\'') {
                Token::Text(self.quoted(c))
            } else {
                Token::Mark(c)
            });
        }
    }
}

impl Tokens {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn read(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn take_while(&mut self, takes: impl Fn(char) -> bool) -> String {
        let taken: String = self.chars[self.at..].iter().take_while(|c| takes(**c)).collect();
        self.at += taken.chars().count();
        taken
    }

    fn number(&mut self, first: char) -> Token {
        if first == '-' && !self.peek().is_some_and(|c| c == '.' || c.is_ascii_digit()) {
            return Token::Mark('-');
        }
        if first != '.' {
            self.take_while(|c| c.is_ascii_digit());
            if self.peek() == Some('.') {
                self.at += 1;
            }
        }
        self.take_while(|c| c.is_ascii_digit());
        Token::Number
    }

    fn quoted(&mut self, quote: char) -> String {
        let mut text = String::new();
        while let Some(c) = self.peek().filter(|c| *c != '\n' && *c != '\r') {
            self.at += 1;
            match c {
                _ if c == quote => break,
                '\\' => text.push(self.escaped()),
                _ => text.push(c),
            }
        }
        text
    }

    /// What stands after a backslash: an octal number up to 377, a letter for a control character, or itself.
    fn escaped(&mut self) -> char {
        match self.read() {
            Some(first @ '0'..='7') => {
                let mut value = first.to_digit(8).unwrap_or_default();
                for _ in 0..if first <= '3' { 2 } else { 1 } {
                    let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else { break };
                    self.at += 1;
                    value = value * 8 + digit;
                }
                char::from_u32(value).unwrap_or_default()
            }
            Some('a') => '\x07',
            Some('b') => '\x08',
            Some('f') => '\x0c',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\x0b',
            Some(c) => c,
            // Java's -1 for the end of the text, as a character.
            None => '\u{ffff}',
        }
    }

    /// After a `/`. The character that tells a `/` alone from `//` and `/*` is a part of the comment, be it a line's end.
    fn comment(&mut self) {
        if self.read() != Some('*') {
            while self.read().is_some_and(|c| c != '\n' && c != '\r') {}
            return;
        }
        let mut before = '\0';
        while let Some(mut c) = self.read() {
            if c == '/' && before == '*' {
                return;
            }
            // What begins a line is only looked at as what stands before the next character.
            if c == '\r' && self.peek() == Some('\n') {
                c = '\n';
                self.at += 1;
            }
            if matches!(c, '\r' | '\n') {
                let Some(next) = self.read() else { return };
                c = next;
            }
            before = c;
        }
    }
}

fn starts_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | '-')
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '-' | '_' | '$') || c >= '\u{a0}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_what_kafka_4_3_reads() {
        for (text, options) in [
            (r#"username="a" password="b";"#, &[("username", "a"), ("password", "b")][..]),
            (r#"password="a;b=c#d e'f";"#, &[("password", "a;b=c#d e'f")]),
            (r#"password="a\"b\\c";"#, &[("password", "a\"b\\c")]),
            (r#"password='a"b';"#, &[("password", "a\"b")]),
            (r#"password="\101\0\3777\477\8\n\t\q";"#, &[("password", "A\0ÿ7'78\n\tq")]),
            ("password=abc;", &[("password", "abc")]),
            ("password=a$b-c_d.e1;", &[("password", "a$b-c_d.e1")]),
            ("x=\"a\" // the old one\n  y=\"/*no*/\" /* \"z\"=\"z\" */;", &[("x", "a"), ("y", "/*no*/")]),
            ("x=/ a comment\n\"b\";", &[("x", "b")]),
            (r#"y="1" x="a"y="b";"#, &[("y", "b"), ("x", "a")]),
            (r#""user name"='';"#, &[("user name", "")]),
            ("password=\"é€😀\u{85}\";", &[("password", "é€😀\u{85}")]),
            ("password=\"ends with the line\n;", &[("password", "ends with the line")]),
            (r#"x='a"; /* */ password="b';"#, &[("x", "a\"; /* */ password=\"b")]),
            (";", &[]),
        ] {
            let module = parse(&format!("P required {text}")).unwrap_or_else(|error| panic!("{text}: {error}"));
            let read: Vec<_> = module.options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(read, options, "{text}");
            assert_eq!(module.class, "P");
        }
    }

    #[test]
    fn classes_and_flags_are_what_kafka_4_3_reads() {
        for (text, class) in [
            ("a.b.C\n\tREQUISITE;", "a.b.C"),
            ("'P' \"optional\" x=\"1\";", "P"),
            ("/* P */ o.a-b$c_d sufficient;//", "o.a-b$c_d"),
            ("/\n// the line that follows a lone / is of its comment\nP Required;", "P"),
        ] {
            assert_eq!(parse(text).expect("Kafka reads it").class, class, "{text}");
        }
    }

    #[test]
    fn what_kafka_refuses_is_refused_and_not_shown() {
        use Malformed::{BadOption, NoClass, NoEnd, NoFlag, Several};
        for (text, expected) in [
            ("", NoClass),
            ("// P required;", NoClass),
            ("\"\" required;", NoClass),
            ("; P required;", NoClass),
            ("P;", NoFlag),
            ("P needed;", NoFlag),
            ("P required password=hunter2", NoEnd),
            ("P required password=\"hunter2\\\";", NoEnd),
            ("P required password;", BadOption),
            ("P required password=123;", BadOption),
            ("P required password=-hunter2;", BadOption),
            ("P required password=hunter2@b;", BadOption),
            ("P required password=\"hunter2\" Q required;", BadOption),
            ("P required; Q required;", Several),
            ("P required; Q required", NoEnd),
        ] {
            assert_eq!(parse(text), Err(expected), "{text}");
            assert!(!expected.to_string().contains("hunter2"));
        }
    }
}
