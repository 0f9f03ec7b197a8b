//! What `edge/entry.js` needs to handle Wasm instances: whether one is new, which task was running when it died, and the response then.
//!
//! A panic or any other trap ends the instance: nothing in it can be called any more, and its memory is gone.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;

use shared::ids::RequestId;
use wasm_bindgen::prelude::*;
use worker::{Env, js_sys, web_sys};

use crate::env;
use crate::proxy;
use crate::reply::{Failure, HeaderSet, Refusal, Reply};
use crate::route::{Target, route};

thread_local! {
    static IS_NEW: Cell<bool> = const { Cell::new(true) };
}

/// Whether this is the first call of `is_new` on this instance.
#[wasm_bindgen]
pub fn is_new() -> bool {
    IS_NEW.replace(false)
}

/// The response to a request that was lost with an instance: 500 if the request caused the death, else 503.
#[wasm_bindgen]
pub fn apologize(request: &web_sys::Request, env: &Env, is_own_fault: bool) -> Result<web_sys::Response, JsValue> {
    refuse(request, env, |_| {
        if is_own_fault {
            Failure::Broken(worker::Error::RustError("a panic or another trap; the line before this one has its message".to_owned()))
        } else {
            Refusal::unavailable("the answer was lost on the way", 1).into()
        }
    })
}

/// The response to a request that was forwarded to control. `answer` is the response or what `fetch` threw: control's response is returned as it
/// is, anything else becomes a 503.
#[wasm_bindgen]
pub fn pass_back(request: &web_sys::Request, env: &Env, answer: JsValue) -> Result<JsValue, JsValue> {
    match proxy::fault(&answer) {
        None => Ok(answer),
        Some(fault) => Ok(refuse(request, env, |id| proxy::unreachable(id, fault))?.into()),
    }
}

fn refuse(request: &web_sys::Request, env: &Env, failure: impl FnOnce(&RequestId) -> Failure) -> Result<web_sys::Response, JsValue> {
    let url = request.url();
    let request_id = RequestId::v7(env::now(), env::entropy()?);
    let is_https = env::settings(env).is_ok_and(|settings| settings.is_https());
    let header_set = HeaderSet::of(&route(Target::of(&url).path));
    let reply = Reply { request_id: &request_id, is_https, is_head: request.method() == "HEAD", header_set };
    reply.failure(failure(&request_id))
}

/// Runs `work` and calls `step` with true before and with false after each of its steps, so that `entry.js` knows which task was running when the
/// instance died.
pub(crate) async fn in_steps<T>(step: &js_sys::Function, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let tell = |is_running: bool| step.call1(&JsValue::UNDEFINED, &is_running.into()).ok();
    poll_fn(|context| {
        tell(true);
        let polled = work.as_mut().poll(context);
        tell(false);
        polled
    })
    .await
}
