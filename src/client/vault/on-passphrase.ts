/** What is needed once a passphrase or a recovery code is typed. */
export * from '../crypto/keyring-wraps.ts'
export * from './operations.ts'
