//! Everything that is control's: passed on and back as streams, unread and unchanged.
//!
//! The only things added are the client's address and its signature; the only things taken away are headers of that name that the client
//! made up.

use serde_json::json;
use shared::signature::sign_address;
use wasm_bindgen::JsCast;
use worker::web_sys;

use crate::Call;
use crate::control;
use crate::log;
use crate::reply::{Failure, Refusal};
use crate::route::Target;

/// Headers that only the edge sets begin so.
const OWN_HEADERS: &str = "x-updraft-";

/// Control's answer to this request; 503 when control is not there.
pub(crate) async fn forward(call: &Call<'_>) -> Result<web_sys::Response, Failure> {
    let request = outgoing(call)?;
    match control::fetch(&request).await {
        // Cloudflare answers these itself, with a page of its own, when it cannot reach an origin.
        Ok(response) if (520..=530).contains(&response.status()) => {
            log::event("control.unreachable", json!({"request": call.request_id.as_str(), "status": response.status()}));
            Err(unreachable())
        }
        Ok(response) => Ok(response),
        Err(error) => {
            log::event("control.unreachable", json!({"request": call.request_id.as_str(), "error": error.to_string()}));
            Err(unreachable())
        }
    }
}

fn unreachable() -> Failure {
    Refusal::unavailable("the service cannot be reached at the moment", 5).into()
}

fn outgoing(call: &Call<'_>) -> Result<web_sys::Request, Failure> {
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
    // This header alone is the platform's word; every other one is the client's.
    if let Some(address) = headers.get("cf-connecting-ip")? {
        let sent = request.url();
        let signature = sign_address(&call.settings.edge_secrets, call.method, Target::of(&sent).path_and_query, call.now, &address);
        headers.set("x-updraft-client-address", &address)?;
        headers.set("x-updraft-address-signature", &signature)?;
    }
    Ok(request)
}
