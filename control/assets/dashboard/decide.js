// Of pages on which one press of a button decides much: such a button can be pressed once the page has been in front of somebody for a second, so that
// a click that was meant for another page, which led here or stood in front of this one, decides nothing.
"use strict";
(() => {
  const PAUSE = 1000;
  let timer;

  const begin = () => {
    clearTimeout(timer);
    const buttons = document.querySelectorAll("[data-considered]");
    buttons.forEach((button) => (button.disabled = true));
    if (document.visibilityState === "visible" && document.hasFocus()) {
      timer = setTimeout(() => buttons.forEach((button) => (button.disabled = false)), PAUSE);
    }
  };

  addEventListener("pageshow", begin);
  addEventListener("focus", begin);
  addEventListener("blur", begin);
  document.addEventListener("visibilitychange", begin);
  begin();
})();
