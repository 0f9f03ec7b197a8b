// For pages with passkeys: gets the options from the server, asks the browser for a passkey, and puts its answer into the form. It loads before the first
// paint, so that parts that need passkeys are there immediately or never, without a layout shift.
"use strict";
(() => {
  const isAble = Boolean(window.PublicKeyCredential && navigator.credentials?.get && navigator.credentials?.create);
  document.documentElement.classList.add(isAble ? "has-passkeys" : "no-passkeys");
  if (!isAble) {
    return;
  }

  // An error message for the user.
  class Problem extends Error {}
  // The session is not fresh enough.
  class Stale extends Error {}
  const WORDS = {
    NotAllowedError: "No passkey was selected, or the request timed out. Try again.",
    InvalidStateError: "This device already has a passkey for this account. Use it, or choose another device.",
    SecurityError: "Passkeys do not work at this address.",
    NotSupportedError: "This device cannot create a passkey that Updraft supports.",
    ConstraintError: "This device cannot verify that it is you. Set up a screen lock or PIN, or choose another device.",
  };
  const OUT_OF_DATE = "This page is out of date. Reload it and try again.";
  const TOO_OFTEN = "Too many requests. Wait a minute and try again.";
  const NOT_NOW = "Temporarily unavailable. Try again in a moment.";
  const OTHERWISE = "Something went wrong. Try again.";

  const decoded = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const encoded = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

  // Converts the JSON options to those of the browser (Web Authentication Level 3, sections 5.1.8 and 5.1.9).
  const read = (options) => {
    const named = (list) => list?.map((credential) => ({ ...credential, id: decoded(credential.id) }));
    const read = { ...options, challenge: decoded(options.challenge) };
    if (options.user) {
      read.user = { ...options.user, id: decoded(options.user.id) };
      read.excludeCredentials = named(options.excludeCredentials) ?? [];
    } else {
      read.allowCredentials = named(options.allowCredentials) ?? [];
    }
    return read;
  };

  // Converts the answer to JSON (section 5.1; not with toJSON, which some password managers break).
  const written = (credential) => {
    const { response } = credential;
    const members = { clientDataJSON: encoded(response.clientDataJSON) };
    if (response.attestationObject) {
      members.attestationObject = encoded(response.attestationObject);
      members.transports = response.getTransports?.() ?? [];
    } else {
      members.authenticatorData = encoded(response.authenticatorData);
      members.signature = encoded(response.signature);
      if (response.userHandle) {
        members.userHandle = encoded(response.userHandle);
      }
    }
    const answer = { id: credential.id, rawId: encoded(credential.rawId), type: credential.type, response: members };
    if (credential.authenticatorAttachment) {
      answer.authenticatorAttachment = credential.authenticatorAttachment;
    }
    return JSON.stringify({ ...answer, clientExtensionResults: credential.getClientExtensionResults() });
  };

  const ask = async (form, address) => {
    const headers = { "X-CSRF-Token": form.elements.csrf.value };
    const answer = await fetch(address, { method: "POST", headers, redirect: "manual" });
    const said = await answer.json().catch(() => null);
    if (said?.reauthenticate) {
      throw new Stale();
    }
    if (!answer.ok || !said?.options) {
      // Not JSON: a redirect to the sign-in page (expired session), or an error page.
      const otherwise = answer.status === 429 ? TOO_OFTEN : answer.status >= 500 ? NOT_NOW : OUT_OF_DATE;
      throw new Problem(said?.problem ?? otherwise);
    }
    return said;
  };

  const show = (part, text) => {
    const place = part.querySelector("[role=alert]");
    if (place) {
      place.textContent = text;
    }
  };

  // Says that the browser has the next word: some show nothing until the request times out.
  const wait = (part) => {
    const place = Object.assign(document.createElement("p"), { className: "hint" });
    place.setAttribute("role", "status");
    part.append(place);
    place.textContent = "Waiting for a passkey. Follow your browser's instructions.";
    return place;
  };

  // Runs the request of an element with data-passkey. Returns whether the form has an answer now. The buttons of a form that is submitted next stay disabled.
  const perform = async (part) => {
    const form = part.closest("form");
    const buttons = form.querySelectorAll("button");
    let hasAnswer = false;
    let waiting;
    show(part, "");
    buttons.forEach((button) => (button.disabled = true));
    part.setAttribute("aria-busy", "true");
    try {
      const said = await ask(form, part.dataset.options);
      const publicKey = read(said.options);
      waiting = wait(part);
      const credential = part.dataset.passkey === "create"
        ? await navigator.credentials.create({ publicKey })
        : await navigator.credentials.get({ publicKey });
      if (!credential) {
        throw new Problem(WORDS.NotAllowedError);
      }
      form.elements[part.dataset.field].value = written(credential);
      if (form.elements.challengeId) {
        form.elements.challengeId.value = said.challengeId;
      }
      hasAnswer = true;
    } catch (error) {
      if (error instanceof Stale) {
        // The response to the form asks for reauthentication and keeps the input.
        send(form);
        return false;
      }
      show(part, error instanceof Problem ? error.message : (WORDS[error.name] ?? OTHERWISE));
    }
    waiting?.remove();
    part.removeAttribute("aria-busy");
    if (!hasAnswer || !("sends" in part.dataset)) {
      buttons.forEach((button) => (button.disabled = "shown" in button.dataset));
    }
    return hasAnswer;
  };

  // Skips validation, since a passkey makes some required fields unnecessary. The others were validated before.
  const send = (form) => HTMLFormElement.prototype.submit.call(form);

  const wantsProof = (form) => {
    const part = form.querySelector(".step-up [data-passkey]");
    const isShown = !part || form.elements.stepUp.value || form.elements.stepUpCode?.value.trim();
    return isShown ? null : part;
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-passkey] button[type=button]");
    const part = button?.closest("[data-passkey]");
    const form = part?.closest("form");
    if (!form || !form.reportValidity()) {
      return;
    }
    const missing = part.closest(".step-up") ? null : wantsProof(form);
    if (missing) {
      show(missing, "First confirm with your current second factor.");
      missing.querySelector("button").focus();
      return;
    }
    if (!(await perform(part))) {
      button.focus();
    } else if ("sends" in part.dataset) {
      send(form);
    } else {
      button.disabled = true;
      button.dataset.shown = "";
      button.textContent = "Confirmed";
      // Moves the focus to the next step.
      form.querySelector("[data-passkey][data-sends] button")?.focus();
    }
  });

  // A form that needs only a passkey is submitted by its own button. A form that a passkey submits has no such button: the Enter key in a field presses the
  // passkey's button.
  document.addEventListener("submit", async (event) => {
    const all = [...event.target.querySelectorAll("[data-passkey][data-sends]")];
    const own = all.find((part) => !part.closest(".step-up") && !event.target.elements[part.dataset.field].value);
    if (own) {
      event.preventDefault();
      own.querySelector("button").click();
      return;
    }
    const part = wantsProof(event.target);
    if (!part || !("sends" in part.dataset)) {
      return;
    }
    event.preventDefault();
    if (await perform(part)) {
      send(event.target);
    } else {
      event.submitter?.focus();
    }
  });

  // Answers that a browser kept for a restored page were already used. Loads the page by its address: it may be the response to a form, which is not submitted
  // again.
  addEventListener("pageshow", (event) => {
    if (event.persisted) {
      location.replace(location.pathname + location.search);
      return;
    }
    for (const part of document.querySelectorAll("[data-passkey]")) {
      part.closest("form").elements[part.dataset.field].value = "";
    }
  });
})();
