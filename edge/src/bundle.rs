//! Bundle downloads: verifies the signature, then serves from R2, else from control.

use std::time::Duration;

use serde_json::json;
use shared::hash::Sha256Hex;
use shared::signature::{Download, download_parameters, verify_download};
use shared::wire::range::{RequestedRange, names_tag, requested_range};
use wasm_bindgen::prelude::*;
use worker::{Bucket, Range, ResponseBody, js_sys, web_sys};

use crate::Call;
use crate::control;
use crate::env;
use crate::log;
use crate::proxy;
use crate::reply::{self, Failure, Refusal, Reply};
use crate::store;
use crate::tally::{self, Event};

/// Far longer than R2's slowest usual response. After it, the request goes to control.
const BUCKET_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves a bundle for a valid URL: returns the response, or the request to send to control for it.
pub(crate) async fn serve(call: &Call<'_>, reply: &Reply<'_>, blob: &str, query: &str) -> Result<JsValue, Failure> {
    let (expires, signature) = download_parameters(query).map_err(|errors| Refusal::new(400, errors.to_string()))?;
    let download = verify_download(&call.settings.download_secrets, blob, expires, signature, call.now)
        .map_err(|refusal| Refusal::new(403, refusal.to_string()))?;
    // Of earlier downloads: an isolate may serve nothing else.
    store::tell(call);
    if let Ok(bucket) = call.env.bucket(env::BUNDLES) {
        // The timeout covers only the start of the response; the stream may take as long as the client needs.
        match control::within(BUCKET_TIMEOUT, from_bucket(call, reply, &bucket, &download)).await {
            Some(Ok(Some(served))) => return Ok(served),
            Some(Ok(None)) => {}
            Some(Err(Failure::Refused(refusal))) => return Err(refusal.into()),
            Some(Err(Failure::Broken(error))) => log::event("bundle.bucket_failed", json!({"error": error.to_string()})),
            None => log::event("bundle.bucket_failed", json!({"error": control::no_answer(BUCKET_TIMEOUT)})),
        }
    }
    Ok(proxy::outgoing(call)?.into())
}

/// The response from R2, or what `entry.js` needs to verify it on the way; `None` if the object does not exist.
async fn from_bucket(call: &Call<'_>, reply: &Reply<'_>, bucket: &Bucket, download: &Download) -> Result<Option<JsValue>, Failure> {
    let Download { blob, expires_in } = download;
    let key = blob.to_string();
    // Blobs are named by their content hash, so the name is a strong ETag, and the same as control's.
    let tag = format!("\"{}\"", blob.sha256.as_str());
    let incoming = call.request.headers();
    let headers = reply.bundle_headers(*expires_in)?;
    headers.set("etag", &tag)?;
    let is_known = incoming.get("if-none-match")?.is_some_and(|named| names_tag(&named, &tag));
    let range = match incoming.get("if-range")? {
        Some(validator) if validator.trim() != tag => None,
        _ => incoming.get("range")?,
    };
    let is_head = reply.is_head;
    if !is_head && !is_known && range.is_none() {
        let Some(object) = bucket.get(&key).execute().await? else { return Ok(None) };
        return whole(call, &headers, &object, &blob.sha256).map(Some);
    }
    // A range can only be evaluated with the size.
    let Some(object) = bucket.head(&key).await? else { return Ok(None) };
    let size = object.size();
    if is_known {
        return Ok(Some(reply::stream(304, &headers, None)?.into()));
    }
    let wanted = if is_head { RequestedRange::Whole } else { requested_range(range.as_deref(), size) };
    match wanted {
        RequestedRange::Whole if is_head => {
            headers.set("content-length", &size.to_string())?;
            Ok(Some(reply::stream(200, &headers, None)?.into()))
        }
        RequestedRange::Whole => {
            let Some(object) = bucket.get(&key).execute().await? else { return Ok(None) };
            whole(call, &headers, &object, &blob.sha256).map(Some)
        }
        RequestedRange::Unsatisfiable => Err(Refusal::unsatisfiable(size).into()),
        RequestedRange::Part(part) => {
            let (first, last, length) = (part.start, part.end.saturating_sub(1), part.end.saturating_sub(part.start));
            let part = bucket.get(&key).range(Range::OffsetWithLength { offset: first, length }).execute().await?;
            let Some(part) = part else { return Ok(None) };
            headers.set("content-length", &length.to_string())?;
            headers.set("content-range", &format!("bytes {first}-{last}/{size}"))?;
            Ok(Some(reply::stream(206, &headers, body(&part)?.as_ref())?.into()))
        }
    }
}

/// The whole object. Who can write to the bucket is not trusted: unless the settings say otherwise, `entry.js` verifies the bytes on the way.
fn whole(call: &Call<'_>, headers: &web_sys::Headers, object: &worker::Object, sha256: &Sha256Hex) -> Result<JsValue, Failure> {
    let size = object.size();
    headers.set("content-length", &size.to_string())?;
    let response = reply::stream(200, headers, body(object)?.as_ref())?;
    if !call.settings.verifies_bundles {
        return Ok(response.into());
    }
    if size == 0 {
        note_altered_bundle(sha256.as_str());
        return Err(Failure::Broken(worker::Error::RustError("the bundle is empty".to_owned())));
    }
    #[expect(clippy::cast_precision_loss, reason = "R2 has no objects above 5 TiB")]
    let size = JsValue::from_f64(size as f64);
    Ok([response.into(), size, JsValue::from_str(sha256.as_str())].iter().collect::<js_sys::Array>().into())
}

/// Counts a bundle in R2 that is not what was stored. Its download was ended.
#[wasm_bindgen]
pub fn note_altered_bundle(sha256: &str) {
    tally::note(Event::AlteredBundle, "bundle.altered", json!({"sha256": sha256}));
}

/// The object's own stream: the runtime pipes it to the client without passing bytes through Wasm.
fn body(object: &worker::Object) -> Result<Option<web_sys::ReadableStream>, Failure> {
    let Some(body) = object.body() else { return Ok(None) };
    match body.response_body()? {
        ResponseBody::Stream(stream) => Ok(Some(stream)),
        ResponseBody::Empty | ResponseBody::Body(_) => Ok(None),
    }
}
