//! A user of the dashboard in a real browser: opens pages, reads them, fills in fields and presses buttons, with a mouse, with the keyboard alone, or
//! with scripts disabled.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use xtask::probe;

use crate::browser::Browser;
use crate::people::PASSWORD;
use crate::wait::eventually;
use crate::{Options, TestApp};

/// The Tab key in `WebDriver`.
const TAB: char = '\u{e004}';
/// The Enter key.
const ENTER: char = '\u{e007}';
/// The Control key.
const CONTROL: char = '\u{e009}';
/// The Escape key.
pub const ESCAPE: char = '\u{e00c}';

/// The maximum number of Tab presses to reach an element.
const MOST_TABS: usize = 120;

/// The kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputMethod {
    /// A mouse, and a keyboard for text.
    Mouse,
    /// The keyboard alone.
    Keyboard,
    /// A mouse, in a browser that runs no scripts.
    NoScripts,
}

impl InputMethod {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Mouse, Self::Keyboard, Self::NoScripts];
    /// Those that support passkeys.
    pub const SCRIPTED: [Self; 2] = [Self::Mouse, Self::Keyboard];
}

/// Finds a button or link: in the open dialog, otherwise in the page, with its content before its navigation.
const FIND_BUTTON: &str = "
    const [text] = arguments;
    const dialog = document.querySelector('dialog[open]');
    const scopes = dialog ? [dialog] : [document.querySelector('main'), document.body];
    const named = element => element.innerText.replace(/\\s+/g, ' ').trim();
    for (const scope of scopes.filter(Boolean)) {
        const all = [...scope.querySelectorAll('button, a[href], summary')];
        const found = all.find(element => element.checkVisibility() && !element.disabled && element.ariaDisabled !== 'true' && named(element) === text);
        if (found) return found;
    }
    return null;";

const FIND_FIELD: &str = "
    const [id] = arguments;
    const scope = document.querySelector('dialog[open]') ?? document;
    const field = scope.querySelector(`#${CSS.escape(id)}, input[type=checkbox][name=\"${CSS.escape(id)}\"]`);
    return field?.checkVisibility() ? field : null;";

/// Whether an element has the focus, and whether the focus is visible: by an outline, shadow or border that only focused elements have.
const FOCUS: &str = "
    const [element] = arguments;
    if (document.activeElement !== element) return 'elsewhere';
    const look = () => {
        const style = getComputedStyle(element);
        const isRinged = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
        return [isRinged && `${style.outline} ${style.outlineOffset}`, style.boxShadow, style.borderColor].join();
    };
    const focused = look();
    element.blur();
    const left = look();
    element.focus();
    if (document.activeElement !== element || look() !== focused) throw new Error('the focus does not come back');
    return focused === left ? 'unseen' : 'seen';";

/// Network events that were not queried yet, and every URL opened as a page.
#[derive(Debug, Default)]
struct Network {
    events: Vec<Value>,
    pages: HashSet<String>,
}

/// A user with a browser.
#[derive(Debug)]
pub struct Visit {
    /// The browser.
    pub browser: Browser,
    /// The kind of input.
    pub input_method: InputMethod,
    base: String,
    network: Mutex<Network>,
}

impl Options {
    /// Uses a hostname for this machine, which browsers require for passkeys.
    #[must_use]
    pub fn for_browsers(mut self) -> Self {
        let port = probe::free_port().unwrap();
        self.listen = Some(([127, 0, 0, 1], port).into());
        self.with("BASE_URL", format!("http://localhost:{port}"))
    }
}

impl TestApp {
    /// A server for [`Visit`].
    pub async fn spawn_for_browsers() -> Self {
        Self::spawn_with(Options::default().for_browsers()).await
    }
}

fn base_of(app: &TestApp) -> String {
    app.settings()["UPDRAFT_BASE_URL"].clone()
}

impl Visit {
    /// A browser without a session.
    pub async fn start(app: &TestApp, input_method: InputMethod) -> Self {
        let browser = Browser::start().await;
        // As in a focused window.
        browser.chromium("Emulation.setFocusEmulationEnabled", json!({ "enabled": true })).await;
        if input_method == InputMethod::NoScripts {
            browser.chromium("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
        }
        Self { browser, input_method, base: base_of(app), network: Mutex::default() }
    }

    /// Switches to another server.
    pub fn turn_to(&mut self, app: &TestApp) {
        self.base = base_of(app);
    }

    /// The URL of a path.
    pub fn address(&self, path: &str) -> String {
        if path.starts_with('/') { format!("{}{path}", self.base) } else { path.to_owned() }
    }

    /// Opens a page by its path or URL.
    pub async fn open(&self, path: &str) {
        self.browser.window.goto(&self.address(path)).await.unwrap();
    }

    /// The current path and query.
    pub async fn path(&self) -> String {
        let address = self.browser.window.current_url().await.unwrap();
        address.as_str().strip_prefix(&self.base).unwrap_or(address.as_str()).to_owned()
    }

    /// A script's value once it is not null; `what` is for the error message.
    async fn found(&self, what: &str, script: &str, argument: &str) -> Value {
        eventually(what, async || {
            let found = self.browser.window.execute(script, vec![json!(argument)]).await.map_err(|error| error.to_string())?;
            if found.is_null() { Err(format!("on the page:\n{}", self.text().await)) } else { Ok(found) }
        })
        .await
    }

    /// The visible text of the page.
    pub async fn text(&self) -> String {
        let text = self.browser.window.execute("return document.body.innerText;", Vec::new()).await;
        text.map_or_else(|error| error.to_string(), |text| text.as_str().unwrap_or_default().to_owned())
    }

    /// Waits until the page shows a text, ignoring whitespace.
    pub async fn sees(&self, text: &str) {
        let script = "return document.body.innerText.replace(/\\s+/g, ' ').includes(arguments[0]) || null;";
        self.found(&format!("`{text}` is seen"), script, text).await;
    }

    /// Waits until the page with this heading is completely loaded.
    pub async fn is_at(&self, heading: &str) {
        let script = "const heading = document.querySelector('h1')?.innerText.replace(/\\s+/g, ' ').trim();
            return (document.readyState === 'complete' && heading === arguments[0]) || null;";
        self.found(&format!("the page `{heading}`"), script, heading).await;
    }

    /// Waits until this JavaScript condition is true.
    pub async fn until(&self, condition: &str) {
        self.found(condition, &format!("return ({condition}) || null;"), "").await;
    }

    /// The value or text of the element with this CSS selector.
    pub async fn read(&self, selector: &str) -> String {
        let script = "const found = document.querySelector(arguments[0]); return found ? (found.value ?? found.innerText) : null;";
        let found = self.found(&format!("`{selector}`"), script, selector).await;
        found.as_str().unwrap().trim().to_owned()
    }

    /// The texts of all elements with this CSS selector.
    pub async fn read_all(&self, selector: &str) -> Vec<String> {
        let script = "return [...document.querySelectorAll(arguments[0])].map(element => element.innerText.trim());";
        let found = self.browser.run(script, &[json!(selector)]).await;
        found.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    }

    /// Types into the field with this ID, replacing its value.
    pub async fn fill(&self, id: &str, text: &str) {
        let field = self.found(&format!("the field `{id}`"), FIND_FIELD, id).await;
        if self.input_method == InputMethod::Keyboard {
            self.tab_to(&field, id).await;
            self.keys(&[CONTROL, 'a']).await;
        } else {
            self.act(&field, "clear", json!({})).await;
        }
        self.act(&field, "value", json!({ "text": text })).await;
    }

    /// Checks the checkbox with this name.
    pub async fn tick(&self, name: &str) {
        let field = self.found(&format!("the box `{name}`"), FIND_FIELD, name).await;
        if self.input_method == InputMethod::Keyboard {
            self.tab_to(&field, name).await;
            self.keys(&[' ']).await;
        } else {
            self.act(&field, "click", json!({})).await;
        }
    }

    /// Chooses a file in the field with this ID. What the operating system's dialog does is left out.
    pub async fn choose_file(&self, id: &str, path: &Path) {
        let field = self.found(&format!("the field `{id}`"), FIND_FIELD, id).await;
        self.act(&field, "value", json!({ "text": path })).await;
    }

    /// Chooses the radio button with this name and value, the first of its group or the only one.
    pub async fn choose(&self, name: &str, value: &str) {
        let script =
            format!("return document.querySelector(`input[type=radio][name=\"${{CSS.escape(arguments[0])}}\"][value=\"{value}\"]`);");
        let field = self.found(&format!("`{value}` of `{name}`"), &script, name).await;
        if self.input_method == InputMethod::Keyboard {
            self.tab_to(&field, value).await;
            self.keys(&[' ']).await;
        } else {
            self.act(&field, "click", json!({})).await;
        }
    }

    /// Presses the button or link with this text.
    pub async fn press(&self, text: &str) {
        let button = self.found(&format!("the button or link `{text}`"), FIND_BUTTON, text).await;
        if self.input_method == InputMethod::Keyboard {
            self.tab_to(&button, text).await;
            self.keys(&[ENTER]).await;
        } else {
            self.act(&button, "click", json!({})).await;
        }
    }

    /// Opens the menu in the header with this CSS class.
    pub async fn open_menu(&self, class: &str) {
        let script = "return document.querySelector(`.menu${arguments[0]} > summary`);";
        let summary = self.found(&format!("the menu `{class}`"), script, class).await;
        if self.input_method == InputMethod::Keyboard {
            self.tab_to(&summary, class).await;
            self.keys(&[ENTER]).await;
        } else {
            self.act(&summary, "click", json!({})).await;
        }
        self.until(&format!("document.querySelector('.menu{class} > .panel').checkVisibility()")).await;
    }

    /// Presses a button or link in the menu of the signed-in user.
    pub async fn press_in_menu(&self, text: &str) {
        self.open_menu(".who").await;
        self.press(text).await;
    }

    /// Moves the focus to an element with the Tab key alone, and checks that it is visible.
    async fn tab_to(&self, element: &Value, what: &str) {
        for _ in 0..MOST_TABS {
            let focus = self.browser.run(FOCUS, std::slice::from_ref(element)).await;
            match focus.as_str().unwrap() {
                "seen" => return,
                "unseen" => panic!("`{what}` has the focus, but it is not visible"),
                _ => self.keys(&[TAB]).await,
            }
        }
        panic!("the Tab key does not reach `{what}`:\n{}", self.text().await)
    }

    /// Presses these keys, holding the first ones until the last was pressed.
    pub async fn keys(&self, keys: &[char]) {
        let down = keys.iter().map(|key| json!({ "type": "keyDown", "value": key.to_string() }));
        let up = keys.iter().rev().map(|key| json!({ "type": "keyUp", "value": key.to_string() }));
        let actions: Vec<Value> = down.chain(up).collect();
        let body = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] });
        self.browser.command("actions", Some(body)).await.unwrap();
    }

    async fn act(&self, element: &Value, action: &str, body: Value) {
        let id = element.as_object().and_then(|found| found.values().next()).and_then(Value::as_str).unwrap();
        self.browser.command(&format!("element/{id}/{action}"), Some(body)).await.unwrap();
    }

    /// Sets a cookie of the dashboard. One of its pages must be open.
    pub async fn put_cookie(&self, name: &str, value: &str) {
        let cookie = json!({ "cookie": { "name": name, "value": value, "path": "/", "httpOnly": true } });
        self.browser.command("cookie", Some(cookie)).await.unwrap();
    }

    /// Signs in `<name>@example.com`, who has [`PASSWORD`], on the current page or the sign-in page.
    pub async fn type_password(&self, name: &str) {
        self.is_at("Sign in").await;
        self.fill("email", &format!("{name}@example.com")).await;
        self.fill("password", PASSWORD).await;
        self.press("Sign in").await;
    }

    /// Adds a virtual authenticator; with `has_resident_keys` it finds its passkeys without credential IDs.
    pub async fn plug_in_authenticator(&self, has_resident_keys: bool) -> String {
        let authenticator = json!({
            "protocol": "ctap2",
            "transport": if has_resident_keys { "internal" } else { "usb" },
            "hasResidentKey": has_resident_keys,
            "hasUserVerification": true,
            "isUserVerified": true,
        });
        let id = self.browser.command("webauthn/authenticator", Some(authenticator)).await.unwrap();
        id.as_str().unwrap().to_owned()
    }

    /// Removes an authenticator.
    pub async fn unplug(&self, authenticator: &str) {
        self.browser.chromium("WebAuthn.removeVirtualAuthenticator", json!({ "authenticatorId": authenticator })).await;
    }

    /// New errors in the console: violated policies, failing scripts, missing files. A refusal of a page is not an error.
    pub async fn complaints(&self) -> Vec<String> {
        let said = self.browser.log("browser").await;
        let text = said.iter().map(|entry| entry["message"].as_str().unwrap_or_default().to_owned());
        let network = self.listen().await;
        let is_refused_page = |text: &str| {
            let refused = text.split_once(" - Failed to load resource: the server responded with a status of ");
            refused.is_some_and(|(address, _)| network.pages.contains(address))
        };
        // The browser's own pages also have scripts.
        text.filter(|text| !is_refused_page(text) && !text.starts_with("chrome:")).collect()
    }

    /// Reads new network events.
    async fn listen(&self) -> MutexGuard<'_, Network> {
        let said = self.browser.log("performance").await;
        let mut network = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        for event in said.iter().filter_map(|event| serde_json::from_str::<Value>(event["message"].as_str()?).ok()) {
            let (method, parameters) = (&event["message"]["method"], &event["message"]["params"]);
            if method == "Network.requestWillBeSent" && parameters["type"] == "Document" {
                network.pages.extend(parameters["request"]["url"].as_str().map(str::to_owned));
            }
            network.events.push(event["message"].clone());
        }
        network
    }

    /// New events since the last call.
    async fn events(&self) -> Vec<Value> {
        std::mem::take(&mut self.listen().await.events)
    }

    /// Every URL requested since the last call, with the referrers.
    pub async fn asked(&self) -> Vec<String> {
        let events = self.events().await;
        let sent = events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        let line = |event: &Value| {
            let request = &event["params"]["request"];
            let referrer = request["headers"]["Referer"].as_str().unwrap_or_default();
            format!("{} {} from {referrer}", request["method"].as_str().unwrap_or_default(), request["url"].as_str().unwrap_or_default())
        };
        sent.map(line).collect()
    }

    /// The number of bytes received over the network, including headers, since the requests were last queried.
    pub async fn weight(&self) -> f64 {
        let mut ours = HashSet::new();
        let mut weight = 0.0;
        for event in self.events().await {
            let parameters = &event["params"];
            let id = parameters["requestId"].as_str().unwrap_or_default();
            match event["method"].as_str().unwrap_or_default() {
                "Network.requestWillBeSent" if parameters["request"]["url"].as_str().is_some_and(|url| url.starts_with(&self.base)) => {
                    ours.insert(id.to_owned());
                }
                "Network.loadingFinished" if ours.contains(id) => weight += parameters["encodedDataLength"].as_f64().unwrap_or_default(),
                _ => {}
            }
        }
        weight
    }

    /// The cumulative layout shift since the page was opened, and its causes.
    pub async fn shift(&self) -> (f64, String) {
        self.shift_after("").await
    }

    /// The same after a script that changes the page.
    pub async fn shift_after(&self, change: &str) -> (f64, String) {
        // The changes are rendered in the first of two frames and recorded in the second. Buffered entries are sorted by kind: once the first paint
        // is there, so are all before it.
        let count = "const drawn = () => new Promise((resolve) => requestAnimationFrame(resolve));
        return drawn().then(drawn).then(() => new Promise((resolve) => {
            let sum = 0;
            const moved = [];
            const place = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(' ');
            const observer = new PerformanceObserver((list) => {
                for (const entry of list.getEntries()) {
                    if (entry.entryType !== 'layout-shift' || entry.hadRecentInput) continue;
                    sum += entry.value;
                    for (const { node, previousRect, currentRect } of entry.sources) {
                        moved.push(`${node?.outerHTML?.slice(0, 80) ?? node?.nodeName}: ${place(previousRect)} to ${place(currentRect)}`);
                    }
                }
                if (list.getEntriesByName('first-contentful-paint').length) resolve([sum, moved.join('\\n')]);
            });
            observer.observe({ type: 'layout-shift', buffered: true });
            observer.observe({ type: 'paint', buffered: true });
        }));";
        let found = self.browser.run(&format!("{change}\n{count}"), &[]).await;
        (found[0].as_f64().unwrap(), found[1].as_str().unwrap().to_owned())
    }

    /// Emulates the preferred color scheme `light` or `dark`, and reduced motion.
    pub async fn prefer(&self, scheme: &str) {
        let features =
            json!([{ "name": "prefers-color-scheme", "value": scheme }, { "name": "prefers-reduced-motion", "value": "reduce" }]);
        self.browser.chromium("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }
}
