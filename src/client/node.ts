/** `encrypted-bookmark-sync-client/node`: a device that keeps everything in one file. Needs Node 24. */
export { StoreInUseError } from './errors.ts'
export { type Device, type DeviceOptions, openDevice } from './node/device.ts'
export { fileStore } from './node/file-store.ts'
export { SignInError } from './node/sign-in.ts'
