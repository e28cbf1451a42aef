// Written by `npm run generate`. Do not edit.
export const operations = {
  startLogin: { method: 'POST', path: '/api/v1/auth/login', security: 'none' },
  completeLogin: { method: 'GET', path: '/api/v1/auth/callback', security: 'none' },
  logout: { method: 'POST', path: '/api/v1/auth/logout', security: 'none' },
  getSession: { method: 'GET', path: '/api/v1/auth/session', security: 'optional' },
  refreshSession: { method: 'POST', path: '/api/v1/auth/refresh', security: 'refreshCookie' },
  listBookmarks: { method: 'GET', path: '/api/v1/bookmarks', security: 'sessionCookie' },
  createBookmark: { method: 'POST', path: '/api/v1/bookmarks', security: 'sessionCookie' },
  getBookmark: { method: 'GET', path: '/api/v1/bookmarks/{id}', security: 'sessionCookie' },
  updateBookmark: { method: 'PUT', path: '/api/v1/bookmarks/{id}', security: 'sessionCookie' },
  deleteBookmark: { method: 'DELETE', path: '/api/v1/bookmarks/{id}', security: 'sessionCookie' },
  getSyncStatus: { method: 'GET', path: '/api/v1/sync/status', security: 'sessionCookie' },
  pullChanges: { method: 'POST', path: '/api/v1/sync/pull', security: 'sessionCookie' },
  pushChanges: { method: 'POST', path: '/api/v1/sync/push', security: 'sessionCookie' },
  importBookmarks: { method: 'POST', path: '/api/v1/sync/import', security: 'sessionCookie' },
  openRealtime: { method: 'GET', path: '/api/v1/sync/realtime', security: 'sessionCookie' },
  listExports: { method: 'GET', path: '/api/v1/exports', security: 'sessionCookie' },
  createExport: { method: 'POST', path: '/api/v1/exports', security: 'sessionCookie' },
  downloadExport: { method: 'GET', path: '/api/v1/exports/{id}', security: 'sessionCookie' },
  deleteExport: { method: 'DELETE', path: '/api/v1/exports/{id}', security: 'sessionCookie' },
  getExportKey: { method: 'GET', path: '/api/v1/account/export-key', security: 'sessionCookie' },
  setExportKey: { method: 'PUT', path: '/api/v1/account/export-key', security: 'sessionCookie' },
  getKeyring: { method: 'GET', path: '/api/v1/account/keyring', security: 'sessionCookie' },
  setKeyring: { method: 'PUT', path: '/api/v1/account/keyring', security: 'sessionCookie' },
  getHealth: { method: 'GET', path: '/api/v1/health', security: 'none' },
} as const

export type OperationId = keyof typeof operations
