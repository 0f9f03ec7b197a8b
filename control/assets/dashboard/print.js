// For pages to keep on paper: a button that prints.
"use strict";
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-prints]")) {
    print();
  }
});
