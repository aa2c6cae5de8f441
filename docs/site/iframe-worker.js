// SPDX-License-Identifier: MIT
// The search runs in a worker, which browsers do not start from files. For pages that are opened as files, a hidden
// frame takes its place: it runs the script of the worker, with the functions that the script expects.
if (location.protocol === "file:") {
    window.Worker = class extends EventTarget {
        constructor(url) {
            super();
            const frame = document.createElement("iframe");
            frame.hidden = true;
            document.body.append(frame);
            const inside = frame.contentWindow;
            const load = source => new Promise((loaded, failed) => {
                const script = inside.document.createElement("script");
                script.src = source;
                script.onload = loaded;
                script.onerror = () => failed(new Error(`cannot load ${source}`));
                inside.document.body.append(script);
            });
            inside.document.open();
            inside.document.write("<!doctype html><body></body>");
            inside.document.close();
            inside.postMessage = data => {
                const event = new MessageEvent("message", {data});
                this.dispatchEvent(event);
                if (this.onmessage) this.onmessage(event);
            };
            inside.importScripts = (...sources) =>
                sources.reduce((before, source) => before.then(() => load(new URL(source, url).href)),
                    Promise.resolve());
            this.frame = frame;
            this.ready = load(url);
        }
        postMessage(data) {
            this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data})));
        }
        terminate() {
            this.frame.remove();
        }
    };
}
