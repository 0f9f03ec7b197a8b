//! Everything that is control's: passed on and back as streams, unread and unchanged.
//!
//! The only things added are the client's address and its signature; the only things taken away are headers of that name that the client
//! made up.

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

/// Headers that only the edge sets begin so.
const OWN_HEADERS: &str = "x-updraft-";

/// Whether control itself gave an answer of this status: these are Cloudflare's own, with a page, when it cannot reach an origin.
fn is_controls(status: u16) -> bool {
    !(520..=530).contains(&status)
}

/// What went wrong on the way to control, in words for the log; nothing when `answer` (the response, or what `fetch` threw) is control's own.
pub(crate) fn fault(answer: &JsValue) -> Option<Value> {
    match answer.dyn_ref::<web_sys::Response>().map(web_sys::Response::status) {
        Some(status) if is_controls(status) => None,
        Some(status) => Some(json!({"status": status})),
        None => Some(json!({"error": worker::Error::from(answer.clone()).to_string()})),
    }
}

/// The answer when it was not control that answered.
pub(crate) fn unreachable(request_id: &RequestId, mut fault: Value) -> Failure {
    if let Some(fields) = fault.as_object_mut() {
        fields.insert("request".to_owned(), request_id.as_str().into());
    }
    log::event("control.unreachable", fault);
    Refusal::unavailable("the service cannot be reached at the moment", 5).into()
}

/// The request to control that stands for this one. `entry.js` sends it, so that what control is busy with survives this instance.
pub(crate) fn outgoing(call: &Call<'_>) -> Result<web_sys::Request, Failure> {
    let incoming = call.request;
    let url = incoming.url();
    let url = format!("{}{}", call.settings.control_url, Target::of(&url).path_and_query);
    // The incoming request is its own copy's pattern: so that method, headers, body and `redirect: manual` (which every incoming request has)
    // pass as they are. A GET with a body cannot be put together in any other way.
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
