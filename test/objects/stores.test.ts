import t from 'tap'
import { testOnEachStore } from '../support/stores.ts'
import { testObjectStore } from './suite.ts'

testOnEachStore(t, (t, store) => testObjectStore(t, store.open))
