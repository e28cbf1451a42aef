/** Loaded on demand. A static import of one name lets every bundler leave out the library's other hashes. */
export { argon2id } from 'hash-wasm'
