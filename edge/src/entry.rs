//! What `edge/entry.js` needs to know about instances of this module: whether one is new, what died with one, and what to say then.
//!
//! A panic ends the instance, and every other trap does too. Nothing in it can be called any more, and its memory is gone.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;

use shared::ids::RequestId;
use wasm_bindgen::prelude::*;
use worker::{Env, js_sys, web_sys};

use crate::env;
use crate::proxy;
use crate::reply::{Dress, Failure, Refusal, Reply};
use crate::route::{Target, route};

thread_local! {
    static IS_NEW: Cell<bool> = const { Cell::new(true) };
}

/// Whether nobody has asked this instance before.
#[wasm_bindgen]
pub fn is_new() -> bool {
    IS_NEW.replace(false)
}

/// The answer to a request that was lost with an instance: 500 where it was that request's own fault, else 503.
#[wasm_bindgen]
pub fn apologize(request: &web_sys::Request, env: &Env, is_own_fault: bool) -> Result<web_sys::Response, JsValue> {
    refuse(request, env, |_| {
        if is_own_fault {
            Failure::Broken(worker::Error::RustError("a panic, or another trap; its own words stand before this line".to_owned()))
        } else {
            Refusal::unavailable("the answer was lost on the way", 1).into()
        }
    })
}

/// What a request that went to control is answered with: `answer`, the response or what `fetch` threw, as it is, or 503 when it is not control's.
#[wasm_bindgen]
pub fn pass_back(request: &web_sys::Request, env: &Env, answer: JsValue) -> Result<JsValue, JsValue> {
    match proxy::fault(&answer) {
        None => Ok(answer),
        Some(fault) => Ok(refuse(request, env, |id| proxy::unreachable(id, fault))?.into()),
    }
}

fn refuse(request: &web_sys::Request, env: &Env, failure: impl FnOnce(&RequestId) -> Failure) -> Result<web_sys::Response, JsValue> {
    let url = request.url();
    let request_id = RequestId::v7(env::now(), env::dice()?);
    let is_https = env::settings(env).is_ok_and(|settings| settings.is_https());
    let dress = Dress::of(&route(Target::of(&url).path));
    let reply = Reply { request_id: &request_id, is_https, is_head: request.method() == "HEAD", dress };
    reply.failure(failure(&request_id))
}

/// `work`, with `step` called with true before each of its steps, and with false after it: who was at work when the instance died is then known.
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
