/** `encrypted-bookmark-sync-client/testing`: for tests of stores, with any test runner. */
export { memoryStore } from './sync/store/memory.ts'
export { type OpenStore, type StoreCase, storeCases } from './testing/store-cases.ts'
