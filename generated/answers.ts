// Written by `npm run generate`. Do not edit.
/** One line per operation, in a string, which is smaller than a list. */
export const answerFields =
  "\n" +
  "POST/api/v1/auth/login authorizationUrl string\n" +
  "POST/api/v1/auth/logout name encrypted-bookmark-sync\n" +
  "GET/api/v1/auth/session user object\n" +
  "POST/api/v1/auth/refresh name encrypted-bookmark-sync\n" +
  "GET/api/v1/bookmarks data array\n" +
  "POST/api/v1/bookmarks id string\n" +
  "GET/api/v1/bookmarks/{id} id string\n" +
  "PUT/api/v1/bookmarks/{id} id string\n" +
  "DELETE/api/v1/bookmarks/{id} name encrypted-bookmark-sync\n" +
  "GET/api/v1/bookmarks/{id}/versions versions array\n" +
  "POST/api/v1/bookmarks/{id}/restore id string\n" +
  "GET/api/v1/trash bookmarks array\n" +
  "DELETE/api/v1/trash/{id} name encrypted-bookmark-sync\n" +
  "GET/api/v1/sync/status user_id string\n" +
  "POST/api/v1/sync/pull changes array\n" +
  "POST/api/v1/sync/push accepted_ids array\n" +
  "POST/api/v1/sync/import imported_ids array\n" +
  "GET/api/v1/sync/conflicts conflicts array\n" +
  "DELETE/api/v1/sync/conflicts/{id} name encrypted-bookmark-sync\n" +
  "GET/api/v1/exports exports array\n" +
  "POST/api/v1/exports id string\n" +
  "DELETE/api/v1/exports/{id} name encrypted-bookmark-sync\n" +
  "GET/api/v1/account/export-key key string\n" +
  "PUT/api/v1/account/export-key name encrypted-bookmark-sync\n" +
  "GET/api/v1/account/keyring keyring string\n" +
  "PUT/api/v1/account/keyring keyring string\n" +
  "GET/api/v1/account/keyring/versions versions array\n" +
  "DELETE/api/v1/account/keyring/versions name encrypted-bookmark-sync\n" +
  "POST/api/v1/account/keyring/versions/{id}/restore keyring string\n" +
  "POST/api/v1/account/pairings/{id}/reservation name encrypted-bookmark-sync\n" +
  "GET/api/v1/account/pairings/{id} message string\n" +
  "PUT/api/v1/account/pairings/{id} message string\n" +
  "DELETE/api/v1/account/pairings/{id} name encrypted-bookmark-sync\n" +
  "GET/api/v1/account/sessions sessions array\n" +
  "DELETE/api/v1/account/sessions name encrypted-bookmark-sync\n" +
  "DELETE/api/v1/account/sessions/{id} name encrypted-bookmark-sync\n" +
  "GET/api/v1/account/devices devices array\n" +
  "PUT/api/v1/account/devices/{id} name encrypted-bookmark-sync\n" +
  "DELETE/api/v1/account/devices/{id} name encrypted-bookmark-sync\n" +
  "GET/api/v1/account user object\n" +
  "DELETE/api/v1/account name encrypted-bookmark-sync\n" +
  "GET/api/v1/health name string\n"
