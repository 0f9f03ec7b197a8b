// Of pages on which one press of a button decides much: such a button can be pressed once the page has been in front of somebody for a second, so that
// a click that was meant for another page, which led here or stood in front of this one, decides nothing.
"use strict";
(() => {
  const PAUSE = 1000;
  let timer;

  const set = (isDisabled, text) => {
    document.querySelectorAll("[data-considered]").forEach((button) => (button.disabled = isDisabled));
    document.querySelectorAll(".considering").forEach((place) => (place.textContent = text));
  };

  const begin = () => {
    clearTimeout(timer);
    if (document.visibilityState === "visible" && document.hasFocus()) {
      set(true, "One moment: look at what asks.");
      timer = setTimeout(() => set(false, ""), PAUSE);
    } else {
      set(true, "Click anywhere on this page first.");
    }
  };

  addEventListener("pageshow", begin);
  addEventListener("focus", begin);
  addEventListener("blur", begin);
  document.addEventListener("visibilitychange", begin);
  begin();
})();
