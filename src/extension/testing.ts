/** `encrypted-bookmark-sync-client/testing`: for tests of apps and of stores, without a service and without a test runner. */
export {
  type FakeConnection,
  type FakeService,
  fakeService,
  memoryStore,
  type OpenStore,
  type StoreCase,
  storeCases,
} from '../client/testing.ts'
export { memoryAgreedStore } from './memory-agreed-store.ts'
