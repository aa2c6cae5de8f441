// SPDX-License-Identifier: MIT
// Returns the visible layout faults of a page, as an array of texts. site_test.py evaluates it in the page.
(() => {
    const width = document.documentElement.clientWidth;
    const problems = [];
    const shown = text => `"${text.trim().slice(0, 60)}"`;

    const page_width = Math.max(document.documentElement.scrollWidth, document.body.scrollWidth);
    if (page_width > width + 1)
        problems.push(`the page scrolls sideways: ${page_width} px in ${width}`);

    const is_phone = width < 768;
    // On a phone, only columns of numbers may be outside the viewport.
    for (const table of is_phone ? document.querySelectorAll("table") : []) {
        const cells = [...table.querySelectorAll("td:not(:first-child)")];
        const of_words = cells.filter(each => /\p{L}{4}/u.test(each.textContent));
        const columns = table.querySelectorAll("th").length;
        if (columns === 0 || columns > 5 || 5 * of_words.length < 2 * cells.length) continue;
        const hidden = of_words.find(each => each.getBoundingClientRect().right > width + 1);
        if (hidden) problems.push(`a text column is outside the viewport: ${shown(hidden.textContent)}`);
    }

    // Returns the part of a box that its containers show, or null; and whether one of them scrolls.
    const visible_part = (box, element) => {
        let [left, top, right, bottom, scrolls] = [box.left, box.top, box.right, box.bottom, false];
        for (let at = element; at && at !== document.body; at = at.parentElement) {
            const style = getComputedStyle(at);
            if (style.position === "fixed") return null; // It covers the page on purpose.
            if (style.overflowX === "visible" && style.overflowY === "visible") continue;
            const frame = at.getBoundingClientRect();
            scrolls ||= style.overflowX === "auto" || style.overflowX === "scroll";
            [left, top] = [Math.max(left, frame.left), Math.max(top, frame.top)];
            [right, bottom] = [Math.min(right, frame.right), Math.min(bottom, frame.bottom)];
        }
        return right - left > 1 && bottom - top > 1 ? {left, top, right, bottom, scrolls} : null;
    };

    const numbers = color => (color.match(/[\d.]+/g) || []).map(Number);
    const luminance = ([red, green, blue]) => [red, green, blue]
        .map(each => each / 255)
        .map(each => (each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
        .reduce((sum, each, i) => sum + each * [0.2126, 0.7152, 0.0722][i], 0);
    const over = ([red, green, blue, alpha = 1], below) =>
        [red, green, blue].map((each, i) => each * alpha + below[i] * (1 - alpha));
    // Returns the background, or null if it is an image.
    const background_of = element => {
        const layers = [];
        for (let at = element; at; at = at.parentElement) {
            const style = getComputedStyle(at);
            if (style.backgroundImage !== "none") return null;
            const layer = numbers(style.backgroundColor);
            if (layer.length === 4 && layer[3] === 0) continue;
            layers.push(layer);
            if (layer.length === 3) break;
        }
        return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
    };

    const boxes = [];
    const judged = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const element = node.parentElement;
        if (!node.data.trim() || element.closest("script, style, noscript, template, svg, option")) continue;
        if (!element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const word of !is_phone && element.closest("td") ? node.data.matchAll(/\w+/g) : []) {
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            if (new Set([...range.getClientRects()].map(each => each.top)).size > 1)
                problems.push(`a word is broken across lines: ${shown(word[0])}`);
        }
        range.selectNodeContents(node);
        let is_visible = false;
        for (const box of range.getClientRects()) {
            const part = visible_part(box, element);
            if (!part) continue;
            is_visible = true;
            if (!part.scrolls && part.right > width + 1)
                problems.push(`text is cut off at the edge: ${shown(node.data)}`);
            boxes.push({...part, element, text: node.data});
        }
        const style = getComputedStyle(element);
        const key = element.tagName + element.className + style.color;
        if (!is_visible || judged.has(key)) continue;
        const background = background_of(element);
        if (!background) continue;
        judged.add(key);
        const [one, other] = [luminance(over(numbers(style.color), background)), luminance(background)];
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        const needed = element.closest("pre, .fragment") ? 3 : 4.5;
        if (contrast < needed)
            problems.push(`contrast ${contrast.toFixed(1)}, less than ${needed}: ${shown(node.data)} ` +
                `(${element.tagName.toLowerCase()}.${element.className}, ${style.color})`);
    }

    boxes.sort((a, b) => a.top - b.top);
    let overlaps = 0;
    for (let i = 0; i < boxes.length; ++i)
        for (let j = i + 1; j < boxes.length && boxes[j].top < boxes[i].bottom - 3; ++j) {
            const [a, b] = [boxes[i], boxes[j]];
            const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (wide > 3 && high > 3 && ++overlaps <= 5)
                problems.push(`texts overlap: ${shown(a.text)} and ${shown(b.text)}`);
        }
    return problems;
})()
