// Of pages with passkeys: asks the server what to ask for, the browser for a passkey, and puts its answer into the form. Loaded before the page is
// drawn, so that nothing moves: what needs passkeys is there at once, or not at all.
"use strict";
(() => {
  const isAble = Boolean(window.PublicKeyCredential && navigator.credentials?.get && navigator.credentials?.create);
  document.documentElement.classList.add(isAble ? "has-passkeys" : "no-passkeys");
  if (!isAble) {
    return;
  }

  // What is told to people.
  class Problem extends Error {}
  // The session is too old for this.
  class Stale extends Error {}
  const WORDS = {
    NotAllowedError: "No passkey was chosen, or it took too long. Try again.",
    InvalidStateError: "There is a passkey for this account on this device already. Choose another device, or use the one that is there.",
    SecurityError: "This page has another address than the one that passkeys are for.",
    NotSupportedError: "This device cannot make a passkey that this service takes.",
    ConstraintError: "This device cannot check that it is you. Set up a screen lock or a PIN on it, or choose another device.",
  };
  const OUT_OF_DATE = "This page is out of date. Reload it, and try again.";
  const TOO_OFTEN = "Too much at once. Wait a minute, and try again.";
  const NOT_NOW = "This is not available for the moment. Try again in a moment.";
  const OTHERWISE = "This did not work. Try again.";

  const decoded = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const encoded = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

  // The options in their JSON form to what the browser takes (Web Authentication level 3, sections 5.1.8 and 5.1.9).
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

  // The answer in its JSON form (section 5.1: toJSON, which some password managers break).
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
      // A session that has ended leads to the sign-in page; a refusal of the page itself is a page, and so is a fault.
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

  // Does what a part of the page with data-passkey says; whether the form has an answer then. The buttons of a form that is sent next stay disabled.
  const perform = async (part) => {
    const form = part.closest("form");
    const buttons = form.querySelectorAll("button");
    let hasAnswer = false;
    show(part, "");
    buttons.forEach((button) => (button.disabled = true));
    part.setAttribute("aria-busy", "true");
    try {
      const said = await ask(form, part.dataset.options);
      const publicKey = read(said.options);
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
        // The answer to the form asks who it is, and brings what was typed back.
        send(form);
        return false;
      }
      show(part, error instanceof Problem ? error.message : (WORDS[error.name] ?? OTHERWISE));
    }
    part.removeAttribute("aria-busy");
    if (!hasAnswer || !("sends" in part.dataset)) {
      buttons.forEach((button) => (button.disabled = "shown" in button.dataset));
    }
    return hasAnswer;
  };

  // Past what the form asks of fields that a passkey makes needless; the others were asked before.
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
      show(missing, "First show a second factor that you have.");
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
      button.textContent = "Shown";
      // To what is to be done next.
      form.querySelector("[data-passkey][data-sends] button")?.focus();
    }
  });

  // A form that needs a passkey and nothing else is sent by its own button; one that is sent by a passkey alone has none, and the enter key in a field
  // is that passkey's button.
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

  // What a browser kept of a page that comes back, or is loaded again, was used up. By the address: a page may be the answer to a form, which is not sent
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
