// For pages where one press of a button decides much: the button works only after the page was visible and focused for a second. So a click that was meant
// for another page, which led here or covered this one, decides nothing (clickjacking). It loads before the first paint, so that the button never works
// without it. The button keeps the focus, for users who look at their terminal and come back.
"use strict";
(() => {
  const PAUSE = 1000;
  let isReady = false;
  let timer;

  const set = (ready, text) => {
    isReady = ready;
    document.querySelectorAll("[data-considered]").forEach((button) => button.setAttribute("aria-disabled", String(!ready)));
    document.querySelectorAll(".considering").forEach((place) => (place.textContent = text));
  };

  const begin = () => {
    clearTimeout(timer);
    if (document.visibilityState === "visible" && document.hasFocus()) {
      set(false, "One moment: check the details first.");
      timer = setTimeout(() => set(true, ""), PAUSE);
    } else {
      set(false, "Click anywhere on this page first.");
    }
  };

  // Runs before all other listeners.
  addEventListener(
    "submit",
    (event) => {
      if (!isReady && event.target.querySelector("[data-considered]")) {
        event.preventDefault();
      }
    },
    true,
  );
  document.addEventListener("DOMContentLoaded", begin);
  addEventListener("pageshow", begin);
  addEventListener("focus", begin);
  addEventListener("blur", begin);
  document.addEventListener("visibilitychange", begin);
})();
