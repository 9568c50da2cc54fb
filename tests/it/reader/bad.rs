//! Bad input: each fault with its code, line, column and JSON Pointer.
use crate::reader::run::HEADER;
use crate::reader::run::drain_from;
use crate::reader::run::path;
use crate::reader::run::shown;
use receipt::manifest::source::Memory;

/// Reads a text; each finding as `code line:column pointer: message`.
fn faults(text: &[u8]) -> Vec<String> {
    let sources = Memory::new().with("m", text);
    let drained = drain_from(&sources, &[path("m")], false);
    shown(&sources, &drained)
}

/// Reads a microbatch manifest whose second line is this event.
fn event(event: &str) -> Vec<String> {
    faults(format!("{HEADER}\n{event}\n\"zero_grad\"\n").as_bytes())
}

fn backward(fields: &str) -> String {
    format!(r#"{{"backward":{{"window":0,"microbatch":"a",{fields}}}}}"#)
}

#[test]
fn texts_that_are_no_json() {
    assert_eq!(faults(b""), ["GA101 1:1 : the file is empty"]);
    assert_eq!(faults(b" \n\n"), ["GA101 1:1 : the file is blank"]);
    assert_eq!(
        faults(b"\xef\xbb\xbf"),
        ["GA101 1:1 : the text begins with a byte-order mark", "GA101 1:1 : the file is blank"]
    );
    assert_eq!(
        faults(format!("\u{feff}{HEADER}\n").as_bytes()),
        ["GA101 1:1 : the text begins with a byte-order mark"]
    );
    assert_eq!(faults(b"hello"), ["GA101 1:1 : `hello` is not a JSON value"]);
    assert_eq!(
        faults(b"\xff\xfe{\0"),
        ["GA101 1:1 : invalid UTF-8", "GA101 1:3 : there is something after the end of the value"]
    );
}

#[test]
fn lines_that_are_no_json() {
    assert_eq!(event(""), ["GA101 2:1 : a blank line; every line after the first is an event"]);
    assert_eq!(event(" \t\r"), ["GA101 2:1 : a blank line; every line after the first is an event"]);
    assert_eq!(event(r#""zero_grad" "zero_grad""#), ["GA101 2:13 : there is something after the end of the value"]);
    assert_eq!(event(r#"{"rescale":{"factor":1}"#), ["GA101 2:24 : the text breaks off before a closing `}`"]);
    assert_eq!(event(r#"{"rescale":{"factor":1,}}"#), ["GA101 2:23 /rescale: JSON has no comma after the last value"]);
    assert_eq!(
        event(r#"{"rescale":{"factor":01}}"#),
        ["GA101 2:22 /rescale/factor: `01` is not JSON: a number has no leading zeros"]
    );
    assert_eq!(event(r#"{"rescale":{'factor':1}}"#), ["GA101 2:13 /rescale: JSON strings have double quotes"]);
    assert_eq!(event("{\"rescale\":{\"f\x1b\":1}}").len(), 3);
    let text = [HEADER.as_bytes(), b"\n\"zero\xffgrad\"\n"].concat();
    assert_eq!(faults(&text), ["GA101 2:6 : invalid UTF-8"]);
}

#[test]
fn a_torn_last_line_is_named_so() {
    let whole = backward(r#""valid_targets":3,"loss_sum":1.25"#);
    for cut in 1..whole.len() {
        let text = format!("{HEADER}\n\"zero_grad\"\n{}", &whole[..cut]);
        let said = "the last line is torn: it breaks off in the middle of an event";
        assert_eq!(faults(text.as_bytes()), [format!("GA101 3:{} : {said}", cut + 1)], "{text}");
        let sources = Memory::new().with("m", &text);
        let drained = drain_from(&sources, &[path("m")], true);
        assert_eq!(shown(&sources, &drained), [format!("GA101 warning 3:{} : {said}", cut + 1)]);
        assert_eq!(drained.events[0].len(), 1);
    }
    let text = format!("{HEADER}\n{whole}");
    assert_eq!(faults(text.as_bytes()), [] as [&str; 0]);
    // Elsewhere than at the end nothing is torn, whatever the options.
    let text = format!("{HEADER}\n{}\n\"zero_grad\"", &whole[..20]);
    let sources = Memory::new().with("m", &text);
    let drained = drain_from(&sources, &[path("m")], true);
    assert_eq!(shown(&sources, &drained), ["GA101 2:14 /backward: the text breaks off inside a string"]);
}

#[test]
fn numbers_that_are_not_finite() {
    for word in ["NaN", "Infinity", "-Infinity", "nan", "inf"] {
        let said = format!(
            "GA106 2:71 /backward/loss_sum: `{word}` is not a JSON number; record the field `nonfinite` instead"
        );
        assert_eq!(event(&backward(&format!(r#""valid_targets":3,"loss_sum":{word}"#))), [said]);
        let said = format!("GA106 2:71 /backward/loss_sum: the string `{word}` is not a finite number");
        assert_eq!(event(&backward(&format!(r#""valid_targets":3,"loss_sum":"{word}""#))), [said]);
    }
    for number in ["1e999", "-1e999", "1.8e308"] {
        let said = format!("GA106 2:71 /backward/loss_sum: `{number}` is beyond binary64");
        assert_eq!(event(&backward(&format!(r#""valid_targets":3,"loss_sum":{number}"#))), [said]);
    }
    for number in ["1e-999", "-0", "1.7976931348623157e308", "18446744073709551617"] {
        assert_eq!(event(&backward(&format!(r#""valid_targets":3,"loss_sum":{number}"#))), [] as [&str; 0]);
    }
}

#[test]
fn counts_that_are_not_safe() {
    for (count, why) in [
        ("1.0", "has a fraction or an exponent"),
        ("1e0", "has a fraction or an exponent"),
        ("-1", "has a sign"),
        ("-0", "has a sign"),
        ("9007199254740993", "is above 2^53"),
        ("18446744073709551616", "is above 2^53"),
        ("1e999", "has a fraction or an exponent"),
    ] {
        let said = format!("GA105 2:58 /backward/valid_targets: `{count}` is no count: it {why}");
        assert_eq!(event(&backward(&format!(r#""valid_targets":{count},"loss_sum":1"#))), [said]);
    }
    assert_eq!(event(&backward(r#""valid_targets":9007199254740992,"loss_sum":1"#)), [] as [&str; 0]);
    let said = "GA103 2:58 /backward/valid_targets: the string `3`, where a count is expected";
    assert_eq!(event(&backward(r#""valid_targets":"3","loss_sum":1"#)), [said]);
}

#[test]
fn shapes() {
    let line = backward(r#""valid_targets":3,"loss_sum":1"#);
    let cases = [
        (r#""zero_gard""#, "GA103 2:1 : unknown word `zero_gard`; did you mean `zero_grad`?"),
        (r#""backward""#, "GA103 2:1 : `backward` is an object with fields, not a plain word"),
        (r#"{"zero_grad":{}}"#, "GA103 2:2 /zero_grad: `zero_grad` is a plain word, without fields"),
        (r#"{}"#, "GA103 2:1 : an object without a tag"),
        (r#"[]"#, "GA103 2:1 : an array, where a plain word or an object with one tag is expected"),
        (r#"3"#, "GA103 2:1 : the number `3`, where a plain word or an object with one tag is expected"),
        (
            r#"null"#,
            "GA103 2:1 : null, where a plain word or an object with one tag is expected; a field that does not apply is left out",
        ),
        (r#"{"rescale":[2]}"#, "GA103 2:12 /rescale: an array, where an object is expected"),
        (r#"{"rescale":{"factor":true}}"#, "GA103 2:22 /rescale/factor: true, where a number is expected"),
        (r#"{"rescale":{}}"#, "GA103 2:12 /rescale: missing field `factor`"),
        (
            r#"{"rescale":{"factor":1,"facto":2}}"#,
            "GA103 2:24 /rescale/facto: unknown field `facto`; did you mean `factor`?",
        ),
        (
            r#"{"unscale":{"nonfinite":null}}"#,
            "GA103 2:25 /unscale/nonfinite: null, where true or false is expected; a field that does not apply is left out",
        ),
        (r#"{"clip":{"max_norm":1}}"#, "GA103 2:9 /clip: one of `norm` and `nonfinite` is missing"),
        (
            r#"{"clip":{"max_norm":1,"norm":1,"nonfinite":true}}"#,
            "GA103 2:9 /clip: `norm` and `nonfinite` exclude each other",
        ),
        (
            r#"{"clip":{"max_norm":1,"nonfinite":false}}"#,
            "GA103 2:35 /clip/nonfinite: false, where only true is possible; leave the field out",
        ),
        (
            r#"{"optimizer_step":{"window":0,"outcome":"skiped"}}"#,
            "GA103 2:41 /optimizer_step/outcome: `skiped`, where one of `applied`, `skipped` is expected; did you mean `skipped`?",
        ),
        (
            r#"{"optimizer_step":{"window":0,"outcome":{"applied":null}}}"#,
            "GA103 2:41 /optimizer_step/outcome: an object, where `applied`, `skipped` is expected",
        ),
        (
            r#"{"rescale":{"factor":1},"unscale":{}}"#,
            "GA103 2:25 : a second tag, `unscale`, beside `rescale`: one line is one event",
        ),
        (r#"{"rescale":{"factor":1},"rescale":{"factor":1}}"#, "GA104 2:25 /rescale: the key `rescale` is there twice"),
        (r#"{"rescale":{"factor":1,"f\u0061ctor":1}}"#, "GA104 2:24 /rescale/factor: the key `factor` is there twice"),
        (r#"{"logged":{"window":0,"windows":0}}"#, "GA103 2:33 /logged/windows: a mean over 0 windows"),
        (
            r#"{"logged":{"window":0,"gradient":[1,2]}}"#,
            "GA109 2:34 /logged/gradient: a vector of 2 values, but the contract declares no gradient_basis",
        ),
    ];
    for (text, said) in cases {
        assert_eq!(event(text), [said], "{text}");
    }
    assert_eq!(event(&line), [] as [&str; 0]);
}

#[test]
fn keys_are_unique_at_any_depth() {
    let said = event(r#"{"rescale":{"factor":1,"x":[{"a":{"b":1,"b":2}}]}}"#);
    assert_eq!(
        said,
        ["GA103 2:24 /rescale/x: unknown field `x`", "GA104 2:41 /rescale/x/0/a/b: the key `b` is there twice",]
    );
}

#[test]
fn keys_are_unique_also_where_nothing_belongs() {
    let said = event(r#"{"rescale":[{"a":1,"a":2}]}"#);
    assert_eq!(
        said,
        [
            "GA103 2:12 /rescale: an array, where an object is expected",
            "GA104 2:20 /rescale/0/a: the key `a` is there twice"
        ]
    );
}

#[test]
fn vectors_have_the_declared_dimension() {
    let header = HEADER.replace("\"tail\"", "\"gradient_basis\":{\"kind\":\"complete\",\"dimension\":2},\"tail\"");
    let with = |event: &str| faults(format!("{header}\n{event}\n").as_bytes());
    let said = "values, where the contract's gradient_basis has dimension 2";
    for (vector, length) in [("[]", 0), ("[1]", 1), ("[1,2,3]", 3)] {
        let fields = |name: &str| with(&backward(&format!("\"valid_targets\":1,\"loss_sum\":1,\"{name}\":{vector}")));
        for name in ["gradient_sum", "accumulated"] {
            let column = 76 + name.len();
            assert_eq!(fields(name), [format!("GA109 2:{column} /backward/{name}: a vector of {length} {said}")]);
        }
        let event = format!("{{\"parameters\":{{\"values\":{vector}}}}}");
        assert_eq!(with(&event), [format!("GA109 2:25 /parameters/values: a vector of {length} {said}")]);
    }
    assert_eq!(with("{\"parameters\":{\"values\":[1,2]}}"), [] as [&str; 0]);
}

#[test]
fn identifiers() {
    let with = |id: &str| {
        event(&format!(r#"{{"backward":{{"window":0,"microbatch":"{id}","valid_targets":1,"loss_sum":1}}}}"#))
    };
    let grammar = "has something else in it than letters, digits and ._:@/- , beginning with a letter or digit";
    for (id, shown) in
        [("\\u001b[31m", "\u{1b}[31m"), ("<script>", "<script>"), ("::error", "::error"), ("a b", "a b"), ("é", "é")]
    {
        assert_eq!(with(id), [format!("GA107 2:38 /backward/microbatch: the identifier `{shown}` {grammar}")]);
    }
    assert_eq!(with(""), ["GA107 2:38 /backward/microbatch: the identifier is empty"]);
    assert_eq!(with(&"x".repeat(128)), [] as [&str; 0]);
    let said =
        format!("GA115 2:38 /backward/microbatch: the identifier `{}…` has more than 128 characters", "x".repeat(64));
    assert_eq!(with(&"x".repeat(129)), [said]);
}

#[test]
fn versions() {
    let header = |from: &str, to: &str| faults(format!("{}\n\"bogus\"\n", HEADER.replace(from, to)).as_bytes());
    // The events of another version are not looked at.
    assert_eq!(
        header("manifest/1", "manifest/2"),
        [
            "GA102 1:11 /schema: `accumulation/microbatch-manifest/2`, where only `accumulation/microbatch-manifest/1` is known; did you mean `accumulation/microbatch-manifest/1`?"
        ]
    );
    let said = header("token-mean/1", "token-mean/2");
    assert!(said[0].starts_with("GA102 1:") && said[0].contains("/contract/formula: `token-mean/2`"), "{said:?}");
    assert!(said[1].starts_with("GA103 2:1"), "{said:?}");
}

#[test]
fn every_fault_of_a_file_is_told() {
    let text = format!(
        "{}\n{}\n\n\"zero_grad\"\n{{\"rescale\":{{\"factor\":NaN}}}}\n{{\"clip\":{{}}}}\n\"zero_g",
        HEADER.replace("\"tail\":\"flush\"", "\"tail\":3"),
        backward(r#""valid_targets":-1,"loss_sum":1e999,"x":null"#),
    );
    let codes: Vec<String> =
        faults(text.as_bytes()).iter().map(|said| said.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        codes,
        [
            "GA103 1:139 /contract/tail:",
            "GA105 2:58 /backward/valid_targets:",
            "GA106 2:72 /backward/loss_sum:",
            "GA103 2:78 /backward/x:",
            "GA101 3:1 :",
            "GA106 5:22 /rescale/factor:",
            "GA103 6:9 /clip:",
            "GA103 6:9 /clip:",
            "GA101 7:8 :",
        ]
    );
}

#[test]
fn keys_of_the_contract_are_unique() {
    let with = |field: &str| faults(HEADER.replace("\"tail\"", &format!("{field},\"tail\"")).as_bytes());
    let cases = [
        (r#""software":{"a":"1","a":"1"}"#, "GA104 1:152 /contract/software/a: the key `a` is there twice"),
        (
            r#""gradient_basis":{"kind":"complete","dimension":1,"kind":"complete"}"#,
            "GA104 1:182 /contract/gradient_basis/kind: the key `kind` is there twice",
        ),
        (
            r#""gradient_basis":{"kind":"complete","dimension":1,"dimension":1}"#,
            "GA104 1:182 /contract/gradient_basis/dimension: the key `dimension` is there twice",
        ),
        (r#""clip":{"max_norm":1},"clip":{"max_norm":1}"#, "GA104 1:154 /contract/clip: the key `clip` is there twice"),
        (r#""require":["loss","loss"]"#, "GA103 1:150 /contract/require/1: `loss` is listed twice"),
        (
            r#""gradient_basis":{"kind":"complete","dimension":1,"seed":1}"#,
            "GA103 1:182 /contract/gradient_basis/seed: unknown field `seed`",
        ),
        (
            r#""gradient_basis":["complete",{"dimension":1}]"#,
            "GA103 1:149 /contract/gradient_basis: an array, where an object is expected",
        ),
        (
            r#""gradient_basis":{"kind":"complet","dimension":1}"#,
            "GA103 1:157 /contract/gradient_basis/kind: the string `complet`, where one of `complete`, `coordinates`, `sketch` is expected; did you mean `complete`?",
        ),
        (r#""gradient_basis":{"dimension":1}"#, "GA103 1:149 /contract/gradient_basis: missing field `kind`"),
    ];
    for (field, said) in cases {
        assert_eq!(with(field), [said], "{field}");
    }
}
