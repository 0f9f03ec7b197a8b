//! Updraft's Worker: it answers update checks from KV snapshots and takes in reports, with control neither asked nor needed.
//!
//! Adapters only: which update a client gets is decided by `shared::select`. Deliberately not here: accounts, uploads and everything else
//! that control does; those requests pass through. `edge/entry.js` calls what is exported here: start reading there, then at [`serve`].

mod address;
mod body;
mod bundle;
mod check;
mod control;
pub mod delay;
pub mod entry;
mod env;
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

use std::rc::Rc;

use serde_json::json;
use shared::ids::RequestId;
use shared::time::UnixMillis;
use wasm_bindgen::prelude::*;
use worker::{Context, Env, js_sys, web_sys, worker_sys};

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

/// Every request of a client comes in here, unless [`hot`] has answered it. Gives the response, or a request to control whose answer is the
/// response (see [`entry::pass_back`]). `step` is told when this request is being worked on (see [`entry`]).
#[wasm_bindgen(wasm_bindgen_futures = worker::wasm_bindgen_futures, js_sys = worker::js_sys)]
pub async fn serve(request: web_sys::Request, env: Env, context: worker_sys::Context, step: js_sys::Function) -> Result<JsValue, JsValue> {
    entry::in_steps(&step, answer(&request, &env, &Context::new(context))).await
}

async fn answer(request: &web_sys::Request, env: &Env, context: &Context) -> Result<JsValue, JsValue> {
    let now = env::now();
    let request_id = RequestId::v7(now, env::dice()?);
    let url = request.url();
    planted::panic_at("begin", &url);
    let target = Target::of(&url);
    let method = request.method();
    let is_head = method == "HEAD";
    let route = route(target.path);
    let dress = Dress::of(&route);
    let settings = match env::settings(env) {
        Ok(settings) => settings,
        Err(faults) => {
            let reply = Reply { request_id: &request_id, is_https: false, is_head, dress };
            let broken = worker::Error::RustError(format!("the Worker's variables are wrong: {faults}"));
            return Ok(reply.failure(Failure::Broken(broken))?.into());
        }
    };
    let reply = Reply { request_id: &request_id, is_https: settings.is_https(), is_head, dress };
    let call = Call { request, method: &method, env, context, settings: &settings, request_id: &request_id, now };
    let handled = handle(&call, &reply, &route, target).await;
    planted::panic_at("end", &url);
    match handled {
        Ok(made) => Ok(made),
        Err(failure) => Ok(reply.failure(failure)?.into()),
    }
}

async fn handle(call: &Call<'_>, reply: &Reply<'_>, route: &Route<'_>, target: Target<'_>) -> Result<JsValue, Failure> {
    let methods = route.methods().unwrap_or_default();
    match route.admit(call.method) {
        Admission::Serve => {}
        Admission::Preflight => return Ok(reply.preflight(methods)?.into()),
        Admission::WrongMethod => return Err(Refusal::wrong_method(methods).into()),
    }
    match route {
        Route::Check(endpoint) => check::answer(call, reply, endpoint, target.query).await.map(JsValue::from),
        Route::Report(endpoint) => report::take(call, reply, endpoint).await.map(JsValue::from),
        Route::Bundle(blob) => bundle::serve(call, reply, blob, target.query).await,
        Route::Internal => Err(Refusal::new(404, "this path was not found").into()),
        Route::Control => Ok(proxy::outgoing(call)?.into()),
    }
}

/// Every batch of a queue comes in here (not by the name `queue`: worker-build wraps exports of that name). An error makes the runtime deliver what was not acknowledged again.
#[wasm_bindgen(wasm_bindgen_futures = worker::wasm_bindgen_futures, js_sys = worker::js_sys)]
pub async fn deliver(batch: JsValue, env: Env, step: js_sys::Function) -> Result<(), JsValue> {
    let settings = env::settings(&env).map_err(|faults| {
        log::event("queue.failed", json!({"error": faults}));
        JsValue::from_str(&faults)
    })?;
    entry::in_steps(&step, queue::consume(&batch.unchecked_into(), &env, &settings)).await
}
