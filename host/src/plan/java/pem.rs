//! PEM as Kafka's `DefaultSslEngineFactory.PemParser` takes it, in one line as well, and as OpenSSL reads it.

/// The blocks whose label ends so, such as `PRIVATE KEY`, in the form that OpenSSL reads: lines of 64 letters. What stands
/// between blocks, and lines with a colon in them, are left out, as Kafka does.
pub(super) fn blocks(text: &str, kind: &str) -> Vec<String> {
    let mut rest = text;
    let mut found = Vec::new();
    while let Some((label, body, after)) = next_block(rest) {
        rest = after;
        let letters: String = body.lines().filter(|line| !line.contains(':')).flat_map(str::split_whitespace).collect();
        let is_base64 = letters.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
        if label.ends_with(kind) && is_base64 && !letters.is_empty() {
            found.push(format!("-----BEGIN {label}-----\n{}-----END {label}-----\n", folded(&letters)));
        }
    }
    found
}

/// Label, body and what follows of the first block that has an end.
fn next_block(text: &str) -> Option<(String, &str, &str)> {
    let (before_end, after) = text.split_once("-END")?;
    let (end, after) = after.split_once('-')?;
    let (_, block) = before_end.rsplit_once("-BEGIN")?;
    let (label, body) = block.split_once('-')?;
    let [label, end] = [label, end].map(|label| label.split_whitespace().collect::<Vec<_>>().join(" "));
    let body = if label == end { body.trim_matches('-') } else { "" };
    Some((label, body, after))
}

fn folded(letters: &str) -> String {
    let mut lines = String::new();
    for (at, letter) in letters.chars().enumerate() {
        lines.push(letter);
        if at % 64 == 63 {
            lines.push('\n');
        }
    }
    if !lines.ends_with('\n') {
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_written_as_openssl_reads_them() {
        let letters = "A".repeat(65);
        let whole = format!("-----BEGIN CERTIFICATE-----\n{}\nA\n-----END CERTIFICATE-----\n", "A".repeat(64));
        for text in [
            whole.clone(),
            format!("-----BEGIN CERTIFICATE----- {letters} -----END CERTIFICATE-----"),
            format!("Bag Attributes\n  name: x\n--BEGIN  CERTIFICATE--\r\n{letters}\r\n--END CERTIFICATE--"),
        ] {
            assert_eq!(blocks(&text, "CERTIFICATE"), [whole.as_str()], "{text}");
        }
    }

    #[test]
    fn only_the_kind_that_is_asked_for_is_taken() {
        let both = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nProc: x\nQUJD\n-----END ENCRYPTED PRIVATE KEY-----\n\
                    -----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----";
        assert_eq!(
            blocks(both, "PRIVATE KEY"),
            ["-----BEGIN ENCRYPTED PRIVATE KEY-----\nQUJD\n-----END ENCRYPTED PRIVATE KEY-----\n"]
        );
        assert_eq!(blocks(both, "CERTIFICATE").len(), 2);
        for none in
            ["", "QUJD", "-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----"]
        {
            assert!(blocks(none, "CERTIFICATE").is_empty(), "{none}");
        }
    }
}
