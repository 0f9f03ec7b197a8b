//! The client's address, which rate limits use and which control receives.

use std::cell::Cell;
use std::net::IpAddr;

use serde_json::json;
use wasm_bindgen::JsValue;
use worker::{js_sys, web_sys};

use crate::env::Settings;
use crate::log;

/// The value of `CLIENT_ADDRESS` for the connection's own address, when there is no proxy in front of the runtime.
const PEER: &str = "peer";

thread_local! {
    static IS_LOGGED: Cell<bool> = const { Cell::new(false) };
}

/// A client's address.
pub(crate) struct Address {
    /// As written: sent to control.
    pub(crate) text: String,
    /// As parsed: used for rate limits.
    pub(crate) number: IpAddr,
}

/// The client's address, from the source that the settings trust. `None` if that source is empty or, which is logged once, not an address.
///
/// Clients can forge any other header.
pub(crate) fn of(request: &web_sys::Request, settings: &Settings) -> Result<Option<Address>, JsValue> {
    let written = if settings.client_address == PEER {
        let member = |of: &JsValue, name: &str| js_sys::Reflect::get(of, &name.into());
        let address = member(request, "cf").and_then(|cf| member(&cf, "clientIp")).ok().and_then(|address| address.as_string());
        address.map(|address| without_port(&address).to_owned())
    } else {
        request.headers().get(&settings.client_address)?
    };
    let Some(text) = written.map(|text| text.trim().to_owned()) else { return Ok(None) };
    let number = text.parse().ok();
    if number.is_none() && !IS_LOGGED.replace(true) {
        log::event("address.unreadable", json!({"from": settings.client_address}));
    }
    Ok(number.map(|number| Address { text, number }))
}

/// The address of `1.2.3.4:5` or `[::1]:5`.
fn without_port(address: &str) -> &str {
    let address = address.rsplit_once(':').map_or(address, |(address, _)| address);
    address.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::without_port;

    #[test]
    fn the_port_and_brackets_are_removed() {
        assert_eq!(without_port("192.0.2.7:50123"), "192.0.2.7");
        assert_eq!(without_port("[2001:db8::7]:443"), "2001:db8::7");
    }
}
