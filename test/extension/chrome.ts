const chrome = {}

/** Adds parts to the browser's API. The example extension reads `chrome` once, when it is loaded, so tests share it. */
export function addToChrome(parts: object): void {
  Object.assign(globalThis, { chrome: Object.assign(chrome, parts) })
}
