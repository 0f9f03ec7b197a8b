//! The proxy to control: requests and responses are forwarded as streams, unread and unchanged.
//!
//! It adds only the client's address with its signature, and removes only forged headers of these names.

use serde_json::{Value, json};
use shared::ids::RequestId;
use shared::signature::sign_address;
use wasm_bindgen::{JsCast, JsValue};
use worker::web_sys;

use crate::Call;
use crate::address;
use crate::log;
use crate::reply::{Failure, Refusal};
use crate::route::Target;

/// The prefix of headers that only the edge sets.
const OWN_HEADERS: &str = "x-updraft-";

/// Whether a status may come from control: Cloudflare itself answers with 520 to 530 and a page when it cannot reach an origin.
fn is_controls(status: u16) -> bool {
    !(520..=530).contains(&status)
}

/// Why control was not reached, as log fields; `None` if `answer` (the response, or what `fetch` threw) is control's own.
pub(crate) fn fault(answer: &JsValue) -> Option<Value> {
    match answer.dyn_ref::<web_sys::Response>().map(web_sys::Response::status) {
        Some(status) if is_controls(status) => None,
        Some(status) => Some(json!({"status": status})),
        None => Some(json!({"error": worker::Error::from(answer.clone()).to_string()})),
    }
}

/// The failure for a response that is not control's.
pub(crate) fn unreachable(request_id: &RequestId, mut fault: Value) -> Failure {
    if let Some(fields) = fault.as_object_mut() {
        fields.insert("request".to_owned(), request_id.as_str().into());
    }
    log::event("control.unreachable", fault);
    Refusal::unavailable("the service cannot be reached at the moment", 5).into()
}

/// Builds the request to forward to control. `entry.js` sends it, so that a call in progress survives the death of this instance.
pub(crate) fn outgoing(call: &Call<'_>) -> Result<web_sys::Request, Failure> {
    let incoming = call.request;
    let url = incoming.url();
    let url = format!("{}{}", call.settings.control_url, Target::of(&url).path_and_query);
    // The incoming request serves as the `init` of its copy, so that method, headers, body and `redirect: manual` (set on every incoming request)
    // pass unchanged. There is no other way to build a GET with a body.
    let request = web_sys::Request::new_with_str_and_init(&url, incoming.unchecked_ref())?;
    let headers = request.headers();
    for name in incoming.headers().keys() {
        if let Some(name) = name?.as_string()
            && name.starts_with(OWN_HEADERS)
        {
            headers.delete(&name)?;
        }
    }
    if let Some(address) = address::of(incoming, call.settings)? {
        let sent = request.url();
        let signature = sign_address(&call.settings.edge_secrets, call.method, Target::of(&sent).path_and_query, call.now, &address.text);
        headers.set("x-updraft-client-address", &address.text)?;
        headers.set("x-updraft-address-signature", &signature)?;
    }
    Ok(request)
}
