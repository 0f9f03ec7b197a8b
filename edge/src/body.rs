//! Reads whole bodies, up to a limit.

use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::futures::JsFuture;
use worker::{js_sys, web_sys};

/// Reads all bytes of a body, whatever its stated length; `None` if there are more than `max`.
pub(crate) async fn read_at_most(stream: &web_sys::ReadableStream, max: usize) -> Result<Option<Vec<u8>>, JsValue> {
    let reader: web_sys::ReadableStreamDefaultReader = stream.get_reader().unchecked_into();
    let mut body = Vec::new();
    loop {
        let step = JsFuture::from(reader.read()).await?;
        if js_sys::Reflect::get(&step, &"done".into())?.is_truthy() {
            return Ok(Some(body));
        }
        let chunk = js_sys::Uint8Array::new(&js_sys::Reflect::get(&step, &"value".into())?);
        if body.len() + chunk.length() as usize > max {
            // Neither the rest nor the result of the cancellation matters.
            drop(reader.cancel());
            return Ok(None);
        }
        body.extend_from_slice(&chunk.to_vec());
    }
}
