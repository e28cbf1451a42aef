/** Loaded on demand. Re-exports one name, so that every bundler leaves out the library's other hashes. */
export { argon2id } from 'hash-wasm'
