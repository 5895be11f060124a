//! Images, sounds and documents: made from raw bytes, or from base64, and never encoded twice.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::json;
use toolbox::call::{InvalidBase64Error, Media, RawBytes};
use toolbox::{Content, tool};

use support::call;

#[test]
fn every_kind_of_bytes_is_encoded_once() {
    fn check<M>(bytes: impl RawBytes<M>) {
        assert_eq!(Media::from_bytes(bytes, "image/png").data, "iVBORw==");
    }
    let bytes = *b"\x89PNG";
    let owned = bytes.to_vec();
    check(bytes);
    check(&bytes);
    check(b"\x89PNG");
    check(&bytes[..]);
    check(&&bytes[..]);
    check(owned.as_slice());
    check(owned.clone());
    check(&owned);
    check(&mut owned.clone()[..]);
    check(owned.clone().into_boxed_slice());
    check(Arc::<[u8]>::from(&bytes[..]));
    check(&Arc::<[u8]>::from(&bytes[..]));
    check(Cow::Borrowed(&bytes[..]));
    check(reqwest_like(&owned));
}

/// Returns bytes of a type that only borrows as a slice, as that of the crate `bytes` does.
fn reqwest_like(bytes: &[u8]) -> impl std::borrow::Borrow<[u8]> + use<> {
    struct Shared(Arc<[u8]>);
    impl std::borrow::Borrow<[u8]> for Shared {
        fn borrow(&self) -> &[u8] {
            &self.0
        }
    }
    Shared(bytes.into())
}

#[test]
fn base64_is_kept_as_it_is_and_equals_what_bytes_become() {
    for bytes in [&b""[..], b"a", b"ab", b"abc", &[0xfb, 0xff, 0xbf, 0]] {
        let image = Content::image(bytes, "image/png");
        let Content::Image(media) = &image else { panic!("{image:?}") };
        let text = media.data.as_str();
        assert_eq!(Content::image_base64(text, "image/png").as_ref(), Ok(&image));
        assert_eq!(
            Content::audio_base64(text, "audio/wav"),
            Ok(Content::audio(bytes, "audio/wav"))
        );
        assert_eq!(
            Content::resource_base64("file:///a", "a/b", text),
            Ok(Content::resource_bytes("file:///a", "a/b", bytes))
        );
        let read: Content = serde_json::from_value(serde_json::to_value(&image).unwrap()).unwrap();
        assert_eq!(read, image);
    }
}

#[test]
fn text_that_is_no_base64_is_refused_with_its_reason() {
    let cases = [
        ("iVBORw", "its length, 6 bytes, is not a multiple of 4; padding may be missing"),
        ("iVBORw=", "its length, 7 bytes, is not a multiple of 4; padding may be missing"),
        ("=", "its length, 1 bytes, is not a multiple of 4; padding may be missing"),
        ("iVBORw==\n", "'=' at byte 6"),
        ("iVBO\r\nRw==", "'\\r' at byte 4"),
        (" iVBORw==", "' ' at byte 0"),
        ("iVBO====", "'=' at byte 4"),
        ("====", "'=' at byte 0"),
        ("iV=ORw==", "'=' at byte 2"),
        ("iVBOR\u{e9}==", "'é' at byte 5"),
        ("-_-_", "the character at byte 0 is of the URL-safe alphabet, not of the standard one"),
        ("iVBORx==", "bits are set after its last byte; it may have been cut"),
        ("iVBORwB=", "bits are set after its last byte; it may have been cut"),
        (
            "data:image/png;base64,iVBORw==",
            "it is a `data:` URL, of which only what follows the comma is",
        ),
        ("DATA:,x", "it is a `data:` URL, of which only what follows the comma is"),
    ];
    for (text, reason) in cases {
        let told = |error: InvalidBase64Error| error.to_string();
        let expected = Err(format!("the data is not base64: {reason}"));
        assert_eq!(Media::from_base64(text, "a/b").map(drop).map_err(told), expected, "{text:?}");
        assert_eq!(Content::image_base64(text, "a/b").map(drop).map_err(told), expected);
        assert_eq!(Content::audio_base64(text, "a/b").map(drop).map_err(told), expected);
        let resource = Content::resource_base64("file:///a", "a/b", text);
        assert_eq!(resource.map(drop).map_err(told), expected);
    }
}

#[test]
fn a_tool_reports_that_its_data_is_no_base64() {
    /// Returns a picture that another program encoded.
    #[tool]
    fn picture(data: String) -> Result<Content, InvalidBase64Error> {
        Content::image_base64(data, "image/png")
    }
    let good = call(&picture::tool(), r#"{"data": "iVBORw=="}"#);
    assert!(!good.is_error());
    assert_eq!(
        serde_json::to_value(good.content()).unwrap(),
        json!([{"type": "image", "data": "iVBORw==", "mimeType": "image/png"}])
    );
    let bad = call(&picture::tool(), r#"{"data": "iVBORw="}"#);
    assert_eq!(bad.code(), Some("tool.failed"));
    assert!(bad.text().starts_with("the data is not base64: "), "{}", bad.text());
}
