//! Who is asking: the address that the limit on reports goes by and that control is told.

use std::cell::Cell;
use std::net::IpAddr;

use serde_json::json;
use wasm_bindgen::JsValue;
use worker::{js_sys, web_sys};

use crate::env::Settings;
use crate::log;

/// The value of `CLIENT_ADDRESS` for the connection's own address, where no proxy stands in front of the runtime.
const PEER: &str = "peer";

thread_local! {
    static IS_TOLD: Cell<bool> = const { Cell::new(false) };
}

/// A client's address.
pub(crate) struct Address {
    /// As it was written: what control is told.
    pub(crate) text: String,
    /// What the limits go by.
    pub(crate) number: IpAddr,
}

/// The client's address, from where the settings say it is true. None where that says nothing, or no address, which is logged once.
///
/// Any other header is the client's to make up.
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
    if number.is_none() && !IS_TOLD.replace(true) {
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
    fn the_port_and_the_brackets_are_no_part_of_the_address() {
        assert_eq!(without_port("192.0.2.7:50123"), "192.0.2.7");
        assert_eq!(without_port("[2001:db8::7]:443"), "2001:db8::7");
    }
}
