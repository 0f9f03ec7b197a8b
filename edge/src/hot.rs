//! The fast path: an update check for a deployment in this isolate's cache, answered in one call from `entry.js`.
//!
//! Nothing here awaits or touches a JavaScript object: the input is a URL, the output a string with the parts of the response. [`crate::serve`]
//! handles everything else, and could answer these checks too.

use std::cell::RefCell;
use std::rc::Rc;

use shared::ids::RequestId;
use shared::time::UnixMillis;
use shared::wire::check::parse_query;
use shared::wire::headers;
use shared::wire::path::{self, Endpoint, Job};
use wasm_bindgen::prelude::*;
use worker::{Env, js_sys};

use crate::check;
use crate::env::{self, Settings};
use crate::planted;
use crate::route::Target;
use crate::store;

thread_local! {
    static PREPARED: RefCell<Option<Rc<Settings>>> = const { RefCell::new(None) };
}

/// Sets the settings for [`check()`] and returns what `entry.js` needs: the names of the variables that they were parsed from, the headers for
/// current paths, and the headers for deprecated paths. `None` if the settings are invalid.
#[wasm_bindgen]
pub fn prepare(env: &Env) -> Option<js_sys::Array> {
    let settings = env::settings(env).ok();
    PREPARED.replace(settings.clone());
    let settings = settings?;
    let prepared = js_sys::Array::new();
    prepared.push(&env::names());
    for is_deprecated in [false, true] {
        let is_sought = |endpoint: &Endpoint| endpoint.job == Job::Check && endpoint.successor.is_some() == is_deprecated;
        let (_, endpoint) = path::all().into_iter().find(|(_, endpoint)| is_sought(endpoint))?;
        let object = js_sys::Object::new();
        let hsts = settings.is_https().then(|| ("strict-transport-security", headers::HSTS.to_owned()));
        for (name, value) in headers::acquisition(&endpoint).into_iter().chain(hsts) {
            js_sys::Reflect::set(&object, &name.into(), &value.into()).ok()?;
        }
        prepared.push(&object);
    }
    Some(prepared)
}

/// Answers a GET of this URL at this time (milliseconds since 1970), if the fast path applies. Returns `X-Request-Id` (36 characters), the index of
/// the headers (`0` for a current path, `1` for a deprecated one), and the body.
#[wasm_bindgen]
pub fn check(url: &str, now: f64) -> Option<String> {
    planted::panic_at("check", url);
    let settings = PREPARED.with_borrow(Option::clone)?;
    let target = Target::of(url);
    let endpoint = path::endpoint(target.path).filter(|endpoint| endpoint.job == Job::Check)?;
    let request = parse_query(target.query).ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "a whole number of milliseconds, far below the largest")]
    let now = UnixMillis(now as i64);
    let snapshot = store::remembered(&request.deployment_key, now, settings.ages)?;
    let id = RequestId::v7(now, env::entropy().ok()?);
    let body = check::body(&settings, now, &endpoint, &request, &snapshot);
    let header_set = if endpoint.successor.is_some() { "1" } else { "0" };
    Some([id.as_str(), header_set, &body].concat())
}
