//! Bodies read whole, but never more of them than is allowed.

use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::futures::JsFuture;
use worker::{js_sys, web_sys};

/// All bytes of a body of whatever stated length; nothing as soon as there are more than `most`.
pub(crate) async fn read_at_most(stream: &web_sys::ReadableStream, most: usize) -> Result<Option<Vec<u8>>, JsValue> {
    let reader: web_sys::ReadableStreamDefaultReader = stream.get_reader().unchecked_into();
    let mut body = Vec::new();
    loop {
        let step = JsFuture::from(reader.read()).await?;
        if js_sys::Reflect::get(&step, &"done".into())?.is_truthy() {
            return Ok(Some(body));
        }
        let chunk = js_sys::Uint8Array::new(&js_sys::Reflect::get(&step, &"value".into())?);
        if body.len() + chunk.length() as usize > most {
            // The rest is of no interest, and neither is whether the sender minds.
            drop(reader.cancel());
            return Ok(None);
        }
        body.extend_from_slice(&chunk.to_vec());
    }
}
