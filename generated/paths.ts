// Written by `npm run generate`. Do not edit.
export const startLogin = '/api/v1/auth/login'
export const completeLogin = '/api/v1/auth/callback'
export const logout = '/api/v1/auth/logout'
export const getSession = '/api/v1/auth/session'
export const refreshSession = '/api/v1/auth/refresh'
export const listBookmarks = '/api/v1/bookmarks'
export const createBookmark = '/api/v1/bookmarks'
export const getBookmark = '/api/v1/bookmarks/{id}'
export const updateBookmark = '/api/v1/bookmarks/{id}'
export const deleteBookmark = '/api/v1/bookmarks/{id}'
export const listVersions = '/api/v1/bookmarks/{id}/versions'
export const restoreBookmark = '/api/v1/bookmarks/{id}/restore'
export const listTrash = '/api/v1/trash'
export const purgeBookmark = '/api/v1/trash/{id}'
export const getSyncStatus = '/api/v1/sync/status'
export const pullChanges = '/api/v1/sync/pull'
export const pushChanges = '/api/v1/sync/push'
export const importBookmarks = '/api/v1/sync/import'
export const listConflicts = '/api/v1/sync/conflicts'
export const settleConflict = '/api/v1/sync/conflicts/{id}'
export const rewindBookmarks = '/api/v1/sync/rewind'
export const openRealtime = '/api/v1/sync/realtime'
export const listExports = '/api/v1/exports'
export const createExport = '/api/v1/exports'
export const downloadExport = '/api/v1/exports/{id}'
export const deleteExport = '/api/v1/exports/{id}'
export const getExportKey = '/api/v1/account/export-key'
export const setExportKey = '/api/v1/account/export-key'
export const getKeyring = '/api/v1/account/keyring'
export const setKeyring = '/api/v1/account/keyring'
export const listKeyringVersions = '/api/v1/account/keyring/versions'
export const eraseKeyringVersions = '/api/v1/account/keyring/versions'
export const restoreKeyring = '/api/v1/account/keyring/versions/{id}/restore'
export const reservePairing = '/api/v1/account/pairings/{id}/reservation'
export const getPairing = '/api/v1/account/pairings/{id}'
export const sendToPairing = '/api/v1/account/pairings/{id}'
export const endPairing = '/api/v1/account/pairings/{id}'
export const listSessions = '/api/v1/account/sessions'
export const endOtherSessions = '/api/v1/account/sessions'
export const endSession = '/api/v1/account/sessions/{id}'
export const listDevices = '/api/v1/account/devices'
export const renameDevice = '/api/v1/account/devices/{id}'
export const forgetDevice = '/api/v1/account/devices/{id}'
export const getAccount = '/api/v1/account'
export const deleteAccount = '/api/v1/account'
export const getHealth = '/api/v1/health'

/** The operations over HTTP that take the X-Device-ID header: one string, which is smaller than a list. */
export const takeDeviceId =
  'POST/api/v1/bookmarks' +
  'PUT/api/v1/bookmarks/{id}' +
  'DELETE/api/v1/bookmarks/{id}' +
  'POST/api/v1/bookmarks/{id}/restore' +
  'GET/api/v1/sync/status' +
  'POST/api/v1/sync/pull' +
  'POST/api/v1/sync/push' +
  'POST/api/v1/sync/import' +
  'POST/api/v1/sync/rewind' +
  'GET/api/v1/account/devices'
