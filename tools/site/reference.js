// SPDX-License-Identifier: MIT
// The colour scheme chosen on the site, from the storage of Material; otherwise the scheme of the system.
(() => {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const show = () => {
        let chosen = "";
        try {
            chosen = JSON.parse(localStorage.getItem(new URL("..", location).pathname + ".__palette")).color.media;
        } catch { /* Nothing was chosen, or nothing can be stored. */ }
        const is_dark = chosen.includes(": dark") || (system.matches && !chosen.includes(": light"));
        document.documentElement.dataset.scheme = is_dark ? "dark" : "light";
    };
    show();
    system.addEventListener("change", show);
    addEventListener("storage", show);
})();
