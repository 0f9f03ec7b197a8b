// `node xtask/prose/lint.mjs [ROOT [RULES]]`: checks the words of every text in the repository. Prints one line per finding; fails if there is one.
//
// `rules.json` has the phrases. Before the texts, it checks the rules themselves: each finds its example, and none finds a counter-example.

import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

import { createLinter, loadTextlintrc } from "textlint";

import { extract } from "./extract.mjs";
import words, { compile } from "./rule.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));

/** The formats that people read. */
const EXTENSIONS = /\.(capnp|css|html|js|md|mjs|py|rs|snap|svg|toml|txt)$/;

/** Folders whose name begins with a dot, but that belong to the repository. */
const HIDDEN_FOLDERS = new Set([".cargo", ".ci", ".config"]);

/** A function that lints a text, with textlint's own formats and no rules but ours. */
async function linter(rules) {
    const formats = await loadTextlintrc({ configFilePath: join(here, "textlintrc.json") });
    const textlint = createLinter({ descriptor: formats.shallowMerge({ rules: [{ ruleId: "words", rule: words, options: { rules } }] }) });
    const expressions = rules.map(({ pattern }) => compile(pattern));
    return async (path, text) => {
        const { prose, extension } = extract(path, text);
        // Parsing takes most of the time, and what the parser hides (code) only removes findings.
        if (expressions.every((expression) => prose.search(expression) < 0)) {
            return [];
        }
        const { messages } = await textlint.lintText(prose, `prose${extension}`);
        return messages.map(({ line, message }) => ({ line, message }));
    };
}

/** The rules that find nothing in their example, and the counter-examples in which any rule finds something. */
async function wrongRules(lint, rules) {
    const problems = [];
    for (const { name, found, allowed } of rules) {
        const examples = await lint("example.md", found);
        if (!examples.some(({ message }) => message.endsWith(`(rule ${name})`))) {
            problems.push(`rule ${name}: does not find its example "${found}"`);
        }
        for (const { message } of await lint("example.md", allowed)) {
            problems.push(`rule ${name}: its counter-example "${allowed}" has ${message}`);
        }
    }
    return problems;
}

/** The files below a folder, sorted. `skipped` has paths from the root. */
async function files(root, skipped, folder = root) {
    const all = [];
    const entries = await readdir(folder, { withFileTypes: true });
    for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
        const path = join(folder, entry.name);
        const name = relative(root, path).split(sep).join("/");
        if (skipped.some((pattern) => pattern.test(name))) {
            continue;
        }
        if (entry.isDirectory() && (!entry.name.startsWith(".") || HIDDEN_FOLDERS.has(entry.name))) {
            all.push(...(await files(root, skipped, path)));
        } else if (entry.isFile() && (EXTENSIONS.test(name) || name === ".ci/run")) {
            all.push(name);
        }
    }
    return all;
}

async function main([root = join(here, "../.."), file = join(here, "rules.json")]) {
    const { skipped, rules } = JSON.parse(await readFile(file, "utf8"));
    const lint = await linter(rules);
    const problems = await wrongRules(lint, rules);
    const paths = await files(root, skipped.map(({ path }) => new RegExp(`^(?:${path})$`)));
    for (const path of paths) {
        const text = await readFile(join(root, path), "utf8");
        for (const { line, message } of await lint(path, text)) {
            problems.push(`${path}:${line}: ${message}`);
        }
    }
    problems.forEach((problem) => console.log(problem));
    console.log(`${rules.length} rules, ${paths.length} files, ${problems.length} problems`);
    return problems.length === 0 && paths.length > 0 && rules.length > 0;
}

process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1;
