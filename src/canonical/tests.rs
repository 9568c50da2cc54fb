//! Canonical documents: the RFC's own examples, and each thing that is refused, at depth.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::*;

fn refused<T: Serialize>(value: &T) -> (Problem, String) {
    let CanonicalError { problem, pointer } = to_vec(value).expect_err("refused");
    (problem, pointer)
}

fn bytes<T: Serialize + ?Sized>(value: &T) -> String {
    String::from_utf8(to_vec(value).expect("canonical")).expect("UTF-8")
}

#[derive(Serialize)]
enum Event<T> {
    ZeroGrad,
    Scale(T),
    Pair(u8, T),
    Backward { loss: Option<T> },
}

#[derive(Serialize)]
struct Flattened {
    key: u8,
    #[serde(flatten)]
    rest: BTreeMap<String, u8>,
}

/// Declared in another order than that of its keys.
#[derive(Serialize)]
struct Unsorted<'a> {
    z: &'a Value,
    a: Event<&'a Value>,
    e: (f64, char),
    bb: Option<String>,
    b: [(); 2],
}

#[test]
fn the_example_of_the_rfc() {
    // RFC 8785 §3.2.2 and §3.2.3.
    let source = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let value: Value = serde_json::from_str(source).expect("JSON");
    let expected = r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#;
    assert_eq!(bytes(&value), expected);
}

#[test]
fn keys_are_sorted_by_their_utf_16() {
    // RFC 8785 §3.2.3: the emoji's surrogate 0xD83D sorts below U+FB33.
    let keys = ["\u{20ac}", "\r", "\u{fb33}", "1", "\u{1f600}", "\u{80}", "\u{f6}"];
    let map: BTreeMap<&str, u8> = keys.into_iter().map(|key| (key, 0)).collect();
    let written = bytes(&map);
    let sorted = ["\\r", "1", "\u{80}", "\u{f6}", "\u{20ac}", "\u{1f600}", "\u{fb33}"];
    let expected: Vec<String> = sorted.iter().map(|key| format!("\"{key}\":0")).collect();
    assert_eq!(written, format!("{{{}}}", expected.join(",")));
}

#[test]
fn every_shape_of_value_passes() {
    let events = (
        Event::<f64>::ZeroGrad,
        Event::Scale(-0.0),
        Event::Pair(1, 1e21),
        Event::Backward { loss: Some(0.1_f32) },
        Event::<u8>::Backward { loss: None },
        ((), 'x', b"\0", i128::from(-1_i64 << 53), 1_u128 << 53, Digest::of(b"abc").as_bytes().len()),
        json!({ "a": [{}, [], "é"] }),
    );
    assert_eq!(
        bytes(&events),
        r#"["ZeroGrad",{"Scale":0},{"Pair":[1,1e+21]},{"Backward":{"loss":0.10000000149011612}},{"Backward":{"loss":null}},[null,"x",[0],-9007199254740992,9007199254740992,32],{"a":[{},[],"é"]}]"#
    );
}

#[test]
fn nonfinite_numbers_are_refused_wherever_they_stand() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let at = |pointer: &str| (Problem::Nonfinite, pointer.to_owned());
        assert_eq!(refused(&bad), at(""));
        assert_eq!(refused(&(bad as f32)), at(""));
        assert_eq!(refused(&vec![vec![0.0], vec![0.0, bad]]), at("/1/1"));
        assert_eq!(refused(&[Event::Scale(bad)]), at("/0/Scale"));
        assert_eq!(refused(&Event::Pair(0, bad)), at("/Pair/1"));
        assert_eq!(refused(&Event::Backward { loss: Some(bad) }), at("/Backward/loss"));
        assert_eq!(refused(&BTreeMap::from([("a", 1.0), ("b/~", bad)])), at("/b~1~0"));
    }
}

#[test]
fn integers_beyond_2_to_the_53_are_refused() {
    let limit = 1_i64 << 53;
    for fine in [limit, -limit, 0] {
        assert_eq!(bytes(&fine), fine.to_string());
    }
    let refusal = |value: &str| (Problem::UnsafeInteger(value.to_owned()), String::new());
    assert_eq!(refused(&(limit + 1)), refusal("9007199254740993"));
    assert_eq!(refused(&(-limit - 1)), refusal("-9007199254740993"));
    assert_eq!(refused(&i64::MIN), refusal("-9223372036854775808"));
    assert_eq!(refused(&u64::MAX), refusal("18446744073709551615"));
    assert_eq!(refused(&u128::MAX), refusal("340282366920938463463374607431768211455"));
    assert_eq!(refused(&i128::MIN), refusal("-170141183460469231731687303715884105728"));
    assert_eq!(refused(&json!([[9_007_199_254_740_993_u64]])).1, "/0/0");
}

#[test]
fn keys_are_strings_and_differ() {
    assert_eq!(refused(&BTreeMap::from([(1, 2)])).0, Problem::KeyNotString);
    assert_eq!(refused(&BTreeMap::from([(true, 2)])).0, Problem::KeyNotString);
    assert_eq!(bytes(&BTreeMap::from([('k', 2)])), r#"{"k":2}"#);
    let twice = Flattened { key: 1, rest: BTreeMap::from([("key".to_owned(), 2)]) };
    assert_eq!(refused(&[twice]), (Problem::DuplicateKey("key".to_owned()), "/0/key".to_owned()));
    assert_eq!(bytes(&Flattened { key: 1, rest: BTreeMap::from([("a".to_owned(), 2)]) }), r#"{"a":2,"key":1}"#);
}

#[test]
fn unparsed_json_is_refused() {
    let raw = serde_json::value::RawValue::from_string("9007199254740993".to_owned()).expect("JSON");
    assert_eq!(refused(&vec![raw]), (Problem::Raw, "/0".to_owned()));
}

#[test]
fn an_error_says_what_and_where() {
    let error = to_vec(&json!({ "totals": [1, u64::MAX] })).expect_err("refused");
    assert_eq!(error.to_string(), "the integer 18446744073709551615, beyond 2^53 at \"/totals/1\"");
}

#[test]
fn the_digest_is_of_the_canonical_bytes() {
    let value = json!({ "b": 1.0, "a": [Finite::ZERO, Count::MAX] });
    assert_eq!(bytes(&value), r#"{"a":[0,9007199254740992],"b":1}"#);
    assert_eq!(digest(&value), Ok(Digest::of(br#"{"a":[0,9007199254740992],"b":1}"#)));
    assert!(digest(&f64::NAN).is_err());
}

#[test]
fn a_seal_is_a_member_in_its_place() {
    for keys in [&["a", "z"][..], &["z", "a"], &["n"], &["a"], &["n", "\u{fb33}", "\u{1f600}"]] {
        let mut members: BTreeMap<&str, Value> = keys.iter().map(|key| (*key, json!({"m": [1], "b": 2}))).collect();
        let of = digest(&members).expect("canonical");
        let (sealed, digest) = seal(&members, "m").expect("canonical");
        members.insert("m", json!(of));
        assert_eq!(digest, of);
        assert_eq!(Ok(sealed), to_vec(&members), "{keys:?}");
    }
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The same document with every number as a float.
fn as_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64().expect("a number") + 0.0),
        Value::Array(elements) => elements.iter().map(as_floats).collect(),
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), as_floats(value))).collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_bytes_are_those_of_serde_jcs(value in document(), number in -1e9..1e9, text in any::<String>()) {
        let unsorted = Unsorted { z: &value, a: Event::Pair(7, &value), e: (number, 'é'), bb: Some(text), b: [(); 2] };
        let nested = [Event::ZeroGrad, Event::Scale(&unsorted), Event::Backward { loss: Some(&unsorted) }];
        prop_assert_eq!(to_vec(&nested).expect("nothing to refuse"), serde_jcs::to_vec(&nested).expect("JSON"));
    }

    #[test]
    fn reading_back_gives_the_same_value_and_the_same_bytes(value in document()) {
        let written = to_vec(&value).expect("nothing to refuse");
        let read: Value = serde_json::from_slice(&written).expect("JSON");
        prop_assert_eq!(as_floats(&read), as_floats(&value));
        prop_assert_eq!(to_vec(&as_floats(&read)), Ok(written));
    }
}
