// The Worker's main module: the few lines of JavaScript between the runtime and the Wasm module (docs/adr/0001-thin-javascript-entry.md).
//
// They do two things that cannot be done from inside. An update check of a deployment that this isolate remembers is answered with a single
// call into Wasm, without a promise and without touching a header from Rust. And when the Wasm instance dies, by a panic say, the request that
// killed it gets a 500 while those that were under way beside it begin again on the next instance.

import Generated from "./index.js";

// The functions that edge/src exports. The class that worker-build makes of them is of no use here: it costs each request three objects, and
// lets everything that was under way in a dead instance hang. After a death the next call of any of them makes a new instance by itself.
const wasm = Generated.prototype;

/** A request is begun so many times at most: three deaths in a row are nobody else's fault. */
const MOST_ATTEMPTS = 3;
/** Bodies above so many bytes are not kept for a second beginning; reports are far below. */
const MOST_SPARE_BYTES = 16384;

/** What `prepare` gave, with the values that the variables had then; nothing while the instance is new. */
let prepared;
/** What the present instance is working on: each with the function that tells it that the instance has died. */
const underway = new Set();
/** Which of them is being worked on at this moment. */
let running;

/** The instance died before the answer was there. */
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
        lookForDeath();
        return wasm.apologize(request, env, true);
      }
      if (answer !== undefined) {
        // Made once, and used by one request after the other: `Response` copies them.
        const headers = prepared.headers[answer.charCodeAt(36) - 48];
        headers["X-Request-Id"] = answer.slice(0, 36);
        return new Response(answer.slice(37), { headers });
      }
    }
    return serve(request, env, context);
  },

  queue(batch, env) {
    // A batch that gets lost is not acknowledged, so the runtime delivers it again.
    return run((step) => wasm.deliver(batch, env, step));
  },
};

/** Whether `check` answers by these variables. They are compared each time: nothing promises that a new secret comes with a new isolate. */
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
    const spare = isWorthSparing(request) ? request.clone() : undefined;
    try {
      const work = run((step) => {
        if (!isPrepared(env)) prepare(env);
        return wasm.serve(request, env, context, step);
      });
      // A client that leaves would cancel this request's context: then nothing that it waits for would ever settle, and all of it would be
      // kept here and in Wasm for good. Every step of the work has a time limit of its own.
      context.waitUntil(work.catch(() => {}));
      const made = await work;
      return made instanceof Request ? await forward(made, request, env) : made;
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      // Nothing has been sent to control yet, and a report may be kept twice: counting takes that, as when a client gets no answer.
      const isRepeatable = request.body === null || spare !== undefined;
      if (error.isOwnFault || attempt === MOST_ATTEMPTS || !isRepeatable) return wasm.apologize(request, env, error.isOwnFault);
      request = spare ?? request;
    }
  }
}

/** Control's answer to `outgoing`, which stands for `request`. No instance need survive for it. */
async function forward(outgoing, request, env) {
  const answer = await fetch(outgoing).catch((thrown) => thrown);
  return wasm.pass_back(request, env, answer);
}

function prepare(env) {
  const made = wasm.prepare(env);
  if (made === undefined) return;
  const [names, ...headers] = made;
  prepared = { names, headers, values: names.map((name) => env[name]) };
}

/** Whether the body could be sent again: a second reading of a stream has to be asked for before the first. */
function isWorthSparing(request) {
  return request.body !== null && Number(request.headers.get("content-length") ?? Infinity) <= MOST_SPARE_BYTES;
}

/** What `work` promises; it is given the function to call with true before, and with false after each of its steps in Wasm. */
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
      // First of all as the one whose fault it was, where it was a death.
      lookForDeath();
      reject(error);
    }
  });
  return answer.finally(() => underway.delete(task));
}

/** Called after whatever went wrong: when it was the instance's death, begins the next instance and tells everybody of it. */
function lookForDeath() {
  const guilty = running;
  running = undefined;
  if (!wasm.is_new()) return;
  prepared = undefined;
  const lost = [...underway];
  underway.clear();
  for (const task of lost) task.lose(new Lost(task === guilty));
}

// The first instance counts as new only here. What dies between two requests' turns, in a step of its own, is only heard of by these events.
wasm.is_new();
addEventListener("error", lookForDeath);
addEventListener("unhandledrejection", lookForDeath);
