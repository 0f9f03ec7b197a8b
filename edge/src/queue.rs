//! The queue consumers: one delivers reports to control in batches, the other stores dead letters in R2.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use shared::time::UnixMillis;
use shared::wire::report::{BatchAnswer, MAX_BATCH_BYTES, MAX_BATCH_REPORTS, ReportBatch};
use wasm_bindgen::prelude::*;
use worker::{Env, js_sys};

use crate::control;
use crate::delay;
use crate::env::{self, Settings};
use crate::log;

/// The path that batches are posted to.
const REPORTS_PATH: &str = "/internal/v1/reports";
/// Longer than control's slowest transaction. The consumer itself may take 15 minutes.
const CONTROL_TIMEOUT: Duration = Duration::from_mins(1);
/// Far longer than R2's slowest usual response. A whole batch, one by one, stays within the consumer's 15 minutes.
const PARK_TIMEOUT: Duration = Duration::from_secs(5);

#[wasm_bindgen]
extern "C" {
    /// A batch from the runtime. The `worker` crate's type lacks `attempts`.
    #[wasm_bindgen(extends = js_sys::Object)]
    pub(crate) type Batch;
    #[wasm_bindgen(method, getter)]
    fn queue(this: &Batch) -> String;
    #[wasm_bindgen(method, getter)]
    fn messages(this: &Batch) -> Vec<Message>;

    #[wasm_bindgen(extends = js_sys::Object)]
    pub(crate) type Message;
    #[wasm_bindgen(method, getter)]
    fn id(this: &Message) -> String;
    #[wasm_bindgen(method, getter)]
    fn timestamp(this: &Message) -> js_sys::Date;
    /// The number of deliveries, including this one.
    #[wasm_bindgen(method, getter)]
    fn attempts(this: &Message) -> u32;
    #[wasm_bindgen(method, getter)]
    fn body(this: &Message) -> JsValue;
    #[wasm_bindgen(method, catch)]
    fn ack(this: &Message) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch)]
    fn retry(this: &Message, options: &JsValue) -> Result<(), JsValue>;
}

/// Consumes a batch. Each message is acknowledged or retried; after an error, the runtime redelivers the rest.
pub(crate) async fn consume(batch: &Batch, env: &Env, settings: &Settings) -> Result<(), JsValue> {
    let messages = batch.messages();
    if batch.queue() == settings.dead_letter_queue {
        for message in &messages {
            store_dead_letter(message, env, settings, "exhausted").await?;
        }
        return Ok(());
    }
    let mut reports = Vec::with_capacity(messages.len());
    for message in &messages {
        match message.body().as_string().and_then(|text| Some((serde_json::from_slice::<Value>(text.as_bytes()).ok()?, text.len()))) {
            Some((report, length)) => reports.push((message, report, length)),
            // Control would never accept it, nor any batch that contains it.
            None => store_dead_letter(message, env, settings, "unreadable").await?,
        }
    }
    deliver(reports, settings).await
}

/// Posts the reports, in several calls if one would be too large. After a failed call, the rest is not sent.
async fn deliver(reports: Vec<(&Message, Value, usize)>, settings: &Settings) -> Result<(), JsValue> {
    let mut rest = reports.into_iter().peekable();
    while rest.peek().is_some() {
        let (mut messages, mut batch, mut bytes) = (Vec::new(), ReportBatch { reports: Vec::new() }, 0);
        while let Some((message, report, length)) =
            rest.next_if(|(_, _, length)| batch.reports.len() < MAX_BATCH_REPORTS && bytes + length < MAX_BATCH_BYTES - 1_024)
        {
            messages.push(message);
            batch.reports.push(report);
            // The comma between two reports.
            bytes += length + 1;
        }
        match post(&batch, settings).await {
            // Control has logged the reports that it dropped.
            Ok(()) => messages.iter().try_for_each(|message| message.ack())?,
            Err(failed) => {
                messages.extend(rest.map(|(message, _, _)| message));
                return retry(&messages, &failed, settings);
            }
        }
    }
    Ok(())
}

/// Why control did not accept a batch.
struct Failed {
    status: Option<u16>,
    error: Option<String>,
    retry_after: Option<u32>,
}

/// Posts a batch; succeeds once control has processed every report in it.
async fn post(batch: &ReportBatch, settings: &Settings) -> Result<(), Failed> {
    let unsent = |error: String| Failed { status: None, error: Some(error), retry_after: None };
    let body = serde_json::to_string(batch).map_err(|error| unsent(error.to_string()))?;
    let answer = control::call(settings, "POST", REPORTS_PATH, Some(&body), CONTROL_TIMEOUT).await.map_err(unsent)?;
    let refused = |error| Failed { status: Some(answer.status), error, retry_after: answer.retry_after };
    if !(200..300).contains(&answer.status) {
        return Err(refused(None));
    }
    // A 200 that is not from control (a proxy's page, for example) or a partly processed batch must not lose reports.
    let judged: BatchAnswer = serde_json::from_slice(&answer.body).map_err(|error| refused(Some(error.to_string())))?;
    let (sent, judged) = (batch.reports.len(), judged.dropped.len().saturating_add(judged.accepted as usize));
    if judged == sent { Ok(()) } else { Err(refused(Some(format!("{sent} reports were sent and {judged} were processed")))) }
}

/// Returns the messages to the queue, each with the back-off for its number of attempts.
fn retry(messages: &[&Message], failed: &Failed, settings: &Settings) -> Result<(), JsValue> {
    let mut by_attempt = BTreeMap::<u32, usize>::new();
    for message in messages {
        let attempts = message.attempts();
        *by_attempt.entry(attempts).or_default() += 1;
        message.retry(&delayed(delay::seconds(settings.retry_base_seconds, attempts, failed.retry_after))?)?;
    }
    let attempts = by_attempt.last_key_value().map_or(1, |(attempts, _)| *attempts);
    let line = json!({
        "messages": messages.len(),
        "attempts": attempts,
        "by_attempt": by_attempt,
        "status": failed.status,
        "error": failed.error,
        // The longest of them.
        "delay_seconds": delay::seconds(settings.retry_base_seconds, attempts, failed.retry_after),
    });
    log::event("reports.retry", line);
    Ok(())
}

fn delayed(seconds: u32) -> Result<JsValue, JsValue> {
    let options = js_sys::Object::new();
    js_sys::Reflect::set(&options, &"delaySeconds".into(), &seconds.into())?;
    Ok(options.into())
}

/// Stores a dead letter in R2 for `updraft-control reports replay`. If that fails too, the message stays in its queue.
async fn store_dead_letter(message: &Message, env: &Env, settings: &Settings, why: &str) -> Result<(), JsValue> {
    let id = message.id();
    // The day it was sent, so that a retry writes the same object.
    let sent = worker::Date::from(message.timestamp()).as_millis();
    let day = UnixMillis(i64::try_from(sent).unwrap_or(i64::MAX)).utc_date();
    let body = message.body();
    let text = body.as_string().or_else(|| js_sys::JSON::stringify(&body).ok().and_then(|text| text.as_string())).unwrap_or_default();
    let put = async { env.bucket(env::DEAD_LETTERS)?.put(format!("dead-letters/{day}/{id}.json"), text).execute().await };
    let unparked = match control::within(PARK_TIMEOUT, put).await {
        Some(Ok(_)) => None,
        Some(Err(error)) => Some(error.to_string()),
        None => Some(control::no_answer(PARK_TIMEOUT)),
    };
    match unparked {
        None => {
            log::event("reports.parked", json!({"message": id, "why": why, "attempts": message.attempts()}));
            message.ack()
        }
        Some(error) => {
            let seconds = delay::seconds(settings.retry_base_seconds, message.attempts(), None);
            let line = json!({"message": id, "attempts": message.attempts(), "error": error, "delay_seconds": seconds});
            log::event("reports.park_failed", line);
            message.retry(&delayed(seconds)?)
        }
    }
}
