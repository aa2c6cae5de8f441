// SPDX-License-Identifier: MIT
// Material's search matches sections with any of the words: "RISC-V" matched every word that begins with v. Here, each
// search runs two queries: sections with all words, whose scores are multiplied, and sections with any. The results are
// merged.
const Message = {setup: 0, query: 2, result: 3}; // Types of Material's messages to and from the worker.
const ALL_WORDS_FACTOR = 10;
const STOP_WORDS = new Set(("a an and are as at be by can do does for from has have how i if in is it its my of on or"
    + " so that the there this to was we what when where which why will with you").split(" "));

window.Worker = class extends window.Worker {
    constructor(url) {
        super(url);
        this.searches = []; // Pending searches, oldest first; results arrive in the same order.
        // Registered before Material's listener, which sees only the merged event dispatched below.
        this.addEventListener("message", event => {
            if (event.data.type !== Message.result || event.data.is_merged) return;
            event.stopImmediatePropagation();
            const {factors, found} = this.searches[0];
            const factor = factors.shift();
            for (const sections of event.data.data.items) {
                const page = sections[0].location.split("#")[0];
                if (!found.has(page)) found.set(page, {sections, score: sections[0].score * factor});
            }
            if (factors.length) return;
            const items = [...found.values()].sort((a, b) => b.score - a.score).map(each => each.sections);
            this.searches.shift();
            const data = {type: Message.result, data: {items}, is_merged: true};
            this.dispatchEvent(new MessageEvent("message", {data}));
        });
    }
    postMessage(message) {
        if (message.type === Message.setup) this.separator = new RegExp(message.data.config.separator);
        if (message.type !== Message.query) return super.postMessage(message);
        const queries = this.queries(message.data);
        this.searches.push({factors: queries.length > 1 ? [ALL_WORDS_FACTOR, 1] : [1], found: new Map()});
        for (const data of queries) super.postMessage({type: Message.query, data});
    }
    // A leading "-" is not an operator here: it is more often part of a compiler flag.
    queries(typed) {
        const words = typed.toLowerCase().split(this.separator).filter(each => each && !STOP_WORDS.has(each));
        if (!words.length || /["*^~]|(^|\s)\+/.test(typed)) return [typed];
        // Longer words also match as prefixes; one or two letters would match too much.
        return [words.map(each => (each.length < 3 ? `+${each}` : `+${each}*`)).join(" "), words.join(" ")];
    }
};
