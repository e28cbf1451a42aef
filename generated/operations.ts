// Written by `npm run generate`. Do not edit.
export const operations = {
  startLogin: { method: 'POST', path: '/api/v1/auth/login' },
  completeLogin: { method: 'GET', path: '/api/v1/auth/callback' },
  logout: { method: 'POST', path: '/api/v1/auth/logout' },
  getSession: { method: 'GET', path: '/api/v1/auth/session' },
  refreshSession: { method: 'POST', path: '/api/v1/auth/refresh' },
  listBookmarks: { method: 'GET', path: '/api/v1/bookmarks' },
  createBookmark: { method: 'POST', path: '/api/v1/bookmarks' },
  getBookmark: { method: 'GET', path: '/api/v1/bookmarks/{id}' },
  updateBookmark: { method: 'PUT', path: '/api/v1/bookmarks/{id}' },
  deleteBookmark: { method: 'DELETE', path: '/api/v1/bookmarks/{id}' },
  getSyncStatus: { method: 'GET', path: '/api/v1/sync/status' },
  pullChanges: { method: 'POST', path: '/api/v1/sync/pull' },
  pushChanges: { method: 'POST', path: '/api/v1/sync/push' },
  importBookmarks: { method: 'POST', path: '/api/v1/sync/import' },
  openRealtime: { method: 'GET', path: '/api/v1/sync/realtime' },
  listExports: { method: 'GET', path: '/api/v1/exports' },
  createExport: { method: 'POST', path: '/api/v1/exports' },
  downloadExport: { method: 'GET', path: '/api/v1/exports/{id}' },
  deleteExport: { method: 'DELETE', path: '/api/v1/exports/{id}' },
  getExportKey: { method: 'GET', path: '/api/v1/account/export-key' },
  setExportKey: { method: 'PUT', path: '/api/v1/account/export-key' },
  getKeyring: { method: 'GET', path: '/api/v1/account/keyring' },
  setKeyring: { method: 'PUT', path: '/api/v1/account/keyring' },
  getHealth: { method: 'GET', path: '/api/v1/health' },
} as const

export type OperationId = keyof typeof operations
