//! Proofs of possession (RFC 9449): a token that only the holder of a key can use.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use rmcp::transport::auth::{AuthError, AuthorizationMetadata};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::sync::Mutex;

/// The header of a proof.
pub(super) const PROOF: HeaderName = HeaderName::from_static("dpop");

/// The error code with which a server demands its nonce in the proof.
pub(super) const USE_NONCE: &str = "use_dpop_nonce";

/// The header of a nonce.
const NONCE: &str = "dpop-nonce";

/// The maximum size of a nonce, in bytes.
const MAX_NONCE: usize = 1024;

/// The only algorithm of the proofs.
const ALGORITHM: &str = "ES256";

/// A key that proofs are signed with.
pub(super) struct ProofKey(EcdsaKeyPair);

impl ProofKey {
    /// Generates a key if an authorization server binds tokens to one of this kind.
    pub(super) fn for_server(
        metadata: &AuthorizationMetadata,
    ) -> Result<Option<Arc<Self>>, AuthError> {
        let supported = metadata.additional_fields.get("dpop_signing_alg_values_supported");
        let supported = supported.and_then(Value::as_array);
        if !supported.is_some_and(|supported| supported.iter().any(|name| name == ALGORITHM)) {
            return Ok(None);
        }
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING);
        key.map(|key| Some(Arc::new(Self(key)))).map_err(|_| unusable())
    }

    /// Reads a key that [`to_text`](Self::to_text) has written.
    pub(super) fn from_text(text: &str) -> Option<Arc<Self>> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &bytes).ok()?;
        Some(Arc::new(Self(key)))
    }

    /// Writes the key as PKCS#8 in base64.
    pub(super) fn to_text(&self) -> Result<String, AuthError> {
        let document = self.0.to_pkcs8v1().map_err(|_| unusable())?;
        Ok(BASE64_URL_SAFE_NO_PAD.encode(document.as_ref()))
    }

    /// Returns the public key as a JSON Web Key.
    fn public(&self) -> Value {
        // An uncompressed point: a tag, x and y.
        let (x, y) = self.0.public_key().as_ref()[1..].split_at(32);
        let part = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        json!({"kty": "EC", "crv": "P-256", "x": part(x), "y": part(y)})
    }

    /// Signs claims as a JSON Web Token.
    fn signed(&self, claims: &Value) -> Result<String, AuthError> {
        let header = json!({"typ": "dpop+jwt", "alg": ALGORITHM, "jwk": self.public()});
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(&header), part(claims));
        let signature = self.0.sign(&rand::SystemRandom::new(), text.as_bytes());
        let signature = signature.map_err(|_| unusable())?;
        Ok(format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature.as_ref())))
    }
}

/// A key, and the last nonce of the one server that its proofs go to.
pub(super) struct Prover {
    key: Arc<ProofKey>,
    nonce: Mutex<Option<String>>,
}

impl Prover {
    pub(super) fn new(key: Arc<ProofKey>) -> Self {
        Self { key, nonce: Mutex::default() }
    }

    pub(super) fn key(&self) -> Arc<ProofKey> {
        Arc::clone(&self.key)
    }

    /// Returns the proof for one request, with the token that the request carries.
    pub(super) fn proof(
        &self,
        method: &Method,
        url: &Url,
        token: Option<&str>,
    ) -> Result<HeaderValue, AuthError> {
        let mut target = url.clone();
        target.set_query(None);
        target.set_fragment(None);
        let mut id = [0; 16];
        rand::fill(&mut id).map_err(|_| unusable())?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut claims = json!({
            "jti": BASE64_URL_SAFE_NO_PAD.encode(id), "htm": method.as_str(),
            "htu": target.as_str(), "iat": now,
        });
        if let Some(token) = token {
            claims["ath"] = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(token)).into();
        }
        if let Some(nonce) = &*self.nonce.lock() {
            claims["nonce"] = nonce.as_str().into();
        }
        HeaderValue::from_str(&self.key.signed(&claims)?).map_err(|_| unusable())
    }

    /// Keeps the nonce of a response for the next proofs. Returns `false` if there is none.
    pub(super) fn keep_nonce(&self, headers: &HeaderMap) -> bool {
        let nonce = headers.get(NONCE).and_then(|nonce| nonce.to_str().ok());
        let nonce = nonce.filter(|nonce| {
            let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
            !nonce.is_empty() && nonce.len() <= MAX_NONCE && nonce.bytes().all(fits)
        });
        if let Some(nonce) = nonce {
            *self.nonce.lock() = Some(nonce.to_owned());
        }
        nonce.is_some()
    }
}

/// Returns `true` if the type of a token binds it to a key.
pub(super) fn is_bound(token_type: &str) -> bool {
    token_type.eq_ignore_ascii_case("dpop")
}

fn unusable() -> AuthError {
    AuthError::InternalError("the key of the proofs cannot be used".to_owned())
}
