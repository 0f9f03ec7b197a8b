// Takes the prose out of a file. Every word stays in its line, so that a finding names the line of the file.
//
// The result is Markdown (comments may have code spans) or plain text. Start reading at `extract`.

import { HIDDEN } from "./rule.mjs";

/** Separates texts that belong to different sentences. */
const BREAK = " · ";

/** Rust's comments, raw strings, strings and characters. A lifetime is none of them. */
const RUST = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|(?<!\w)[bc]?r(#*)"[\s\S]*?"\1|"(?:[^"\\]|\\[\s\S])*"|'(?:\\[^\n']+|\\'|[^\\'\n])'/gu;

/** Elements within a sentence. All others end one. */
const INLINE = new Set(["a", "abbr", "b", "bdi", "code", "em", "i", "kbd", "mark", "small", "span", "strong", "sub", "sup", "time", "u", "wbr"]);

/** Attributes that people read. */
const ATTRIBUTES = /\s(?:alt|aria-label|content|data-[a-z-]+|placeholder|title|value)="([^"]*)"/g;

const ENTITIES = { amp: "&", apos: "'", "#39": "'", "#x27": "'", rsquo: "’", nbsp: " ", quot: '"' };

/** A file's prose, and the extension by which textlint knows its format. */
export function extract(path, text) {
    const extension = /\.([a-z]+)$/.exec(path)?.[1] ?? "";
    switch (extension) {
        case "md":
            return { prose: text, extension: ".md" };
        case "rs":
            return { prose: rust(text), extension: ".md" };
        case "html":
            return { prose: html(text), extension: ".txt" };
        case "js":
        case "mjs":
            return { prose: text, extension: ".txt" };
        default:
            return { prose: plain(text), extension: ".txt" };
    }
}

const breaks = (text) => text.replace(/[^\n]+/g, "");

/** The comments, as Markdown, and the string literals. */
function rust(source) {
    let prose = "";
    let end = 0;
    for (const { 0: token, 1: hashes, index } of source.matchAll(RUST)) {
        const skipped = breaks(source.slice(end, index));
        prose += (skipped === "" && prose !== "" ? BREAK : skipped) + rustToken(token, hashes);
        end = index + token.length;
    }
    return prose;
}

function rustToken(token, hashes) {
    if (token.startsWith("//")) {
        return token.replace(/^\/\/[/!]? ?/, "");
    }
    if (token.startsWith("/*")) {
        return token.slice(2, -2).replace(/^[ \t]*[*!]? ?/gm, "");
    }
    if (token.startsWith("'")) {
        return "";
    }
    const text = hashes === undefined ? token.slice(1, -1).replace(/\\(\n|.)/g, escaped) : token.slice(token.indexOf('"') + 1, -1 - hashes.length);
    // One word is a name or a value.
    if (!text.includes(" ")) {
        return BREAK + breaks(text);
    }
    // A string is not Markdown, and its end ends a sentence.
    return `${BREAK}${text.replace(/[`<]/g, " ").replace(/^[ \t]+/gm, "")}${BREAK}`;
}

function escaped(_, character) {
    return character === "\n" ? "\n" : /["'\\]/.test(character) ? character : " ";
}

/** The text of a template, and the attributes that people read. */
function html(source) {
    return source
        .replace(/\{#([\s\S]*?)#\}/g, `${BREAK}$1${BREAK}`)
        .replace(/\{\{[\s\S]*?\}\}/g, (expression) => HIDDEN + quoted(expression))
        .replace(/\{%[\s\S]*?%\}/g, quoted)
        .replace(/<code\b[^<>]*>[^<]*<\/code>/g, (element) => HIDDEN + breaks(element))
        .replace(/<!--|-->/g, BREAK)
        .replace(/<\/?([a-z0-9]+)[^<>]*>/gi, tag)
        .replace(/&(#?[a-z0-9]+);/g, (entity, name) => ENTITIES[name] ?? entity);
}

/** The texts in a template's expression, such as the label that a macro gets. */
function quoted(expression) {
    return expression.replace(/"([^"]*)"|[^"\n]/g, (_, text) => (text?.includes(" ") ? BREAK + text + BREAK : ""));
}

function tag(element, name) {
    const attributes = [...element.matchAll(ATTRIBUTES)].map(([, value]) => BREAK + value.replace(/\n/g, " ") + BREAK).join("");
    return attributes + (INLINE.has(name.toLowerCase()) ? "" : BREAK) + breaks(element);
}

/** Lists, snapshots, scripts, settings: everything but code spans. In JavaScript, backticks are for texts. */
function plain(source) {
    return source.replace(/`[^`\n]*`/g, HIDDEN).replace(/\\[nt]/g, "  ");
}
