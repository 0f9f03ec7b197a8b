//! HMAC-SHA-256 by the runtime, which is several times faster for large values than Wasm is.

use shared::snapshot::Signed;
use wasm_bindgen::prelude::*;
use worker::js_sys::{Array, Object, Promise, Reflect, Uint8Array};
use worker::wasm_bindgen_futures::JsFuture;

/// From how many bytes on the calls of the runtime pay.
pub(crate) const LARGE: usize = 64 << 10;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = ["crypto", "subtle"], js_name = importKey, catch)]
    fn import_key(format: &str, key: &Uint8Array, algorithm: &Object, is_extractable: bool, usages: &Array) -> Result<Promise, JsValue>;
    #[wasm_bindgen(js_namespace = ["crypto", "subtle"], catch)]
    fn verify(algorithm: &str, key: &JsValue, signature: &Uint8Array, message: &Uint8Array) -> Result<Promise, JsValue>;
}

/// Whether one of the keys made the signature of a value. Errors: the runtime's.
pub(crate) async fn is_signed_by(keys: &[[u8; 32]], value: &Signed<'_>) -> Result<bool, JsValue> {
    let head = u32::try_from(value.head.len()).unwrap_or(u32::MAX);
    let length = u32::try_from(value.json.len()).unwrap_or(u32::MAX).saturating_add(head);
    let message = Uint8Array::new_with_length(length);
    message.subarray(0, head).copy_from(&value.head);
    message.subarray(head, length).copy_from(value.json);
    let signature = Uint8Array::from(&*value.signature);
    let algorithm = Object::new();
    Reflect::set(&algorithm, &"name".into(), &"HMAC".into())?;
    Reflect::set(&algorithm, &"hash".into(), &"SHA-256".into())?;
    for key in keys {
        let key = import_key("raw", &Uint8Array::from(&key[..]), &algorithm, false, &Array::of1(&"verify".into()))?;
        let key = JsFuture::from(key).await?;
        if JsFuture::from(verify("HMAC", &key, &signature, &message)?).await?.is_truthy() {
            return Ok(true);
        }
    }
    Ok(false)
}
