// The textlint rule: finds the phrases of `rules.json` in a document. Code blocks and code spans are not prose.

/** Between two words: spaces, and at most one line break, after which a comment or a quotation may go on. */
const GAP = String.raw`(?:[ \t]+|[ \t]*\n[ \t]*(?:(?:#+|//+[/!]?|--|\*|>)[ \t]+)?)`;

/** Stands for text that is not prose. No pattern matches it. */
export const HIDDEN = "\uFFFC";

/** A pattern of `rules.json` as a regular expression: whole words in any case, and a space is any gap between words. */
export function compile(pattern) {
    return new RegExp(String.raw`(?<![\p{L}\p{N}_])(?:${pattern.replaceAll(" ", GAP)})(?![\p{L}\p{N}_])`, "giu");
}

/** The same text without the characters from `start` to `end`, in the same lines and columns. */
export function hide(text, [start, end]) {
    return text.slice(0, start) + text.slice(start, end).replace(/[^\n]/g, HIDDEN) + text.slice(end);
}

/** Reports every phrase, with the rule's name and what to say instead. The option `rules` has the rules. */
export default function words(context, { rules }) {
    const { Syntax, RuleError, report, locator, getSource } = context;
    const compiled = rules.map((rule) => ({ ...rule, expression: compile(rule.pattern) }));
    const code = [];
    const skip = (node) => void code.push(node.range);
    return {
        [Syntax.Code]: skip,
        [Syntax.CodeBlock]: skip,
        [Syntax.DocumentExit](node) {
            const text = code.reduce(hide, getSource(node));
            for (const { name, say, expression } of compiled) {
                for (const { 0: found, index } of text.matchAll(expression)) {
                    const phrase = found.replace(/\s+/g, " ");
                    const padding = locator.range([index, index + found.length]);
                    report(node, new RuleError(`"${phrase}": say ${say} (rule ${name})`, { padding }));
                }
            }
        },
    };
}
