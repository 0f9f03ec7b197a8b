//! Updraft's Worker: it answers update checks from KV snapshots and accepts reports, without depending on control.
//!
//! It has only adapters: `shared::select` decides which update a device gets. Accounts, uploads and everything else belong to control; those
//! requests are forwarded. `edge/entry.js` calls the functions exported here: start reading there, then at [`serve`].

mod address;
mod body;
pub mod bundle;
mod check;
mod control;
pub mod delay;
pub mod entry;
mod env;
mod hmac;
pub mod hot;
mod log;
pub mod memory;
mod planted;
mod proxy;
mod queue;
mod reply;
mod report;
pub mod route;
mod store;
pub mod tally;

use std::rc::Rc;

use serde_json::json;
use shared::ids::RequestId;
use shared::time::UnixMillis;
use wasm_bindgen::prelude::*;
use worker::{Context, Env, js_sys, web_sys, worker_sys};

use crate::env::Settings;
use crate::reply::{Failure, HeaderSet, Refusal, Reply};
use crate::route::{MethodCheck, Route, Target, route};

/// A request with everything that its handlers need.
struct Call<'r> {
    request: &'r web_sys::Request,
    /// In upper case.
    method: &'r str,
    env: &'r Env,
    context: &'r Context,
    settings: &'r Rc<Settings>,
    request_id: &'r RequestId,
    now: UnixMillis,
}

/// Handles every HTTP request that [`hot`] has not answered. Returns the response, or the request to forward to control (see
/// [`entry::pass_back`]). Calls `step` before and after each step in Wasm (see [`entry`]).
#[wasm_bindgen(wasm_bindgen_futures = worker::wasm_bindgen_futures, js_sys = worker::js_sys)]
pub async fn serve(request: web_sys::Request, env: Env, context: worker_sys::Context, step: js_sys::Function) -> Result<JsValue, JsValue> {
    entry::in_steps(&step, answer(&request, &env, &Context::new(context))).await
}

async fn answer(request: &web_sys::Request, env: &Env, context: &Context) -> Result<JsValue, JsValue> {
    let now = env::now();
    let request_id = RequestId::v7(now, env::entropy()?);
    let url = request.url();
    planted::panic_at("begin", &url);
    let target = Target::of(&url);
    let method = request.method();
    let is_head = method == "HEAD";
    let route = route(target.path);
    let header_set = HeaderSet::of(&route);
    let settings = match env::settings(env) {
        Ok(settings) => settings,
        Err(faults) => {
            let reply = Reply { request_id: &request_id, is_https: false, is_head, header_set };
            let broken = worker::Error::RustError(format!("the Worker's variables are invalid: {faults}"));
            return Ok(reply.failure(Failure::Broken(broken))?.into());
        }
    };
    let reply = Reply { request_id: &request_id, is_https: settings.is_https(), is_head, header_set };
    let call = Call { request, method: &method, env, context, settings: &settings, request_id: &request_id, now };
    let handled = handle(&call, &reply, &route, target).await;
    planted::panic_at("end", &url);
    match handled {
        Ok(result) => Ok(result),
        Err(failure) => Ok(reply.failure(failure)?.into()),
    }
}

async fn handle(call: &Call<'_>, reply: &Reply<'_>, route: &Route<'_>, target: Target<'_>) -> Result<JsValue, Failure> {
    let methods = route.methods().unwrap_or_default();
    match route.check_method(call.method) {
        MethodCheck::Serve => {}
        MethodCheck::Preflight => return Ok(reply.preflight(methods)?.into()),
        MethodCheck::WrongMethod => return Err(Refusal::wrong_method(methods).into()),
    }
    match route {
        Route::Check(endpoint) => check::answer(call, reply, endpoint, target.query).await.map(JsValue::from),
        Route::Report(endpoint) => report::take(call, reply, endpoint).await.map(JsValue::from),
        Route::Bundle(blob) => bundle::serve(call, reply, blob, target.query).await,
        Route::Internal => Err(Refusal::new(404, "this path was not found").into()),
        Route::Control => Ok(proxy::outgoing(call)?.into()),
    }
}

/// Handles every batch of a queue. After an error, the runtime redelivers all messages that were not acknowledged. Not named `queue`, because
/// worker-build wraps exports of that name.
#[wasm_bindgen(wasm_bindgen_futures = worker::wasm_bindgen_futures, js_sys = worker::js_sys)]
pub async fn deliver(batch: JsValue, env: Env, step: js_sys::Function) -> Result<(), JsValue> {
    let settings = env::settings(&env).map_err(|faults| {
        log::event("queue.failed", json!({"error": faults}));
        JsValue::from_str(&faults)
    })?;
    entry::in_steps(&step, queue::consume(&batch.unchecked_into(), &env, &settings)).await
}
