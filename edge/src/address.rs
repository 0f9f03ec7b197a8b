//! Who is asking: the address that the limit on reports goes by and that control is told.

use wasm_bindgen::JsValue;
use worker::{js_sys, web_sys};

use crate::env::Settings;

/// The value of `CLIENT_ADDRESS` for the connection's own address, where no proxy stands in front of the runtime.
const PEER: &str = "peer";

/// The client's address, from where the settings say it is true. None where that says nothing, which is then nobody's word.
///
/// Any other header is the client's to make up.
pub(crate) fn of(request: &web_sys::Request, settings: &Settings) -> Result<Option<String>, JsValue> {
    if settings.client_address != PEER {
        return request.headers().get(&settings.client_address);
    }
    let member = |of: &JsValue, name: &str| js_sys::Reflect::get(of, &name.into());
    let address = member(request, "cf").and_then(|cf| member(&cf, "clientIp"));
    Ok(address.ok().and_then(|address| address.as_string()).map(|address| without_port(&address).to_owned()))
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
