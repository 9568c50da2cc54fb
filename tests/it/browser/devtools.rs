//! Chromium, driven through its DevTools protocol over a pipe: no port, no second program.
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Names under which it may be installed.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// So that it starts as any user, with an empty profile, and looks nothing up by itself.
const FLAGS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
];

/// A running browser with one page.
pub(super) struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    last_id: u64,
    /// What was told without being asked for.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

/// Where it is installed; absent where it is not.
pub(super) fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
}

impl Browser {
    pub(super) fn start(program: &PathBuf) -> Self {
        let profile = tempfile::tempdir().expect("a folder");
        let mut shell = Command::new("sh");
        // The protocol is spoken on the descriptors 3 and 4.
        shell.args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>&2"#]).arg(program).args(FLAGS);
        shell.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        let mut child =
            shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a shell");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut browser =
            Browser { child, to, from, session: String::new(), last_id: 0, events: vec![], _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = target["targetId"].as_str().expect("a target").to_owned();
        let session = browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = session["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Network", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Calls a method and waits for what it gives.
    pub(super) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        loop {
            let mut answer = self.read();
            if answer["id"] == self.last_id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = vec![];
        self.from.read_until(0, &mut bytes).expect("the browser answers");
        let bytes = bytes.strip_suffix(&[0]).expect("the browser goes on");
        serde_json::from_slice(bytes).expect("JSON")
    }

    /// Opens a page and waits until it is loaded. Gives everything that was told meanwhile.
    pub(super) fn open(&mut self, url: &str) -> Vec<Value> {
        self.events.clear();
        self.call("Page.navigate", json!({"url": url}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.read();
            self.events.push(event);
        }
        // What a page does after it is loaded is told before the answer to a later call.
        self.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)))");
        std::mem::take(&mut self.events)
    }

    /// The value of an expression in the page.
    pub(super) fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut result = self.call("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].take()
    }

    /// Shows pages as for someone who prefers dark or light colours.
    pub(super) fn prefer(&mut self, colours: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": colours}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// The whole page as PNG, in base64.
    pub(super) fn screenshot(&mut self) -> String {
        let result = self.call("Page.captureScreenshot", json!({"captureBeyondViewport": true, "format": "png"}));
        result["data"].as_str().expect("a picture").to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
