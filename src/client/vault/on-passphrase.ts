/** What is needed once a passphrase or a recovery code is typed. */
export * from '../keyring-wraps.ts'
export * from './operations.ts'
