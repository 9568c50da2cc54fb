//! The HTML report in a browser: no error, no request, every picture has a size, hostile text is text.
//!
//! Skipped where no Chromium is installed. With `SCREENSHOTS=folder` each page is also kept as a picture, dark and light,
//! base64 in a `.png.txt`, to be looked at.
mod devtools;

use crate::runs::{self, binary, edit};
use devtools::Browser;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A microbatch's name of 128 characters that is none, and a program's that may be anything.
fn hostile() -> String {
    let start = "<img src=x onerror=document.title='run'>]]></svg><script>1</script>\u{1b}[2J\u{202e}\"'&";
    format!("{start}{}", "x".repeat(128 - start.chars().count()))
}

/// The report on a run, as the binary writes it, in a file.
fn page(folder: &Path, name: &str, input: &Path, more: &[&str]) -> PathBuf {
    let start = ["explain", "--format", "html"].map(std::ffi::OsStr::new);
    let more = more.iter().map(std::ffi::OsStr::new);
    let ran = binary::run(start.into_iter().chain([input.as_os_str()]).chain(more));
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let path = folder.join(format!("{name}.html"));
    fs::write(&path, ran.out).expect("a file");
    path
}

/// Pages of every recording, of worked examples, of one window, of a rule, and of runs that are hostile.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut pages = vec![];
    for entry in crate::fixtures::entries(&runs::fixture("recorded")) {
        let name = entry.file_name().expect("a name").to_string_lossy().into_owned();
        match entry.is_dir() {
            true => pages.push(page(folder, &name, &entry.join("rank-manifest.json"), &[])),
            false if name.ends_with(".jsonl") => pages.push(page(folder, &name, &entry, &[])),
            false => {}
        }
    }
    for name in ["three-six-one-mean-of-means", "tail-carry", "two-ranks-tail-disagreement", "equal-sizes-control"] {
        pages.push(page(folder, name, &runs::fixture(&format!("worked/{name}.json")), &[]));
    }
    pages.push(page(folder, "window", &runs::fixture("recorded/hf445_llama_f32.jsonl"), &["--window", "6"]));
    pages.push(page(folder, "rule", Path::new("GA203"), &[]));
    pages
}

/// What the browser complained of or asked for beyond the page itself.
fn complaints(url: &str, events: &[Value]) -> Vec<String> {
    let is_bad = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
        "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded" => true,
        "Page.javascriptDialogOpening" => true,
        "Network.requestWillBeSent" => event["params"]["request"]["url"] != url,
        _ => false,
    };
    events.iter().filter(is_bad).map(ToString::to_string).collect()
}

const SIZES: &str = "Array.from(document.querySelectorAll('svg'), svg => {
    const box = svg.getBoundingClientRect(), drawn = svg.getBBox();
    return [box.width, box.height, drawn.width, drawn.height, svg.viewBox.baseVal.width, svg.viewBox.baseVal.height,
        drawn.x, drawn.y];
})";

fn browser() -> Option<Browser> {
    let Some(program) = devtools::installed() else {
        #[allow(clippy::print_stderr, reason = "who runs the tests has to know")]
        {
            eprintln!("skipped: no Chromium is installed (Debian's package is `chromium`)");
        }
        return None;
    };
    Some(Browser::start(&program))
}

fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

#[test]
fn pages_are_whole_and_quiet() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut pictures = 0;
    for page in pages(folder.path()) {
        for colours in ["light", "dark"] {
            browser.prefer(colours);
            let url = url(&page);
            let events = browser.open(&url);
            let complaints = complaints(&url, &events);
            assert!(complaints.is_empty(), "{}: {complaints:#?}", page.display());
            for size in browser.evaluate(SIZES).as_array().expect("sizes") {
                let size: Vec<f64> = size.as_array().expect("numbers").iter().filter_map(Value::as_f64).collect();
                let [width, height, drawn_width, drawn_height, box_width, box_height, x, y] = size[..] else {
                    panic!("{size:?}")
                };
                assert!(width > 300.0 && height > 60.0 && drawn_height > 30.0, "{}: {size:?}", page.display());
                // Nothing is cut off at the picture's edge.
                let fits = x >= 0.0 && y >= 0.0 && x + drawn_width <= box_width && y + drawn_height <= box_height;
                assert!(fits, "{}: {size:?}", page.display());
                pictures += 1;
            }
            let ground = browser.evaluate("getComputedStyle(document.body).backgroundColor");
            let expected = if colours == "light" { "rgb(255, 255, 255)" } else { "rgb(17, 21, 26)" };
            assert_eq!(ground, expected, "{}", page.display());
            let wide = browser.evaluate("document.documentElement.scrollWidth > innerWidth");
            assert_eq!(wide, json!(false), "{} is wider than the window", page.display());
            keep(&mut browser, &page, colours);
        }
    }
    assert!(pictures > 100, "only {pictures} pictures were seen");
}

fn keep(browser: &mut Browser, page: &Path, colours: &str) {
    if let Some(folder) = std::env::var_os("SCREENSHOTS") {
        let stem = page.file_stem().expect("a name").to_string_lossy().into_owned();
        let path = PathBuf::from(folder).join(format!("{stem}-{colours}.png.txt"));
        fs::write(path, browser.screenshot()).expect("a file");
    }
}

#[test]
fn hostile_text_is_shown_as_text() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let hostile = hostile();
    assert_eq!(hostile.chars().count(), 128);
    let manifest = runs::document("worked/three-six-one-mean-of-means.json");
    let mut allowed = manifest.clone();
    allowed["contract"]["software"] = json!({ &hostile: &hostile });
    let refused = edit::with(&manifest, "/ranks/0/events/0/backward/microbatch", json!(hostile));
    // Of a name that is refused so much is quoted.
    for (name, manifest, quoted, places) in [("allowed", allowed, 128, 2), ("refused", refused, 60, 2)] {
        // The file has a hostile name too, as far as a file can.
        let input = folder.path().join(format!("<img src=x onerror=document.title='run'>{name}.json"));
        fs::write(&input, manifest.to_string()).expect("a file");
        let page = page(folder.path(), name, &input, &[]);
        let url = url(&page);
        let events = browser.open(&url);
        let complaints = complaints(&url, &events);
        assert!(complaints.is_empty(), "{name}: {complaints:#?}");
        let elements = browser.evaluate("document.querySelectorAll('img, script, [onerror]').length");
        assert_eq!(elements, json!(0), "{name}");
        let text = browser.evaluate("document.body.textContent");
        let text = text.as_str().expect("a text");
        let shown: String = hostile.chars().take(quoted).collect();
        let shown = shown.replace('\u{1b}', "\\u{1b}").replace('\u{202e}', "\\u{202e}");
        assert!(text.matches(&shown).count() >= places, "{name}: {text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{name}");
        assert_ne!(browser.evaluate("document.title"), json!("run"), "{name}");
        keep(&mut browser, &page, "light");
    }
}

#[test]
fn a_page_that_asks_for_something_is_caught() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for (name, body) in [
        ("script", "<script>console.log(1)</script>"),
        ("error", "<script>nothing.there</script>"),
        ("request", "<img src='other.png'>"),
    ] {
        let path = folder.path().join(format!("{name}.html"));
        fs::write(&path, format!("<!DOCTYPE html><title>x</title>{body}")).expect("a file");
        let events = browser.open(&url(&path));
        assert!(!complaints(&url(&path), &events).is_empty(), "{name}: {events:#?}");
    }
}
