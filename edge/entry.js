// The Worker's main module: a thin layer of JavaScript between the runtime and the Wasm module (docs/adr/0001-thin-javascript-entry.md).
//
// It does three things that Wasm cannot do itself, or not well. It answers an update check for a cached deployment with a single call into Wasm, without a
// promise and without touching headers from Rust. And when the Wasm instance dies, for example by a panic, the request that caused it gets a 500,
// while the other requests in flight are retried on the next instance. And it verifies bundles from R2 while they are downloaded, with the
// runtime's own streams and hash.

import Generated from "./index.js";

// The functions that edge/src exports. We do not use worker-build's class for them: it costs three objects per request, and requests in flight
// hang when the instance dies. After a death, the next call of any of these functions creates a new instance.
const wasm = Generated.prototype;

/** The maximum number of attempts per request: after three deaths in a row, the request itself is at fault. */
const MAX_ATTEMPTS = 3;
/** Larger bodies are not kept for a retry; reports are far smaller. */
const MAX_COPY_BYTES = 16384;

/** The bytes of a bundle that are read and verified at once. */
const CHUNK_BYTES = 65536;

/** The result of `prepare`, with the values of the variables at that time; undefined while the instance is new. */
let prepared;
/** The tasks of the current instance, each with a function to call when the instance dies. */
const underway = new Set();
/** The task that is running in Wasm right now. */
let running;

/** The instance died before the response was ready. */
class Lost extends Error {
  constructor(isOwnFault) {
    super("the Wasm instance has died");
    this.isOwnFault = isOwnFault;
  }
}

export default {
  fetch(request, env, context) {
    if (request.method === "GET" && isPrepared(env)) {
      let answer;
      try {
        answer = wasm.check(request.url, Date.now());
      } catch {
        checkForDeath();
        return wasm.apologize(request, env, true);
      }
      if (answer !== undefined) {
        // One object for all requests: `Response` copies the headers.
        const headers = prepared.headers[answer.charCodeAt(36) - 48];
        headers["X-Request-Id"] = answer.slice(0, 36);
        return new Response(answer.slice(37), { headers });
      }
    }
    return serve(request, env, context);
  },

  queue(batch, env) {
    // A lost batch is not acknowledged, so the runtime delivers it again.
    return run((step) => wasm.deliver(batch, env, step));
  },
};

/** Whether `check` uses these variables. Compared on each request, because a rotated secret may not come with a new isolate. */
function isPrepared(env) {
  if (prepared === undefined) return false;
  const { names, values } = prepared;
  for (let i = 0; i < names.length; i++) {
    if (env[names[i]] !== values[i]) return false;
  }
  return true;
}

async function serve(request, env, context) {
  for (let attempt = 1; ; attempt++) {
    const copy = isWorthCopying(request) ? request.clone() : undefined;
    try {
      const work = run((step) => {
        if (!isPrepared(env)) prepare(env);
        return wasm.serve(request, env, context, step);
      });
      // If the client disconnects, the runtime cancels the request's context. Then pending promises would never settle, and their memory here and in
      // Wasm would leak. `waitUntil` keeps the context alive; every step has its own timeout.
      context.waitUntil(work.catch(() => {}));
      const result = await work;
      // A bundle to verify: the response, the object's size, and the hash that names it.
      if (Array.isArray(result)) return verified(...result, context);
      return result instanceof Request ? await forward(result, request, env) : result;
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      // A retry is safe: nothing has been sent to control yet, and counting handles duplicate reports, as when a client gets no response.
      const isRepeatable = request.body === null || copy !== undefined;
      if (error.isOwnFault || attempt === MAX_ATTEMPTS || !isRepeatable) return wasm.apologize(request, env, error.isOwnFault);
      request = copy ?? request;
    }
  }
}

/** Sends `outgoing`, which was built from `request`, to control. Does not depend on the Wasm instance staying alive. */
async function forward(outgoing, request, env) {
  const answer = await fetch(outgoing).catch((thrown) => thrown);
  return wasm.pass_back(request, env, answer);
}

/** The response with its body verified on the way. `Content-Length` stays, so that a client notices when the body ends early. */
function verified(response, size, sha256, context) {
  const { readable, writable } = new FixedLengthStream(size);
  context.waitUntil(copy(response.body, writable, sha256));
  return new Response(readable, response);
}

/** Copies the bytes of a bundle, the last of them only if all have this hash. Otherwise, and if either side fails, both streams are aborted. */
async function copy(body, writable, sha256) {
  const digest = new crypto.DigestStream("SHA-256");
  // Nobody waits for it if the copying fails.
  digest.digest.catch(() => {});
  const hasher = digest.getWriter();
  const writer = writable.getWriter();
  const reader = body.getReader({ mode: "byob" });
  try {
    let held;
    for (;;) {
      const { done, value } = await reader.readAtLeast(CHUNK_BYTES, new Uint8Array(CHUNK_BYTES));
      if (value !== undefined && value.byteLength > 0) {
        await hasher.write(value);
        if (held !== undefined) await writer.write(held);
        held = value;
      }
      if (done) break;
    }
    await hasher.close();
    const bytes = [...new Uint8Array(await digest.digest)];
    if (bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("") !== sha256) {
      wasm.note_altered_bundle(sha256);
      throw new Error("the bundle in R2 is not what was stored");
    }
    await writer.write(held);
    await writer.close();
  } catch (error) {
    // A client that has left is no failure either.
    await Promise.allSettled([writer.abort(error), reader.cancel(error), hasher.abort(error)]);
  }
}

function prepare(env) {
  const result = wasm.prepare(env);
  if (result === undefined) return;
  const [names, ...headers] = result;
  prepared = { names, headers, values: names.map((name) => env[name]) };
}

/** Whether to clone the request for a retry: a stream must be cloned before it is first read. */
function isWorthCopying(request) {
  return request.body !== null && Number(request.headers.get("content-length") ?? Infinity) <= MAX_COPY_BYTES;
}

/** Runs `work`, which calls the given function with true before and with false after each of its steps in Wasm. */
function run(work) {
  const task = {};
  const answer = new Promise((resolve, reject) => {
    task.lose = reject;
    underway.add(task);
    const step = (isRunning) => {
      running = isRunning ? task : undefined;
    };
    try {
      step(true);
      work(step).then(resolve, reject);
      step(false);
    } catch (error) {
      // Check first, so that if the instance died, this task is recorded as the cause.
      checkForDeath();
      reject(error);
    }
  });
  return answer.finally(() => underway.delete(task));
}

/** Called after any error: if the instance died, starts the next one and rejects all tasks of the old one. */
function checkForDeath() {
  const guilty = running;
  running = undefined;
  if (!wasm.is_new()) return;
  prepared = undefined;
  const lost = [...underway];
  underway.clear();
  for (const task of lost) task.lose(new Lost(task === guilty));
}

// The first instance counts as new only here. A death between two requests, in a step of its own, is reported only by these events.
wasm.is_new();
addEventListener("error", checkForDeath);
addEventListener("unhandledrejection", checkForDeath);
