// For the page after a decision: follows the link to the CLI that waits on this computer. It replaces the history entry, so that nobody goes back to a link
// that was already used.
"use strict";
const link = document.getElementById("terminal");
if (link) {
  location.replace(link.href);
}
