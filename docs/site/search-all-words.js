// SPDX-License-Identifier: MIT
// Material's search finds sections with any of the words, and "RISC-V" found whatever begins with v. Here, each search
// is two: for sections with all words, whose scores are multiplied, and for those with any. Their results are merged.
const Message = {setup: 0, query: 2, result: 3}; // Material's, to and from the worker.
const ALL_WORDS_FACTOR = 10;
const STOP_WORDS = new Set(("a an and are as at be by can do does for from has have how i if in is it its my of on or"
    + " so that the there this to was we what when where which why will with you").split(" "));

window.Worker = class extends window.Worker {
    constructor(url) {
        super(url);
        this.searches = []; // Those without a result, in their order, which is that of the results.
        // Registered before Material's listener, which only sees the event that is dispatched here.
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
    // A leading "-" is no operator here: more often, it is that of a compiler's flag.
    queries(typed) {
        const words = typed.toLowerCase().split(this.separator).filter(each => each && !STOP_WORDS.has(each));
        if (!words.length || /["*^~]|(^|\s)\+/.test(typed)) return [typed];
        // A longer word may go on: one or two letters are the start of too many.
        return [words.map(each => (each.length < 3 ? `+${each}` : `+${each}*`)).join(" "), words.join(" ")];
    }
};
