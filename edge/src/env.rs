//! The Worker's variables, parsed whenever they change; the time; randomness.
//!
//! Bindings (KV, Queue, R2) come from the environment of the request that uses them: a JavaScript handle must not outlive its request.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use shared::limit::Rate;
use shared::signature::Secrets;
use shared::snapshot::SnapshotKeys;
use shared::time::UnixMillis;
use wasm_bindgen::prelude::*;
use worker::{Env, js_sys};

use crate::memory::Ages;

/// Binding of the KV namespace with the snapshots.
pub(crate) const SNAPSHOTS: &str = "SNAPSHOTS";
/// Binding of the Queue for reports.
pub(crate) const REPORTS: &str = "REPORTS";
/// Binding of the R2 bucket for dead letters: reports that control never accepted.
pub(crate) const DEAD_LETTERS: &str = "DEAD_LETTERS";
/// Binding of the optional R2 bucket with the bundles.
pub(crate) const BUNDLES: &str = "BUNDLES";

/// The Worker's variables. No `Debug`: it holds secrets.
pub(crate) struct Settings {
    /// Control's own URL, without a trailing slash.
    pub(crate) control_url: String,
    /// The base URL that clients use, without a trailing slash; download URLs start with it.
    pub(crate) base_url: String,
    /// Signs calls and client addresses to control.
    pub(crate) edge_secrets: Secrets,
    /// Verify snapshots.
    pub(crate) snapshot_keys: SnapshotKeys,
    /// Whether snapshots that the previous version of control wrote, without a signature, are read: only while it is being upgraded.
    pub(crate) is_unsigned_allowed: bool,
    /// Whether whole bundles from R2 are verified while they are downloaded.
    pub(crate) verifies_bundles: bool,
    /// Signs and verifies download URLs.
    pub(crate) download_secrets: Secrets,
    /// The ages at which cached snapshots are refreshed.
    pub(crate) ages: Ages,
    /// The initial back-off after control did not accept a batch of reports, in seconds.
    pub(crate) retry_base_seconds: u32,
    /// The rate limit for reports per client address and deployment.
    pub(crate) report_rate: Rate,
    /// The rate limit for reports per client address, over all deployments.
    pub(crate) address_report_rate: Rate,
    /// The source of the client's address: a header that the proxy in front always sets, or `peer`.
    pub(crate) client_address: String,
    /// The dead letter queue; messages from any other queue are reports to deliver.
    pub(crate) dead_letter_queue: String,
}

/// All variables that [`Settings::read`] reads.
const NAMES: [&str; 14] = [
    "CONTROL_URL",
    "CONTROL_INSECURE",
    "BASE_URL",
    "EDGE_SECRET",
    "DOWNLOAD_SECRET",
    "SNAPSHOT_UNSIGNED",
    "VERIFY_BUNDLES",
    "SNAPSHOT_FRESH_MS",
    "SNAPSHOT_STALE_MS",
    "REPORT_RETRY_BASE_SECONDS",
    "LIMIT_REPORTS",
    "LIMIT_REPORTS_ADDRESS",
    "CLIENT_ADDRESS",
    "DEAD_LETTER_QUEUE",
];

impl Settings {
    /// Parses all variables; the error lists every invalid one. Never quotes a value, since some are secrets.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut faults = Vec::new();
        let url = |name: &str, faults: &mut Vec<String>| {
            let text = variable(name).unwrap_or_default().trim_end_matches('/').to_owned();
            let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            if host.is_none_or(str::is_empty) {
                faults.push(format!("{name} must be an http or https address"));
            }
            text
        };
        let control_url = url("CONTROL_URL", &mut faults);
        let is_insecure_allowed = match variable("CONTROL_INSECURE").unwrap_or_default().trim() {
            "yes" => true,
            "" | "no" => false,
            _ => {
                faults.push("CONTROL_INSECURE must be yes or no".to_owned());
                false
            }
        };
        if let Some(rest) = control_url.strip_prefix("http://")
            && !is_insecure_allowed
            && !is_this_machine(rest)
        {
            faults.push("CONTROL_URL must be https; CONTROL_INSECURE=yes allows http on a network that nobody else can read".to_owned());
        }
        let base_url = url("BASE_URL", &mut faults);
        if base_url.split_once("://").is_some_and(|(_, host)| host.contains(['/', '?', '#'])) {
            faults.push("BASE_URL must have no path".to_owned());
        }
        let secrets = |name: &str, faults: &mut Vec<String>| {
            let parsed = Secrets::parse(&variable(name).unwrap_or_default());
            parsed.map_err(|fault| faults.push(format!("{name}: {fault}"))).ok()
        };
        let edge_secrets = secrets("EDGE_SECRET", &mut faults);
        let download_secrets = secrets("DOWNLOAD_SECRET", &mut faults);
        let is_unsigned_allowed = match variable("SNAPSHOT_UNSIGNED").unwrap_or_default().trim() {
            "allow" => true,
            "" => false,
            _ => {
                faults.push("SNAPSHOT_UNSIGNED must be allow, or absent".to_owned());
                false
            }
        };
        let verifies_bundles = match variable("VERIFY_BUNDLES").unwrap_or_default().trim() {
            "" | "on" => true,
            "off" => false,
            _ => {
                faults.push("VERIFY_BUNDLES must be on or off".to_owned());
                true
            }
        };
        let number = |name: &str, default: u32, faults: &mut Vec<String>| match variable(name) {
            None => default,
            Some(text) => text.trim().parse().unwrap_or_else(|_| {
                faults.push(format!("{name} must be a whole number"));
                default
            }),
        };
        let fresh = i64::from(number("SNAPSHOT_FRESH_MS", 5_000, &mut faults));
        let stale = i64::from(number("SNAPSHOT_STALE_MS", 30_000, &mut faults));
        let retry_base_seconds = number("REPORT_RETRY_BASE_SECONDS", 30, &mut faults);
        let rate = |name: &str, default: &str, faults: &mut Vec<String>| {
            let parsed = Rate::parse(&variable(name).unwrap_or_else(|| default.to_owned()));
            parsed.map_err(|fault| faults.push(format!("{name} {fault}"))).ok()
        };
        let report_rate = rate("LIMIT_REPORTS", "600/1m", &mut faults);
        let address_report_rate = rate("LIMIT_REPORTS_ADDRESS", "6000/1m", &mut faults);
        let client_address = variable("CLIENT_ADDRESS").map_or_else(|| "cf-connecting-ip".to_owned(), |name| name.to_ascii_lowercase());
        if client_address.is_empty() || !client_address.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            faults.push("CLIENT_ADDRESS must be a header's name or peer".to_owned());
        }
        let dead_letter_queue = variable("DEAD_LETTER_QUEUE").unwrap_or_else(|| "updraft-reports-dead".to_owned());
        if dead_letter_queue.is_empty() {
            faults.push("DEAD_LETTER_QUEUE must be a queue's name".to_owned());
        }
        if stale < fresh {
            faults.push("SNAPSHOT_STALE_MS must not be below SNAPSHOT_FRESH_MS".to_owned());
        }
        match (edge_secrets, download_secrets, report_rate, address_report_rate) {
            (Some(edge_secrets), Some(download_secrets), Some(report_rate), Some(address_report_rate)) if faults.is_empty() => {
                let ages = Ages { fresh, stale };
                Ok(Self {
                    control_url,
                    base_url,
                    snapshot_keys: SnapshotKeys::derive(&edge_secrets),
                    is_unsigned_allowed,
                    verifies_bundles,
                    edge_secrets,
                    download_secrets,
                    ages,
                    retry_base_seconds,
                    report_rate,
                    address_report_rate,
                    client_address,
                    dead_letter_queue,
                })
            }
            _ => Err(faults.join("; ")),
        }
    }

    /// Whether clients use https, so that HSTS can be sent.
    pub(crate) fn is_https(&self) -> bool {
        self.base_url.starts_with("https://")
    }
}

/// Whether a URL, without its scheme, points to this machine.
fn is_this_machine(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // User info may look like a host.
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_address = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_address || host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost")
}

thread_local! {
    static SETTINGS: RefCell<Option<Cached<JsValue>>> = const { RefCell::new(None) };
    /// [`NAMES`] as JavaScript strings, created once.
    static KEYS: [JsValue; NAMES.len()] = NAMES.map(JsValue::from_str);
    static ENTROPY: RefCell<Entropy> = const { RefCell::new(Entropy { bytes: [0; 512], used: 512 }) };
}

/// Settings, and the values of [`NAMES`] that they were parsed from.
struct Cached<V> {
    values: Vec<V>,
    settings: Rc<Settings>,
}

/// The settings for `values`: cached until a value changes.
fn current<V: PartialEq>(
    cached: &mut Option<Cached<V>>,
    values: Vec<V>,
    text: impl Fn(&V) -> Option<String>,
) -> Result<Rc<Settings>, String> {
    if let Some(cached) = cached.as_ref().filter(|cached| cached.values == values) {
        return Ok(Rc::clone(&cached.settings));
    }
    let variable = |name: &str| NAMES.iter().zip(&values).find_map(|(known, value)| (*known == name).then(|| text(value))?);
    let settings = Rc::new(Settings::read(variable)?);
    *cached = Some(Cached { values, settings: Rc::clone(&settings) });
    Ok(settings)
}

/// The settings for this request. Values are compared on each request, because a rotated secret may not come with a new isolate.
pub(crate) fn settings(env: &Env) -> Result<Rc<Settings>, String> {
    let values: Vec<JsValue> =
        KEYS.with(|keys| keys.iter().map(|key| js_sys::Reflect::get(env, key).unwrap_or(JsValue::UNDEFINED)).collect());
    // Only workerd returns null, for a variable missing in its environment. The default header is set by Cloudflare only; elsewhere, clients can
    // forge it.
    if NAMES.iter().zip(&values).any(|(name, value)| *name == "CLIENT_ADDRESS" && value.is_null()) {
        return Err("CLIENT_ADDRESS is required outside Cloudflare: set it to peer, or to the header that the proxy in front always sets"
            .to_owned());
    }
    SETTINGS.with_borrow_mut(|cached| {
        current(cached, values, |value| {
            // In workerd: a variable that the environment does not have.
            if value.is_null() {
                return None;
            }
            // A number in the configuration arrives as a number.
            value.as_string().or_else(|| js_sys::JSON::stringify(value).ok()?.as_string())
        })
    })
}

/// [`NAMES`] as a JavaScript array, for `entry.js`, which compares the values itself.
pub(crate) fn names() -> js_sys::Array {
    KEYS.with(|keys| keys.iter().collect())
}

/// The runtime's current time, which does not advance during computation.
pub(crate) fn now() -> UnixMillis {
    UnixMillis(i64::try_from(worker::Date::now().as_millis()).unwrap_or(i64::MAX))
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = crypto, js_name = getRandomValues)]
    fn get_random_values(buffer: &mut [u8]) -> Result<JsValue, JsValue>;
}

/// A buffer of random bytes, so that many requests share one call to the runtime.
struct Entropy {
    bytes: [u8; 512],
    used: usize,
}

/// Ten bytes from the runtime's cryptographic random generator, for one UUIDv7.
pub(crate) fn entropy() -> Result<[u8; 10], worker::Error> {
    ENTROPY.with_borrow_mut(|entropy| {
        if entropy.bytes.len() - entropy.used < 10 {
            get_random_values(&mut entropy.bytes)?;
            entropy.used = 0;
        }
        let mut taken = [0; 10];
        for (to, from) in taken.iter_mut().zip(entropy.bytes.iter().skip(entropy.used)) {
            *to = *from;
        }
        entropy.used += taken.len();
        Ok(taken)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(changes: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::read(|name| {
            let given = changes.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned());
            given.or_else(|| match name {
                "CONTROL_URL" => Some("http://127.0.0.1:8080/".to_owned()),
                "BASE_URL" => Some("https://updates.example".to_owned()),
                "EDGE_SECRET" | "DOWNLOAD_SECRET" => Some("0123456789abcdef0123456789abcdef".to_owned()),
                _ => None,
            })
        })
    }

    #[test]
    fn missing_variables_have_defaults() {
        let settings = read(&[]).ok().unwrap();
        assert_eq!(settings.control_url, "http://127.0.0.1:8080");
        assert_eq!(settings.ages, Ages { fresh: 5_000, stale: 30_000 });
        assert_eq!(settings.retry_base_seconds, 30);
        assert_eq!(settings.report_rate, Rate { count: 600, window: 60_000 });
        assert_eq!(settings.address_report_rate, Rate { count: 6_000, window: 60_000 });
        assert_eq!(settings.client_address, "cf-connecting-ip");
        assert_eq!(settings.dead_letter_queue, "updraft-reports-dead");
        assert!(settings.is_https() && !settings.is_unsigned_allowed && settings.verifies_bundles);
    }

    #[test]
    fn settings_are_parsed_again_only_when_a_value_changes() {
        let values = |secret: &str| -> Vec<String> {
            let value = |name: &&str| match *name {
                "CONTROL_URL" | "BASE_URL" => "https://updates.example",
                "EDGE_SECRET" | "DOWNLOAD_SECRET" => secret,
                "LIMIT_REPORTS" | "LIMIT_REPORTS_ADDRESS" => "5/1m",
                "CLIENT_ADDRESS" => "x-real-ip",
                "DEAD_LETTER_QUEUE" => "dead",
                "CONTROL_INSECURE" => "no",
                "SNAPSHOT_UNSIGNED" => "allow",
                "VERIFY_BUNDLES" => "off",
                _ => "30",
            };
            NAMES.iter().map(value).map(str::to_owned).collect()
        };
        let (old, new) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
        let text = |value: &String| Some(value.clone());
        let mut cached = None;
        let first = current(&mut cached, values(old), text).ok().unwrap();
        assert!(Rc::ptr_eq(&first, &current(&mut cached, values(old), |_| panic!("parsed again")).ok().unwrap()));
        let second = current(&mut cached, values(new), text).ok().unwrap();
        assert_eq!((first.edge_secrets.first(), second.edge_secrets.first()), (old.as_bytes(), new.as_bytes()));
        assert_eq!(second.dead_letter_queue, "dead");
        assert!(current(&mut cached, values("too short"), text).is_err(), "invalid values do not fall back to the cached settings");
    }

    #[test]
    fn every_variable_is_compared() {
        let read_names = RefCell::new(Vec::new());
        let _settings = Settings::read(|name| {
            read_names.borrow_mut().push(name.to_owned());
            None
        });
        assert_eq!(read_names.into_inner(), NAMES);
    }

    #[test]
    fn control_must_use_https_unless_it_is_local() {
        for url in [
            "https://control.example",
            "http://localhost:8080",
            "http://control.localhost",
            "http://127.0.0.2",
            "http://[::1]:80",
            "http://LOCALHOST/",
        ] {
            assert!(read(&[("CONTROL_URL", url)]).is_ok(), "{url}");
        }
        for url in ["http://control.example", "http://10.0.0.1:8080", "http://localhost.example", "http://[::2]", "http://localhost:80@x"] {
            let fault = read(&[("CONTROL_URL", url)]).err().unwrap();
            assert!(fault.contains("CONTROL_URL") && fault.contains("CONTROL_INSECURE"), "{url}: {fault}");
            assert!(read(&[("CONTROL_URL", url), ("CONTROL_INSECURE", "no")]).is_err(), "{url}");
            assert!(read(&[("CONTROL_URL", url), ("CONTROL_INSECURE", "yes")]).is_ok(), "{url}");
        }
        assert!(read(&[("CONTROL_INSECURE", "maybe")]).err().unwrap().contains("CONTROL_INSECURE"));
    }

    #[test]
    fn the_base_url_has_no_path() {
        assert!(read(&[("BASE_URL", "https://updates.example/")]).is_ok());
        for url in ["https://updates.example/path", "https://updates.example?x=1", "https://updates.example#x"] {
            assert!(read(&[("BASE_URL", url)]).err().unwrap().contains("BASE_URL"), "{url}");
        }
    }

    #[test]
    fn every_error_is_listed_and_no_secret_is_shown() {
        let fault =
            read(&[("CONTROL_URL", "ftp://x"), ("EDGE_SECRET", "too short"), ("SNAPSHOT_FRESH_MS", "soon"), ("LIMIT_REPORTS", "many")])
                .err()
                .unwrap();
        for name in ["CONTROL_URL", "EDGE_SECRET", "SNAPSHOT_FRESH_MS", "LIMIT_REPORTS"] {
            assert!(fault.contains(name), "{fault}");
        }
        assert!(!fault.contains("too short"), "{fault}");
        assert!(read(&[("SNAPSHOT_UNSIGNED", "allow")]).ok().unwrap().is_unsigned_allowed);
        assert!(!read(&[("VERIFY_BUNDLES", "off")]).ok().unwrap().verifies_bundles);
        assert!(read(&[("VERIFY_BUNDLES", "no")]).err().unwrap().contains("VERIFY_BUNDLES"));
        assert!(read(&[("SNAPSHOT_UNSIGNED", "yes")]).err().unwrap().contains("SNAPSHOT_UNSIGNED"));
        assert!(read(&[("SNAPSHOT_FRESH_MS", "200"), ("SNAPSHOT_STALE_MS", "100")]).is_err());
    }
}
