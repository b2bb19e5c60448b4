// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// speedscope.js PACKAGE FILE: what speedscope's own importer makes of a file, as JSON.
//
// The npm package has the importer in its page's bundle only, so the bundle is
// run with a document that answers nothing, and its functions for the file
// format are found by the error messages and defaults that they hold.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [dir, file] = process.argv.slice(2);
const release = path.join(dir, "dist", "release");
const bundle = fs.readdirSync(release).find((n) => /^speedscope-.*\.js$/.test(n));
let code = fs.readFileSync(path.join(release, bundle), "utf8");

function find(regex, what) {
  const found = code.match(regex);
  if (!found) throw new Error(`no ${what} in ${bundle}`);
  return found[1];
}

const importer = find(/function (\w+)\(t\)\{return\{name:t\.name\|\|t\.profiles\[0\]\.name/,
                      "speedscope importer");
const start = code.indexOf("(()=>{") + "(()=>{".length;
code = code.slice(0, start) + `globalThis.importer=${importer};` + code.slice(start);

// Anything at all: called, constructed, read.
const nothing = new Proxy(function () {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => "" :
                    key === Symbol.iterator ? [][Symbol.iterator] : nothing),
  apply: () => nothing,
  construct: () => nothing,
  set: () => true,
});
const globals = { console: { log() {}, error() {}, warn() {} }, document: nothing,
                  navigator: nothing, location: nothing, localStorage: nothing,
                  history: nothing, setTimeout: () => 0, requestAnimationFrame: () => 0,
                  performance, TextDecoder, TextEncoder, addEventListener() {},
                  matchMedia: () => nothing, URL, Uint8Array, HTMLElement: class {},
                  Element: class {}, Node: class {} };
globals.window = globals.self = globals;
vm.createContext(globals);
try {
  vm.runInContext(code, globals);
} catch (e) {
  // The page cannot be drawn; the importer is defined by then, or the next line says not.
}

const group = globals.importer(JSON.parse(fs.readFileSync(file, "utf8")));
const result = { name: group.name, profiles: [] };
for (const profile of group.profiles) {
  const frames = {}, stacks = {};
  profile.forEachFrame((f) => {
    const key = JSON.stringify([f.name, f.file || null, f.line || null]);
    frames[key] = [f.getSelfWeight(), f.getTotalWeight()];
  });
  const open = [];
  const last = [];
  profile.forEachCall(
    (node, at) => { open.push(node.frame); last.push([at, 0]); },
    (node, at) => {
      const stack = open.map((f) => f.name).join(";");
      const [from, inner] = last.pop();
      open.pop();
      stacks[stack] = (stacks[stack] || 0) + (at - from) - inner;
      if (last.length) last[last.length - 1][1] += at - from;
    });
  result.profiles.push({ name: profile.getName(), total: profile.getTotalWeight(),
                         unit: profile.getWeightUnit(), frames, stacks });
}
console.log(JSON.stringify(result));
