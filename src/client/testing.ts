/** `encrypted-bookmark-sync-client/testing`: for tests of apps and of stores, without a service and without a test runner. */
export { memoryStore } from './sync/store/memory.ts'
export { type FakeConnection, type FakeService, fakeService } from './testing/fake-service.ts'
export { type OpenStore, type StoreCase, storeCases } from './testing/store-cases.ts'
