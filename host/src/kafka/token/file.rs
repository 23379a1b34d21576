//! A token from a file that somebody else keeps fresh, such as Kubernetes a projected volume.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use super::{MOST_BYTES, Token, TokenError, jwt};

/// Reads it.
pub(super) fn read(path: &Path, now: SystemTime) -> Result<Token, TokenError> {
    let fail = |source| TokenError::File { path: path.into(), source };
    // looked at before it is opened: to open a pipe may take forever
    if !fs::metadata(path).map_err(fail)?.is_file() {
        return Err(TokenError::NotAFile { path: path.into() });
    }
    let mut text = Vec::new();
    // one more than a token may have, and line breaks
    let most = MOST_BYTES as u64 + 16;
    File::open(path).and_then(|file| file.take(most).read_to_end(&mut text)).map_err(fail)?;
    jwt::token(&text, now)
        .map_err(|refusal| TokenError::Refused { from: format!("the token file {}", path.display()), refusal })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::token::Refusal;

    fn read_text(text: &str) -> Result<Token, TokenError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, text).unwrap();
        read(&path, SystemTime::now())
    }

    #[test]
    fn a_token_with_a_line_break() {
        assert_eq!(read_text("abc\n").unwrap().value(), "abc");
    }

    #[test]
    fn what_is_no_token_is_refused_and_not_shown() {
        let error = read_text("geheim geheim\n").unwrap_err();
        assert!(matches!(error, TokenError::Refused { refusal: Refusal::Character { byte: b' ', at: 7 }, .. }));
        let shown = format!("{error} {error:?} {}", error.hint());
        assert!(shown.contains("/token") && !shown.contains("geheim"), "{shown}");
        assert!(matches!(read_text("\n").unwrap_err(), TokenError::Refused { refusal: Refusal::Empty, .. }));
        let long = "a".repeat(2 * MOST_BYTES);
        assert!(matches!(read_text(&long).unwrap_err(), TokenError::Refused { refusal: Refusal::TooLong, .. }));
    }

    #[test]
    fn a_file_that_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let missing = read(&folder.path().join("none"), SystemTime::now()).unwrap_err();
        assert!(matches!(&missing, TokenError::File { source, .. } if source.kind() == std::io::ErrorKind::NotFound));
        let is_none = |path: &Path| matches!(read(path, SystemTime::now()), Err(TokenError::NotAFile { .. }));
        assert!(is_none(folder.path()));
        let pipe = folder.path().join("pipe");
        let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
        // SAFETY: the name is NUL-terminated.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert!(is_none(&pipe));
    }
}
