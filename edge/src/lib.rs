//! Updraft's Worker: it answers update checks from KV snapshots and takes in reports, with control neither asked nor needed.
//!
//! Adapters only: which update a client gets is decided by `shared::select`. Deliberately not here: accounts, uploads and everything else
//! that control does; those requests pass through. Start reading at the `fetch` event below.

mod body;
mod bundle;
mod check;
mod control;
pub mod delay;
mod env;
mod log;
pub mod memory;
mod proxy;
mod queue;
mod reply;
mod report;
pub mod route;
mod store;

use std::rc::Rc;

use serde_json::json;
use shared::ids::RequestId;
use shared::time::UnixMillis;
use wasm_bindgen::prelude::*;
use worker::{Context, Env, event, web_sys};

use crate::env::Settings;
use crate::reply::{Dress, Failure, Refusal, Reply};
use crate::route::{Admission, Route, Target, route};

/// One request with all that its handlers need.
struct Call<'r> {
    request: &'r web_sys::Request,
    /// In capitals.
    method: &'r str,
    env: &'r Env,
    context: &'r Context,
    settings: &'r Rc<Settings>,
    request_id: &'r RequestId,
    now: UnixMillis,
}

/// Every request of a client comes in here.
#[event(fetch)]
async fn fetch(request: web_sys::Request, env: Env, context: Context) -> Result<web_sys::Response, worker::Error> {
    let now = env::now();
    let request_id = RequestId::v7(now, env::dice()?);
    let url = request.url();
    let target = Target::of(&url);
    let method = request.method();
    let is_head = method == "HEAD";
    let route = route(target.path);
    let dress = match &route {
        Route::Check(endpoint) | Route::Report(endpoint) => Dress::Acquisition(*endpoint),
        Route::Bundle(_) => Dress::Bundle,
        Route::Internal | Route::Control => Dress::Plain,
    };
    let settings = match env::settings(&env) {
        Ok(settings) => settings,
        Err(faults) => {
            let reply = Reply { request_id: &request_id, is_https: false, is_head, dress };
            let broken = worker::Error::RustError(format!("the Worker's variables are wrong: {faults}"));
            return Ok(reply.failure(Failure::Broken(broken))?);
        }
    };
    let reply = Reply { request_id: &request_id, is_https: settings.is_https(), is_head, dress };
    let call = Call { request: &request, method: &method, env: &env, context: &context, settings: &settings, request_id: &request_id, now };
    match handle(&call, &reply, &route, target).await {
        Ok(response) => Ok(response),
        Err(failure) => Ok(reply.failure(failure)?),
    }
}

async fn handle(call: &Call<'_>, reply: &Reply<'_>, route: &Route<'_>, target: Target<'_>) -> Result<web_sys::Response, Failure> {
    let methods = route.methods().unwrap_or_default();
    match route.admit(call.method) {
        Admission::Serve => {}
        Admission::Preflight => return reply.preflight(methods),
        Admission::WrongMethod => return Err(Refusal::wrong_method(methods).into()),
    }
    match route {
        Route::Check(endpoint) => check::answer(call, reply, endpoint, target.query).await,
        Route::Report(endpoint) => report::take(call, reply, endpoint).await,
        Route::Bundle(blob) => bundle::serve(call, reply, blob, target.query).await,
        Route::Internal => Err(Refusal::new(404, "this path was not found").into()),
        Route::Control => proxy::forward(call).await,
    }
}

/// Every batch of a queue comes in here. An error makes the runtime deliver what was not acknowledged again.
#[wasm_bindgen(wasm_bindgen_futures = worker::wasm_bindgen_futures, js_sys = worker::js_sys)]
pub async fn queue(batch: JsValue, env: Env, _context: JsValue) -> Result<(), JsValue> {
    let settings = env::settings(&env).map_err(|faults| {
        log::event("queue.failed", json!({"error": faults}));
        JsValue::from_str(&faults)
    })?;
    queue::consume(&batch.unchecked_into(), &env, &settings).await
}
