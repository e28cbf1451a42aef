// Written by `npm run generate`. Do not edit.
export const closeCodes = { stopping: 1001, protocolError: 1002, notText: 1007, tooManyFragments: 1008, tooLarge: 1009, signedOut: 4401, silent: 4408 } as const
export const maxMessageBytes = 524288
export const pingSeconds = 20
export const silenceSeconds = 60
