use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const LIMIT: usize = 1_000;

fn decode_all(decoder: &mut Decoder) -> Vec<String> {
    std::iter::from_fn(|| decoder.next::<String>().expect("frames are well formed")).collect()
}

proptest! {
    #[test]
    fn frames_survive_any_split(messages in vec(".{0,40}", 0..8), sizes in vec(1usize..50, 1..20)) {
        let mut bytes = Vec::new();
        for message in &messages {
            bytes.extend(encode(message, LIMIT).expect("below the limit"));
        }
        let (mut decoder, mut found, mut rest) = (Decoder::new(LIMIT), Vec::new(), &bytes[..]);
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, more) = rest.split_at((*size).min(rest.len()));
            decoder.push(piece);
            found.extend(decode_all(&mut decoder));
            rest = more;
        }
        prop_assert_eq!(found, messages);
    }

    #[test]
    fn garbage_is_refused_or_waited_for_but_never_panics(bytes in vec(any::<u8>(), 0..200)) {
        let mut decoder = Decoder::new(LIMIT);
        decoder.push(&bytes);
        while let Ok(Some(_)) = decoder.next::<serde_json::Value>() {}
    }
}

#[test]
fn a_length_beyond_the_limit_is_refused_before_its_bytes_arrive() {
    let mut decoder = Decoder::new(LIMIT);
    decoder.push(&u32::MAX.to_le_bytes());
    let error = decoder.next::<String>().expect_err("too large");
    assert_eq!(
        error.to_string(),
        "a message of 4294967295 bytes is larger than the limit of 1000 (max_frame_bytes)"
    );
}

#[test]
fn a_message_beyond_the_limit_is_not_encoded() {
    assert!(encode(&"x".repeat(998), LIMIT).is_ok());
    let error = encode(&"x".repeat(999), LIMIT).expect_err("too large");
    assert!(matches!(error, FrameError::TooLarge { found: 1001, .. }), "{error}");
}

#[test]
fn half_a_frame_is_waited_for() {
    let mut decoder = Decoder::new(LIMIT);
    let frame = encode(&"text", LIMIT).expect("below the limit");
    let (last, rest) = frame.split_last().expect("a frame");
    decoder.push(rest);
    assert!(decoder.next::<String>().expect("so far well formed").is_none());
    decoder.push(&[*last]);
    assert_eq!(decoder.next::<String>().expect("well formed").as_deref(), Some("text"));
}

#[test]
fn a_frame_of_another_message_is_refused() {
    let mut decoder = Decoder::new(LIMIT);
    decoder.push(&encode(&7, LIMIT).expect("below the limit"));
    assert!(matches!(decoder.next::<String>(), Err(FrameError::Malformed(_))));
}
