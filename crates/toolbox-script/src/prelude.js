// The world of a script. Returns the functions by which the engine drives it.
(function (host, time, seed, file) {
    "use strict";
    const { parse, stringify } = JSON;

    for (const name of ["Atomics", "SharedArrayBuffer", "WeakRef", "FinalizationRegistry", "performance"]) {
        delete globalThis[name];
    }

    // The engine cannot be interrupted within these functions, so what they go through is bounded
    // before: lengths that no memory has, and searches whose sizes multiply.
    const method = (on, name, value) =>
        Object.defineProperty(on, name, { value, writable: true, configurable: true });
    const MOST_ITEMS = 2 ** 22;
    const MOST_COMPARED = 2 ** 31;
    const { apply } = Reflect;
    const { isArray, from, prototype: arrays } = Array;
    const { WeakSet: Marks, Proxy: NativeProxy } = globalThis;
    const { has: isMarked, add: mark } = Marks.prototype;
    const proxies = new Marks();
    // The engine looks at its limits once in ten thousand turns of a loop. Work in one turn that is
    // as long as a text or an array takes turns for its length.
    const spend = (length) => {
        for (let turns = length >> 8; turns > 0; turns--);
    };
    const marked = (proxy) => (apply(mark, proxies, [proxy]), proxy);
    const SHORT = new Set([
        "constructor", "flat", "flatMap", "push", "pop", "at", "keys", "values", "entries", Symbol.iterator,
    ]);
    const items = (of) => {
        // A copy has a length that stays what it was.
        const own = isArray(of) && !apply(isMarked, proxies, [of]) ? of : from(Object(of));
        if (own.length > MOST_ITEMS) throw new RangeError("the array is too long");
        spend(own.length);
        return own;
    };
    for (const name of Reflect.ownKeys(arrays)) {
        const native = arrays[name];
        if (typeof native !== "function" || SHORT.has(name)) continue;
        const isConcat = name === "concat";
        method(arrays, name, function (...input) {
            if (isConcat) input.forEach((one) => isArray(one) && items(one));
            return apply(native, items(this), input);
        });
    }
    const flatten = (into, of, depth) => {
        items(of).forEach((one) => {
            if (depth >= 1 && isArray(one)) flatten(into, one, depth - 1);
            else into.push(one);
        });
        return into;
    };
    method(arrays, "flat", function flat(depth = 1) {
        return flatten([], this, depth);
    });
    method(arrays, "flatMap", function flatMap(...input) {
        return flatten([], items(this).map(...input), 1);
    });
    const bounded = function Proxy(target, handler) {
        if (!new.target) throw new TypeError("Proxy is called with `new`");
        return marked(new NativeProxy(target, handler));
    };
    method(bounded, "revocable", (target, handler) => {
        const made = NativeProxy.revocable(target, handler);
        marked(made.proxy);
        return made;
    });
    method(globalThis, "Proxy", bounded);
    for (const name of ["indexOf", "lastIndexOf", "includes", "split", "replace", "replaceAll"]) {
        const native = String.prototype[name];
        method(String.prototype, name, function (words, ...rest) {
            const isText = typeof words !== "object" || words === null || !(Symbol.replace in words);
            const search = isText && words !== undefined ? String(words) : words;
            const { length } = String(this);
            if (isText && search && length * search.length > MOST_COMPARED) {
                throw new RangeError("the search is too long");
            }
            spend(length);
            return apply(native, this, [search, ...rest]);
        });
    }
    method(String, "raw", ({ raw }, ...values) => {
        const parts = items(raw);
        const before = (at) => (at > 0 && at <= values.length ? String(values[at - 1]) : "");
        return parts.map((part, at) => before(at) + part).join("");
    });
    const spending = (on, name) => {
        const native = on[name];
        method(on, name, function (...input) {
            const made = apply(native, this, input);
            const text = typeof made === "string" ? made : input[0];
            if (typeof text === "string") spend(text.length);
            return made;
        });
    };
    for (const name of ["repeat", "padStart", "padEnd", "normalize", "toUpperCase", "toLowerCase"]) {
        spending(String.prototype, name);
    }
    spending(JSON, "parse");
    spending(JSON, "stringify");

    // Randomness: mulberry32, from the seed of the record.
    let state = seed | 0;
    Math.random = function random() {
        state = (state + 0x6d2b79f5) | 0;
        let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
        mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };

    // Time: it stands still, and local time is UTC, whatever the machine's zone is.
    const NativeDate = Date;
    const isZoned = /(?:z|gmt|utc|[+-]\d\d:?\d\d)\s*(?:\(.*\))?$/i;
    const isDay = /^[+-]?\d{4,6}(?:-\d\d){0,2}$/;
    const instant = (text) => {
        if (isDay.test(text) || isZoned.test(text)) return NativeDate.parse(text);
        return NativeDate.parse(/\dT\d/.test(text) ? text + "Z" : text + " GMT");
    };
    const FixedDate = function Date(...parts) {
        if (!new.target) return new FixedDate().toString();
        let value = time;
        if (parts.length === 1) {
            value = typeof parts[0] === "string" ? instant(parts[0]) : parts[0];
        } else if (parts.length > 1) {
            value = NativeDate.UTC(...parts);
        }
        return Reflect.construct(NativeDate, [value], new.target);
    };
    const proto = NativeDate.prototype;
    FixedDate.prototype = proto;
    method(proto, "constructor", FixedDate);
    method(FixedDate, "now", () => time);
    method(FixedDate, "parse", (text) => instant(String(text)));
    method(FixedDate, "UTC", NativeDate.UTC);
    for (const part of ["FullYear", "Month", "Date", "Day", "Hours", "Minutes", "Seconds", "Milliseconds"]) {
        method(proto, "get" + part, proto["getUTC" + part]);
        if (part !== "Day") method(proto, "set" + part, proto["setUTC" + part]);
    }
    delete proto.getYear;
    delete proto.setYear;
    const text = (form) => function () {
        return Number.isNaN(this.getTime()) ? "Invalid Date" : form(this.toISOString(), this);
    };
    method(proto, "getTimezoneOffset", function () { return this.getTime() * 0; });
    method(proto, "toString", text((_, date) => date.toUTCString()));
    method(proto, "toDateString", text((_, date) => date.toUTCString().slice(0, -13)));
    method(proto, "toTimeString", text((iso) => iso.slice(-13, -5) + " GMT"));
    method(proto, "toLocaleString", text((iso) => iso.slice(0, -5).replace("T", " ")));
    method(proto, "toLocaleDateString", text((iso) => iso.slice(0, -14)));
    method(proto, "toLocaleTimeString", text((iso) => iso.slice(-13, -5)));
    method(globalThis, "Date", FixedDate);

    class ToolError extends Error {}
    method(ToolError.prototype, "name", "ToolError");
    method(globalThis, "ToolError", ToolError);

    // The position of the script in the stack: that of its first frame. Frames are read one by one,
    // since the text of a stack has names that the script chooses.
    const NativeError = Error;
    const { captureStackTrace } = NativeError;
    const { set } = Object.getOwnPropertyDescriptor(NativeError, "prepareStackTrace");
    const prepare = set.bind(NativeError);
    delete NativeError.prepareStackTrace;
    delete NativeError.stackTraceLimit;
    let line, column;
    const find = (_, frames) => {
        for (let at = 0; at < frames.length; at++) {
            if (frames[at].getFileName() !== file) continue;
            line = frames[at].getLineNumber();
            column = frames[at].getColumnNumber();
            return;
        }
    };
    // The frames above that of a function are left out.
    const locate = (above) => {
        line = column = undefined;
        prepare(find);
        captureStackTrace({}, above);
        prepare(undefined);
    };

    const waiting = new Map();
    // The items of a result: of a list its elements, of a text its lines, and else the result.
    const { asyncIterator } = Symbol;
    const each = async function* (result) {
        const value = await result;
        if (typeof value !== "string") return yield* isArray(value) ? value : [value];
        const lines = value.split("\n");
        if (lines[lines.length - 1] === "") lines.length -= 1;
        yield* lines;
    };
    // The promises of calls: awaited as they are, since they have the constructor of all.
    const { Promise: NativePromise } = globalThis;
    const { construct } = Reflect;
    const CallPromise = function () {};
    CallPromise.prototype = Object.create(NativePromise.prototype);
    method(CallPromise.prototype, asyncIterator, function () { return each(this); });
    // The line of a call is that of its `tools`, where it is written as such. By the time of the call
    // the position is one within the arguments.
    const call = (name, own) => {
        const called = (input) => {
            const begin = (resolve, reject) => {
                const text = input === undefined ? "{}" : stringify(input);
                if (text === undefined) throw new TypeError("the arguments of a tool are an object");
                if (own === undefined) locate(called);
                const at = own ?? line;
                waiting.set(host.call(name, text, at), { resolve, reject, at });
            };
            return construct(NativePromise, [begin], CallPromise);
        };
        return called;
    };
    // The functions of calls that are written as such, by their places. No function of the language
    // has a part in it, since a script may replace those, and would call one at another line.
    const written = Object.create(null);
    const known = Object.assign(Object.create(null), {
        search: async (words) => parse(host.search(String(words))),
        types: async (pattern = "*") => host.types(String(pattern)),
    });
    const refuse = () => { throw new TypeError("`tools` cannot be changed"); };
    const tools = new NativeProxy(Object.create(null), {
        get: function get(_, name) {
            // An object with `then` would be a promise.
            if (typeof name !== "string" || name === "then") return undefined;
            if (known[name]) return known[name];
            locate(get);
            const place = (line << 12) ^ column;
            const own = written[place];
            if (own?.name === name && own.line === line && own.column === column) return own.called;
            const isWritten = host.written(name, line, column);
            const called = call(name, isWritten ? line : undefined);
            if (isWritten) written[place] = { name, line, column, called };
            return called;
        },
        has: (_, name) => typeof name === "string" && name !== "then",
        set: refuse,
        defineProperty: refuse,
        deleteProperty: refuse,
        setPrototypeOf: refuse,
        preventExtensions: refuse,
    });
    Object.defineProperty(globalThis, "tools", { value: tools });

    const shown = (value) => {
        if (typeof value === "string") return value;
        if (value instanceof Error) return String(value.stack ? value + "\n" + value.stack : value);
        try {
            return stringify(value) ?? String(value);
        } catch {
            return String(value);
        }
    };
    const print = (...values) => host.print(values.map(shown).join(" "));
    method(globalThis, "console", { log: print, info: print, warn: print, error: print, debug: print });

    const described = (error) => {
        if (!(error instanceof Error)) return ["thrown: " + shown(error), ""];
        const of = error instanceof ToolError ? ` (${error.tool}, ${error.code})` : "";
        return [`${error.name}: ${error.message}${of}`, String(error.stack)];
    };
    return {
        run(main) {
            main.then(
                (value) => host.returned(stringify(value) ?? "null"),
            ).catch((error) => host.failed(...described(error)));
        },
        settle(number, json, tool, code) {
            const { resolve, reject, at } = waiting.get(number);
            waiting.delete(number);
            if (code === undefined) return resolve(parse(json));
            const error = new ToolError();
            method(error, "message", parse(json));
            // Its line is that of the call.
            method(error, "stack", at === undefined ? "" : `    at ${file}:${at}\n`);
            Object.assign(error, { tool, code });
            reject(error);
        },
    };
})
