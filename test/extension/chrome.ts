const chrome = {}

/** Adds to the browser's API, which the example extension reads once, so all tests of a process share it. */
export function addToChrome(parts: object): void {
  Object.assign(globalThis, { chrome: Object.assign(chrome, parts) })
}
