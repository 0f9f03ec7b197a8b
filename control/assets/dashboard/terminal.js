// Of the page after a decision: follows the link to the command line that waits on this computer. The page takes no place in the history, so that nobody
// comes back to a link that has worked already.
"use strict";
const link = document.getElementById("terminal");
if (link) {
  location.replace(link.href);
}
