// The page that uploads a release: a bundle can be dropped on it, and the upload shows its progress. Without this script the form is sent as it is.
"use strict";
(() => {
  const form = document.querySelector("form[data-uploads]");
  const problem = document.getElementById("upload-problem");
  const progress = document.getElementById("progress");
  const [bar, text] = progress.children;
  const file = form.elements.package;
  const drop = form.querySelector("[data-drop]");
  const [button, cancel] = form.querySelectorAll(".actions > *");
  let request;

  const size = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
  const time = (seconds) => (seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`);

  // Shows why nothing was released, with a link to each field at fault.
  const refuse = (lines) => {
    problem.replaceChildren();
    for (const [name, line] of lines) {
      const paragraph = document.createElement("p");
      if (form.elements[name]) {
        const link = document.createElement("a");
        link.href = `#${name}`;
        link.textContent = line;
        paragraph.append(link);
        form.elements[name].setAttribute("aria-invalid", "true");
      } else {
        paragraph.textContent = line;
      }
      problem.append(paragraph);
    }
    problem.hidden = false;
    problem.focus();
  };

  const end = () => {
    request = undefined;
    progress.hidden = true;
    button.removeAttribute("aria-disabled");
    cancel.textContent = "Cancel";
  };

  const answered = () => {
    let answer = {};
    try {
      answer = JSON.parse(request.responseText);
    } catch {
      // Not from this service: a proxy's page.
    }
    if (request.status === 201 && /^\/[^/]/.test(answer.page)) {
      location.assign(answer.page);
      return;
    }
    end();
    const lines = Object.entries(answer.fields ?? {});
    if (answer.problem) {
      lines.unshift(["", answer.problem]);
    }
    const text = "The server could not take the upload. Try again: the same upload is never released twice.";
    refuse(lines.length > 0 ? lines : [["", text]]);
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (request) {
      return;
    }
    form.querySelectorAll("[aria-invalid]").forEach((field) => field.removeAttribute("aria-invalid"));
    problem.hidden = true;
    if (file.files[0].size > Number(form.dataset.largest)) {
      refuse([["package", `The file is larger than ${form.dataset.largestText}.`]]);
      return;
    }
    const began = performance.now();
    let said = -10;
    request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      const percent = Math.floor((100 * loaded) / total);
      bar.value = Math.floor((1000 * loaded) / total);
      // Announced by screen readers: not with every chunk.
      if (percent >= said + 5 || percent === 100) {
        said = percent;
        const speed = loaded / ((performance.now() - began) / 1000);
        const left = loaded < total ? `, ${size(speed)}/s, ${time((total - loaded) / speed)} left` : ". Checking the bundle";
        text.textContent = `${percent}% of ${size(total)}${left}`;
      }
    });
    request.addEventListener("load", answered);
    request.addEventListener("error", () => {
      end();
      refuse([["", "The connection was lost. Press Release to try again: the same upload is never released twice."]]);
    });
    bar.value = 0;
    text.textContent = "Starting";
    progress.hidden = false;
    button.setAttribute("aria-disabled", "true");
    cancel.textContent = "Stop";
    request.send(new FormData(form));
  });

  cancel.addEventListener("click", (event) => {
    if (request) {
      event.preventDefault();
      request.abort();
      end();
      refuse([["", "Stopped. If the whole file had been sent, it may be released all the same: look at the list of releases."]]);
    }
  });
  addEventListener("beforeunload", (event) => request && request.readyState < 4 && event.preventDefault());

  // The whole page takes the file, so that one that misses the field is not opened instead.
  addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  addEventListener("dragleave", (event) => event.relatedTarget === null && drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (!request && event.dataTransfer.files.length === 1) {
      file.files = event.dataTransfer.files;
    } else if (event.dataTransfer.files.length > 1) {
      refuse([["package", "Drop one file: a ZIP archive of the build folder."]]);
    }
  });
})();
