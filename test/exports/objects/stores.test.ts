import { testOnEachStore } from '../../support/stores.ts'
import { testObjectStore } from './suite.ts'

testOnEachStore((t, store) => testObjectStore(t, store.open))
