//! Variables, read and checked when they are new; the time; randomness.
//!
//! Bindings (KV, Queue, R2) are taken from the request's own environment where they are used: a JavaScript handle must not outlive its request.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use shared::limit::Rate;
use shared::signature::Secrets;
use shared::time::UnixMillis;
use wasm_bindgen::prelude::*;
use worker::{Env, js_sys};

use crate::memory::Ages;

/// Name of the KV namespace that holds the snapshots.
pub(crate) const SNAPSHOTS: &str = "SNAPSHOTS";
/// Name of the Queue that takes in reports.
pub(crate) const REPORTS: &str = "REPORTS";
/// Name of the R2 bucket in which reports are parked that control never took.
pub(crate) const DEAD_LETTERS: &str = "DEAD_LETTERS";
/// Name of the R2 bucket that holds the bundles, where there is one.
pub(crate) const BUNDLES: &str = "BUNDLES";

/// The Worker's variables. No `Debug`: it holds secrets.
pub(crate) struct Settings {
    /// Control's own address, without a trailing slash.
    pub(crate) control_url: String,
    /// The address that clients use, without a trailing slash; download URLs start with it.
    pub(crate) base_url: String,
    /// Signs calls and client addresses to control.
    pub(crate) edge_secrets: Secrets,
    /// Signs and verifies download URLs.
    pub(crate) download_secrets: Secrets,
    /// When a remembered snapshot is refreshed.
    pub(crate) ages: Ages,
    /// The first delay after a batch of reports that control did not take, seconds.
    pub(crate) retry_base_seconds: u32,
    /// Reports per client address and deployment.
    pub(crate) report_rate: Rate,
    /// Reports per client address, of all deployments together.
    pub(crate) address_report_rate: Rate,
    /// Where a client's address is: a header that what stands in front always sets, or `peer`.
    pub(crate) client_address: String,
    /// The queue of what exhausted its retries; any other queue's messages are reports to deliver.
    pub(crate) dead_letter_queue: String,
}

/// Every variable that [`Settings::read`] asks for.
const NAMES: [&str; 12] = [
    "CONTROL_URL",
    "CONTROL_INSECURE",
    "BASE_URL",
    "EDGE_SECRET",
    "DOWNLOAD_SECRET",
    "SNAPSHOT_FRESH_MS",
    "SNAPSHOT_STALE_MS",
    "REPORT_RETRY_BASE_SECONDS",
    "LIMIT_REPORTS",
    "LIMIT_REPORTS_ADDRESS",
    "CLIENT_ADDRESS",
    "DEAD_LETTER_QUEUE",
];

impl Settings {
    /// Reads every variable, and says all that is wrong with them at once. Never repeats a value: some are secrets.
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

    /// Whether clients come over https, so that HSTS is true.
    pub(crate) fn is_https(&self) -> bool {
        self.base_url.starts_with("https://")
    }
}

/// Whether an address, without its scheme, is of the machine that this runs on.
fn is_this_machine(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A user's name may look like a host.
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_address = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_address || host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost")
}

thread_local! {
    static SETTINGS: RefCell<Option<Held<JsValue>>> = const { RefCell::new(None) };
    /// [`NAMES`] as the runtime takes them, made once.
    static KEYS: [JsValue; NAMES.len()] = NAMES.map(JsValue::from_str);
    static DICE: RefCell<Dice> = const { RefCell::new(Dice { bytes: [0; 512], used: 512 }) };
}

/// Settings, and the values of [`NAMES`] that they were read from.
struct Held<V> {
    values: Vec<V>,
    settings: Rc<Settings>,
}

/// The settings that `values` make: the held ones as long as no value has changed.
fn current<V: PartialEq>(held: &mut Option<Held<V>>, values: Vec<V>, text: impl Fn(&V) -> Option<String>) -> Result<Rc<Settings>, String> {
    if let Some(held) = held.as_ref().filter(|held| held.values == values) {
        return Ok(Rc::clone(&held.settings));
    }
    let variable = |name: &str| NAMES.iter().zip(&values).find_map(|(known, value)| (*known == name).then(|| text(value))?);
    let settings = Rc::new(Settings::read(variable)?);
    *held = Some(Held { values, settings: Rc::clone(&settings) });
    Ok(settings)
}

/// The settings of this request. They are compared each time, because nothing promises that a secret that was rotated starts another isolate.
pub(crate) fn settings(env: &Env) -> Result<Rc<Settings>, String> {
    let values: Vec<JsValue> =
        KEYS.with(|keys| keys.iter().map(|key| js_sys::Reflect::get(env, key).unwrap_or(JsValue::UNDEFINED)).collect());
    // Only a workerd whose environment lacks the variable says null. Its default is what Cloudflare sets, and anybody else can send.
    if NAMES.iter().zip(&values).any(|(name, value)| *name == "CLIENT_ADDRESS" && value.is_null()) {
        return Err(
            "CLIENT_ADDRESS must be given where this is not Cloudflare: peer, or the header that the proxy in front always sets".to_owned()
        );
    }
    SETTINGS.with_borrow_mut(|held| {
        current(held, values, |value| {
            // What workerd is to take from an environment that does not have it.
            if value.is_null() {
                return None;
            }
            // A variable that is a number in the configuration arrives as one.
            value.as_string().or_else(|| js_sys::JSON::stringify(value).ok()?.as_string())
        })
    })
}

/// [`NAMES`], for whoever compares the values himself.
pub(crate) fn names() -> js_sys::Array {
    KEYS.with(|keys| keys.iter().collect())
}

/// The time as the runtime tells it; it stands still while a request computes.
pub(crate) fn now() -> UnixMillis {
    UnixMillis(i64::try_from(worker::Date::now().as_millis()).unwrap_or(i64::MAX))
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = crypto, js_name = getRandomValues)]
    fn get_random_values(buffer: &mut [u8]) -> Result<JsValue, JsValue>;
}

/// Random bytes fetched in advance, so that the runtime is called once for many requests.
struct Dice {
    bytes: [u8; 512],
    used: usize,
}

/// Ten random bytes from the runtime's cryptographic generator, for one UUIDv7.
pub(crate) fn dice() -> Result<[u8; 10], worker::Error> {
    DICE.with_borrow_mut(|dice| {
        if dice.bytes.len() - dice.used < 10 {
            get_random_values(&mut dice.bytes)?;
            dice.used = 0;
        }
        let mut taken = [0; 10];
        for (to, from) in taken.iter_mut().zip(dice.bytes.iter().skip(dice.used)) {
            *to = *from;
        }
        dice.used += taken.len();
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
    fn defaults_stand_for_what_is_not_given() {
        let settings = read(&[]).ok().unwrap();
        assert_eq!(settings.control_url, "http://127.0.0.1:8080");
        assert_eq!(settings.ages, Ages { fresh: 5_000, stale: 30_000 });
        assert_eq!(settings.retry_base_seconds, 30);
        assert_eq!(settings.report_rate, Rate { count: 600, window: 60_000 });
        assert_eq!(settings.address_report_rate, Rate { count: 6_000, window: 60_000 });
        assert_eq!(settings.client_address, "cf-connecting-ip");
        assert_eq!(settings.dead_letter_queue, "updraft-reports-dead");
        assert!(settings.is_https());
    }

    #[test]
    fn a_value_that_changes_takes_effect_and_one_that_does_not_is_not_read_again() {
        let values = |secret: &str| -> Vec<String> {
            let value = |name: &&str| match *name {
                "CONTROL_URL" | "BASE_URL" => "https://updates.example",
                "EDGE_SECRET" | "DOWNLOAD_SECRET" => secret,
                "LIMIT_REPORTS" | "LIMIT_REPORTS_ADDRESS" => "5/1m",
                "CLIENT_ADDRESS" => "x-real-ip",
                "DEAD_LETTER_QUEUE" => "dead",
                "CONTROL_INSECURE" => "no",
                _ => "30",
            };
            NAMES.iter().map(value).map(str::to_owned).collect()
        };
        let (old, new) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
        let text = |value: &String| Some(value.clone());
        let mut held = None;
        let first = current(&mut held, values(old), text).ok().unwrap();
        assert!(Rc::ptr_eq(&first, &current(&mut held, values(old), |_| panic!("read again")).ok().unwrap()));
        let second = current(&mut held, values(new), text).ok().unwrap();
        assert_eq!((first.edge_secrets.first(), second.edge_secrets.first()), (old.as_bytes(), new.as_bytes()));
        assert_eq!(second.dead_letter_queue, "dead");
        assert!(current(&mut held, values("too short"), text).is_err(), "what is wrong now does not run on with what was right");
    }

    #[test]
    fn every_variable_is_among_the_compared_ones() {
        let asked = RefCell::new(Vec::new());
        let _settings = Settings::read(|name| {
            asked.borrow_mut().push(name.to_owned());
            None
        });
        assert_eq!(asked.into_inner(), NAMES);
    }

    #[test]
    fn control_is_asked_over_https_unless_it_is_here() {
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
    fn the_base_address_has_no_path() {
        assert!(read(&[("BASE_URL", "https://updates.example/")]).is_ok());
        for url in ["https://updates.example/path", "https://updates.example?x=1", "https://updates.example#x"] {
            assert!(read(&[("BASE_URL", url)]).err().unwrap().contains("BASE_URL"), "{url}");
        }
    }

    #[test]
    fn every_fault_is_named_and_no_secret_is_shown() {
        let fault =
            read(&[("CONTROL_URL", "ftp://x"), ("EDGE_SECRET", "too short"), ("SNAPSHOT_FRESH_MS", "soon"), ("LIMIT_REPORTS", "many")])
                .err()
                .unwrap();
        for name in ["CONTROL_URL", "EDGE_SECRET", "SNAPSHOT_FRESH_MS", "LIMIT_REPORTS"] {
            assert!(fault.contains(name), "{fault}");
        }
        assert!(!fault.contains("too short"), "{fault}");
        assert!(read(&[("SNAPSHOT_FRESH_MS", "200"), ("SNAPSHOT_STALE_MS", "100")]).is_err());
    }
}
