//! SCRAM's messages (RFC 5802, RFC 7677), without channel binding, as Kafka has it: names are not prepared, only escaped.

use std::ops::RangeInclusive;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use openssl::error::ErrorStack;
use openssl::hash::{MessageDigest, hash};
use openssl::memcmp;
use openssl::pkcs5::pbkdf2_hmac;
use openssl::pkey::PKey;
use openssl::rand::rand_bytes;
use openssl::sign::Signer;

use crate::kafka::security::{Digest, Login};

/// Fewer iterations are no protection (Kafka's own minimum), and more would keep us busy for seconds.
const ITERATIONS: RangeInclusive<usize> = 4_096..=1_000_000;

const NO_SCRAM: &str = "the broker's answer is no message of SCRAM";
const BROKEN: &str = "OpenSSL fails";

/// One exchange.
pub(super) struct Scram<'a> {
    digest: MessageDigest,
    login: &'a Login,
    nonce: String,
}

/// The message that proves that we know the password, and what the broker's has to be.
pub(super) struct Proof {
    pub(super) message: String,
    server_signature: Vec<u8>,
}

impl<'a> Scram<'a> {
    pub(super) fn new(digest: Digest, login: &'a Login) -> Self {
        let mut random = [0; 24];
        rand_bytes(&mut random).expect("OpenSSL has random numbers");
        Self::with_nonce(digest, login, BASE64_STANDARD.encode(random))
    }

    fn with_nonce(digest: Digest, login: &'a Login, nonce: String) -> Self {
        let digest = match digest {
            Digest::Sha256 => MessageDigest::sha256(),
            Digest::Sha512 => MessageDigest::sha512(),
        };
        Scram { digest, login, nonce }
    }

    pub(super) fn client_first(&self) -> String {
        format!("n,,{}", self.first_bare())
    }

    fn first_bare(&self) -> String {
        format!("n={},r={}", self.login.user.replace('=', "=3D").replace(',', "=2C"), self.nonce)
    }

    /// The answer to the broker's first message.
    pub(super) fn client_final(&self, server_first: &[u8]) -> Result<Proof, &'static str> {
        let server_first = std::str::from_utf8(server_first).map_err(|_| NO_SCRAM)?;
        let field = |name: &str| server_first.split(',').find_map(|field| field.strip_prefix(name));
        let nonce = field("r=").ok_or(NO_SCRAM)?;
        let salt = BASE64_STANDARD.decode(field("s=").ok_or(NO_SCRAM)?).map_err(|_| NO_SCRAM)?;
        let iterations: usize = field("i=").and_then(|text| text.parse().ok()).ok_or(NO_SCRAM)?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err("the broker's nonce does not go on from ours");
        }
        if !ITERATIONS.contains(&iterations) {
            return Err("the broker asks for too few iterations to be safe, or for too many to be serious");
        }
        let without_proof = format!("c={},r={nonce}", BASE64_STANDARD.encode("n,,"));
        let signed = format!("{},{server_first},{without_proof}", self.first_bare());
        let (proof, server_signature) = self.sign(&salt, iterations, &signed).map_err(|_| BROKEN)?;
        Ok(Proof { message: format!("{without_proof},p={}", BASE64_STANDARD.encode(proof)), server_signature })
    }

    fn sign(&self, salt: &[u8], iterations: usize, signed: &str) -> Result<(Vec<u8>, Vec<u8>), ErrorStack> {
        let mut salted = vec![0; self.digest.size()];
        pbkdf2_hmac(self.login.password.as_bytes(), salt, iterations, self.digest, &mut salted)?;
        let client_key = self.hmac(&salted, b"Client Key")?;
        let stored_key = hash(self.digest, &client_key)?;
        let signature = self.hmac(&stored_key, signed.as_bytes())?;
        let proof = client_key.iter().zip(&signature).map(|(key, signature)| key ^ signature).collect();
        let server_key = self.hmac(&salted, b"Server Key")?;
        Ok((proof, self.hmac(&server_key, signed.as_bytes())?))
    }

    fn hmac(&self, key: &[u8], text: &[u8]) -> Result<Vec<u8>, ErrorStack> {
        Signer::new(self.digest, &*PKey::hmac(key)?)?.sign_oneshot_to_vec(text)
    }
}

impl Proof {
    /// Whether the broker knows the password too.
    pub(super) fn check_server(&self, server_final: &[u8]) -> Result<(), &'static str> {
        let text = std::str::from_utf8(server_final).map_err(|_| NO_SCRAM)?;
        let signature = text.split(',').find_map(|field| field.strip_prefix("v=")).ok_or(NO_SCRAM)?;
        let signature = BASE64_STANDARD.decode(signature).map_err(|_| NO_SCRAM)?;
        let same = signature.len() == self.server_signature.len() && memcmp::eq(&signature, &self.server_signature);
        if same { Ok(()) } else { Err("the broker does not prove that it knows the password") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7677, 3.
    #[test]
    fn the_exchange_of_the_rfc() {
        let login = Login { user: "user".into(), password: "pencil".into() };
        let scram = Scram::with_nonce(Digest::Sha256, &login, "rOprNGfwEbeRWgbNEkqO".into());
        assert_eq!(scram.client_first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let server = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let proof = scram.client_final(server).unwrap();
        assert_eq!(
            proof.message,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert!(proof.check_server(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").is_ok());
        assert!(proof.check_server(b"v=AAAA").is_err());
        assert!(proof.check_server(b"e=other-error").is_err());
    }

    #[test]
    fn a_broker_that_cheats_is_refused() {
        let login = Login { user: "a,b=c".into(), password: "p".into() };
        let scram = Scram::with_nonce(Digest::Sha512, &login, "abc".into());
        assert_eq!(scram.client_first(), "n,,n=a=2Cb=3Dc,r=abc");
        for bad in [
            "r=xyz,s=AAAA,i=4096",
            "r=abc,s=AAAA,i=4096",
            "r=abcd,s=AAAA,i=1",
            "r=abcd,s=AAAA,i=4294967297",
            "r=abcd,s=?,i=4096",
            "e=no",
            "",
        ] {
            assert!(scram.client_final(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
