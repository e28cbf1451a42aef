// Written by `npm run generate`. Do not edit.
export interface paths {
    "/api/v1/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a sign-in
         * @description Returns the identity provider's URL to send the browser to. A sealed cookie (`__Host-service_login` over https, otherwise `service_login`) remembers the attempt for 10 minutes. Without this cookie, the callback accepts no code; with it, only one. Several tabs can sign in at once. If they have the same `returnTo`, they must start within a minute. The flow is the OAuth 2.0 authorization code flow with PKCE (RFC 7636), as RFC 9700 recommends.
         *
         *     A program without a browser passes a URL of its own on the loopback interface as `returnTo` (RFC 8252, section 7.3), keeps the cookie, and opens the URL in the user's browser. The identity provider then always asks the user to sign in, regardless of `prompt`, and the callback refuses a sign-in from before this request. The browser does not have the cookie, so the callback redirects it to the program. The program then calls the callback itself, with the same query and with the cookie.
         */
        post: operations["startLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Complete a sign-in
         * @description The identity provider redirects the browser here. In this order, the service (1) exchanges the code for tokens,
         *     (2) creates the user on the first sign-in, (3) sets the two session cookies, (4) redirects.
         *
         *     If the request has valid session or refresh cookies, their logins end, because the new cookies replace them.
         *
         *     A user can have at most 1,000 logins. A new one beyond that ends the oldest, including its session and sockets.
         *
         *     If the return URL is on the loopback interface and the browser has no sign-in in progress for it, another
         *     program on the user's machine has started the sign-in. The redirect then leads to that program, with the query
         *     of this request, and nobody is signed in.
         *
         *     A failure redirects to `/login?error=<message>`; the message is one of `x-login-failures`, which the guide to errors
         *     lists. `Identity provider did not ask you to sign in` follows a sign-in with `prompt` `login` if the provider
         *     did not ask the user for anything, although it had to. Such a sign-in would not be recent.
         *
         *     The operator decides who may sign in: members of e-mail domains or of a group of the provider, or only existing
         *     users. The service checks each sign-in. People who may not sign in get no account and no session.
         *
         *     After the operator has changed the identity provider, nobody becomes a new user until the accounts are moved to
         *     it. Otherwise their owners would find empty accounts.
         */
        get: operations["completeLogin"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign out
         * @description Ends every login of a valid session (as cookie or as bearer token) or refresh cookie in the request, on every instance at once. The next request of the login, and any write whose body is still arriving, are refused. Its open sockets are closed. Its lists, other long responses and downloads that are being sent are cut off. Clears both cookies. Also succeeds without a session.
         */
        post: operations["logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the session
         * @description Reports whether the session is valid and which user it belongs to.
         */
        get: operations["getSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a new session cookie
         * @description Call this when a request returned 401, then repeat that request once. The refresh cookie does not change, so tabs
         *     that refresh at the same moment all stay signed in. Older session cookies of the login stay valid for another 60
         *     s if they are more than 60 s old, and otherwise for their full lifetime. Only the newest 32 of them are
         *     valid.
         *
         *     503 means that the identity provider is unreachable, or refuses for a temporary reason. Nobody is signed out:
         *     try again later. A login whose every refresh the provider refuses ends within 24 hours.
         */
        post: operations["refreshSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/bookmarks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List bookmarks
         * @description Lists live bookmarks, newest first (`created_at` descending, then `id` descending). Deleted ones are left out. A long page is read while it is sent. If a bookmark changes before its turn, its new content is sent; if it is deleted, it is left out. `total` is the number at the beginning. If the connection closes early, the JSON is incomplete.
         */
        get: operations["listBookmarks"];
        put?: never;
        /**
         * Create a bookmark
         * @description Stores a new record. A client that binds its ciphertext to the id (as the client package does) sends the `id`; otherwise the server generates a UUIDv7. Recorded as a change with operation `create` by the device in `X-Device-ID`. Without an `id`, a request with the `Idempotency-Key` and the body of an earlier one stores nothing, and gets the same response.
         */
        post: operations["createBookmark"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/bookmarks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The bookmark's id, percent-encoded. */
                id: components["parameters"]["BookmarkId"];
            };
            cookie?: never;
        };
        /**
         * Get a bookmark
         * @description Returns one live bookmark. A deleted one gives 404.
         */
        get: operations["getBookmark"];
        /**
         * Replace a bookmark's content
         * @description Replaces `encrypted_data`, `data_hash` and `updated_at` of a live bookmark, whatever the stored version is. Recorded as a change with operation `update` by the device in `X-Device-ID`. If that device had not pulled the stored version, the change is marked as a resolved conflict; without the header, it counts as having seen it.
         */
        put: operations["updateBookmark"];
        post?: never;
        /**
         * Delete a bookmark
         * @description Soft delete: sets `deleted_at` and keeps the record as a tombstone, so that an older change that arrives later loses. Recorded as a change with operation `delete` by the device in `X-Device-ID`. If that device had not pulled the stored version, the change is marked as a resolved conflict; without the header, it counts as having seen it.
         */
        delete: operations["deleteBookmark"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/bookmarks/{id}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The bookmark's id, percent-encoded. */
                id: components["parameters"]["BookmarkId"];
            };
            cookie?: never;
        };
        /**
         * List a bookmark's versions
         * @description Lists the kept versions of a live or deleted bookmark, newest first: those that were replaced, and those that lost when they arrived. The current version is not among them; `getBookmark` returns it. A page ends early after 512 KiB of ciphertext; only `next` tells whether it was the last.
         */
        get: operations["listVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/bookmarks/{id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The bookmark's id, percent-encoded. */
                id: components["parameters"]["BookmarkId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore a version of a bookmark
         * @description Makes a kept version's content current again, as a new change with operation `update` by the device in
         *     `X-Device-ID`, which always wins. Without `version_id`, it restores a deleted bookmark as it was before the
         *     delete, or the version before the current one of a live bookmark. It skips versions whose event ids differ from
         *     the current one's only in `~` and three digits at the end, unless no other is left. These look like the same
         *     version, encrypted again after a rotation of the keys. If several versions have the same `version_id`, it
         *     restores the first that arrived. If `version_id` names a version of an open conflict, this settles the conflict.
         *
         *     If the device had not pulled the current version, the change is marked as a resolved conflict; without the header,
         *     it counts as having seen it. The service still has the ciphertext of the version, so this needs no room.
         */
        post: operations["restoreBookmark"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/trash": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deleted bookmarks
         * @description Lists the deleted bookmarks that can still be restored, the last deleted first. A page ends early after 512 KiB of ciphertext; only `next` tells whether it was the last.
         */
        get: operations["listTrash"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/trash/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The bookmark's id, percent-encoded. */
                id: components["parameters"]["BookmarkId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Erase a deleted bookmark
         * @description Erases the ciphertext of a deleted bookmark and all its versions at once. Its ids, hash and times stay as a tombstone, so that an older change that arrives later loses. Succeeds again if nothing is left to erase. With sign-ins that are older than 10 minutes, a user can erase 20 bookmarks in 24 hours, on all devices together.
         */
        delete: operations["purgeBookmark"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sync/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the sync status
         * @description Reports on the device in `X-Device-ID` or, without the header, on all of the user's devices together. The service remembers at most 1,000 devices per user: a new one beyond that replaces the device that was seen least recently, which then starts from cursor 0 again.
         *
         *     With `entity_types`, `pending_changes` and `digest` cover these types only.
         */
        get: operations["getSyncStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sync/pull": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pull changes
         * @description Returns the newest change of each entity whose sequence number is greater than `since`, in order of sequence
         *     numbers. While `has_more` is true, repeat with `since` set to the returned `last_sync_timestamp`. A page may end
         *     before `limit` (after 2 MiB of ciphertext); only `has_more` tells whether it was the last. A device's own
         *     changes are returned, too; the device recognises them by their ids.
         *
         *     A `since` above the user's last sequence number counts as 0: the database was restored from a backup, and the
         *     device would otherwise skip later changes. So `last_sync_timestamp` can be lower than `since`: store it anyway.
         *
         *     With `entity_types`, only changes of these types are returned, and `last_sync_timestamp` passes the others: a later
         *     pull does not look at them again. A page may be empty then although `has_more` is true, because a request looks at
         *     25,000 changes of any type at most. A device that wants another type later pulls that type from 0. A device that
         *     pushes a change of a type that it does not pull must send `base`. The default would say that the device had seen
         *     all changes of this type up to its cursor.
         */
        post: operations["pullChanges"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sync/push": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Push changes
         * @description Applies all changes in one transaction, or none. For each entity, the greatest of the stored version and the
         *     pushed changes is kept. They are compared by `timestamp`, then by `device_id`, then by operation (delete before
         *     update before create), then by event id, hash and data. Strings are compared by bytes. The losing changes are
         *     reported in `conflicts`.
         *
         *     A change that lost is still accepted if its own device's newer change is in the same push, or if it has the same
         *     content as the winner. A repeated push changes nothing. It has the same outcome, unless something else was
         *     written in between. A change of another user, or one whose `timestamp` is more than 24 h ahead of the server, is
         *     rejected in `conflicts`. So is one with `if_unseen: reject` that would overwrite a version that its device had
         *     neither seen (`base`) nor merged (`merged_up_to`). If one change is malformed, the whole request fails with 400.
         *
         *     A push that would exceed the user's quota fails as a whole with 413, including its deletes: push those separately.
         *     A push that contains only deletes is never refused. Deleting an unknown entity leaves a tombstone, so that an
         *     older create that arrives later loses. At the limit of records, the delete is accepted, but leaves no tombstone.
         */
        post: operations["pushChanges"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sync/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import bookmarks
         * @description Creates many bookmarks at once. An element that fails (its id belongs to a live bookmark, or a field is wrong)
         *     is reported in `errors` with its id, and the others are imported. A deleted bookmark with the same id is
         *     restored. If the device in `X-Device-ID` had not pulled the delete, the import is marked as a resolved conflict.
         *     Dates are in Unix **seconds**. An import that would exceed the user's quota fails as a whole with 413: nothing
         *     is imported.
         */
        post: operations["importBookmarks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sync/conflicts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List open conflicts
         * @description Lists the open conflicts, newest first: kept versions that lost to a version whose device had not seen them.
         *     They were overwritten, or were rejected when they arrived. Every device gets the same list.
         *
         *     A conflict leaves the list when a person settles it or restores its version, and also when the device that made
         *     the version has told its user of it, and settles it. A pull settles nothing: the device that made the version
         *     may have lost its data, or may be running from an older copy of it, so that it tells its user nothing. A page
         *     ends early after 512 KiB of ciphertext; only `next` tells whether it was the last.
         */
        get: operations["listConflicts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sync/conflicts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The conflict's `version_id`, percent-encoded. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Settle a conflict
         * @description Removes a conflict from the list and leaves the bookmark as it is. A device calls this operation when its user knows that the version lost. The version itself is kept as long as any other. If several conflicts have the same `version_id`, the first that arrived is settled.
         */
        delete: operations["settleConflict"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sync/rewind": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Go back to an earlier time
         * @description Every entity becomes what it was at the time `to`. Entities that were changed or deleted since are restored, and
         *     those that were made since are deleted. These are new changes by the device in `X-Device-ID`, which always win
         *     and count as having seen what they replace. An entity counts as changed if its ciphertext differs, regardless of
         *     hash and event id. So entities that were since encrypted again, with new keys, are restored, too. Nothing is
         *     lost: the current versions are kept, and a later rewind to this moment restores them. Records of the type
         *     `history` stay as they are, and count as `unchanged`.
         *
         *     A request handles up to 500 entities, in one transaction. While `next` is not null, repeat the request with
         *     `cursor` set to `next`. If a rewind is interrupted, the entities that it has handled are not changed back, and
         *     count as unchanged when the rewind is repeated. With `dry_run`, nothing is changed, and the response has the
         *     counts that the rewind would have.
         *
         *     `to` is compared with the time at which the service stored each change, which is the same for all changes of one
         *     request. The `last_sync_timestamp` that a device had right before a rewind names that moment exactly: a rewind
         *     to it undoes the first rewind, and nothing else.
         */
        post: operations["rewindBookmarks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sync/realtime": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Open the realtime channel
         * @description Upgrades to a WebSocket, whose messages are described in `asyncapi.yaml`. Browsers cannot set headers on a
         *     WebSocket, so the query parameters `user_id` and `device_id` can replace `X-User-ID` and `X-Device-ID` (a header
         *     takes precedence). The checks run in this order: origin, session, upgrade, ids, user, sockets.
         *
         *     A user can have at most 256 open sockets on one instance of the service. Another one gets 429 `Too many sockets`
         *     there until one of them is closed.
         */
        get: operations["openRealtime"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/exports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List exports
         * @description Lists the user's exports, newest first. Not included are expired ones, and those whose key the service can no longer decrypt.
         */
        get: operations["listExports"];
        put?: never;
        /**
         * Create an export
         * @description Starts making a backup file of every live bookmark. Responds immediately; poll `listExports` until the export is
         *     `completed`. The file expires 7 days after that.
         *
         *     A user can have at most 3 unfinished exports, and at most 10 kept ones: unfinished, or completed and not expired.
         *     Together, the files of the kept ones can have 4 GiB, unless the operator sets another limit. Unfinished files,
         *     and the new one, count with their expected size: the user's stored ciphertext, and 200 bytes for each bookmark.
         *     If no other export is kept, a new one is never refused because of its size. Failed exports do not count. Once
         *     there are 10 exports in all, a new one replaces the oldest failed one.
         *
         *     A request with the `Idempotency-Key` of an export that `listExports` still lists makes no new one, and gets the
         *     response to the first request.
         *
         *     The service reads an export in pages of 64 bookmarks or 256 KiB. Every ten pages count as another request of the
         *     user. While the user's rate limit is used up, exports that have not begun wait.
         */
        post: operations["createExport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/exports/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The export's id. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        /**
         * Download an export file
         * @description Returns the encrypted file exactly as stored. `Range` requests are supported (RFC 9110, section 14), so an
         *     interrupted download can be resumed.
         *
         *     Layout: a 32-byte header (`EBSX`, version byte 1, 8 bytes key id, 19 bytes nonce prefix), then
         *     XChaCha20-Poly1305 chunks of 65,536 bytes of plaintext in the STREAM construction. The client package's
         *     `openExport` decrypts it.
         *
         *     The keys that open the file are in the user's keyring. The service may be gone when the file is needed, and the
         *     keyring with it. So a client that saves the file for a person adds the keyring to it, as the client package's
         *     `createBackup` does ("A saved backup" in the guide on encryption).
         */
        get: operations["downloadExport"];
        put?: never;
        post?: never;
        /**
         * Delete an export
         * @description Removes the export and its file from storage, even while it is being made.
         */
        delete: operations["deleteExport"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account/export-key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the export key
         * @description Returns the user's encryption key for backup files. It opens files but no bookmarks: inside a file, each bookmark is still the client's ciphertext. A key that the service can no longer decrypt counts as never set: the service replaces it with a generated one.
         */
        get: operations["getExportKey"];
        /**
         * Replace the export key
         * @description Affects later exports only. The client package derives the key from the user's own master key, so that the passphrase is enough to open backups. Replacing a key that was set before requires a session that began with a sign-in within the last 10 minutes. Any session may set the first key, or set the same key again.
         */
        put: operations["setExportKey"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account/keyring": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the keyring
         * @description Returns the user's wrapped keys, which the server cannot open.
         */
        get: operations["getKeyring"];
        /**
         * Store the keyring
         * @description Stores the keyring if `revision` is the stored revision plus 1 (the first is 1), so that two devices cannot overwrite each other's keyring unnoticed. A `revision` above 1 requires a session that began with a sign-in within the last 10 minutes. The replaced keyring is kept for 30 days, as versions of bookmarks are, and can be [restored](#operation/restoreKeyring). Anything that is not a `KeyringContent` gets 400.
         */
        put: operations["setKeyring"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account/keyring/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the earlier keyrings
         * @description Lists the keyrings that were replaced in the last 30 days (the time for which versions of bookmarks are kept), the last replaced first, and at most 20. The `key_id` of a keyring names its master key. To see the other contents of a keyring, restore it.
         */
        get: operations["listKeyringVersions"];
        put?: never;
        post?: never;
        /**
         * Erase the earlier keyrings
         * @description Erases at once all keyrings that were replaced. Otherwise, somebody who knows the passphrase or the recovery code of an earlier keyring could restore and open it. Succeeds again if there are none. The session must have begun with a sign-in within the last 10 minutes.
         */
        delete: operations["eraseKeyringVersions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account/keyring/versions/{id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an earlier keyring. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore an earlier keyring
         * @description Makes an earlier keyring the current one, under a new revision, which is the stored revision plus 1. The keyring that it replaces becomes an earlier one, so the restore can be undone, too. If the response was lost, the same call succeeds again and changes nothing, as long as no other keyring was stored since. If the keys were rotated after this keyring was replaced (a later one has another `key_id`), it opens only what was encrypted before the rotation. The session must have begun with a sign-in within the last 10 minutes.
         */
        post: operations["restoreKeyring"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account/pairings/{id}/reservation": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The pairing's id, which the first device derives. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reserve a pairing
         * @description A device that has scanned the code, and on which nobody is signed in yet, calls this operation. The first message of the pairing can then be read for 10 minutes from now, because a sign-in may take that long. A pairing is reserved once. Reserving it again changes nothing. Only somebody who has scanned the code learns of the pairing, because the id is derived from the code.
         */
        post: operations["reservePairing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account/pairings/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The pairing's id, which the first device derives. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        /**
         * Get the last message of a pairing
         * @description Returns the last message that one device sent to the other. Only a session of the same user finds it, for two minutes, or 10 once the pairing is reserved.
         */
        get: operations["getPairing"];
        /**
         * Send a message to a pairing
         * @description In a pairing, one device of a user gives the vault's keys to another. The two take turns to send each other a few messages, which are encrypted under a code that one device shows and the other scans. The server only passes them on. Each message replaces the previous one. The last one can be read for two minutes, and the first one for 10 minutes after a device has reserved the pairing. It is erased within two more minutes, or at once by endPairing. `step` 0 begins a pairing, and replaces any other pairing of the user. Each further `step` must be the stored one plus 1. So if two devices have scanned the same code, one of them is refused. A message whose response was lost can be sent again.
         */
        put: operations["sendToPairing"];
        post?: never;
        /**
         * End a pairing
         * @description Erases the last message of a pairing, once it is complete or if either device cancels it. The other device then gets 404. Ending a pairing that is over, or never existed, changes nothing.
         */
        delete: operations["endPairing"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the sessions
         * @description Lists where the user is signed in, the newest sign-in first. A session begins with one sign-in. All cookies that follow from that sign-in belong to it.
         */
        get: operations["listSessions"];
        put?: never;
        post?: never;
        /**
         * Sign out everywhere else
         * @description Ends all other sessions of the user, on every instance at once, as [logout](#operation/logout) would there. Succeeds again if there are none. The session must have begun with a sign-in within the last 10 minutes.
         */
        delete: operations["endOtherSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Sign out a session
         * @description Ends a session of the user, on every instance at once, as [logout](#operation/logout) would there. Its next request, and any write whose body is still arriving, are refused. Its open sockets are closed with 4401, and responses that are being sent to it are cut off. It may be the session of this request, but the cookies are not cleared.
         */
        delete: operations["endSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account/devices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the devices
         * @description Lists the devices that have pulled or pushed with `X-Device-ID` in the last 400 days, by their ids. A session may have several devices, and a device several sessions.
         */
        get: operations["listDevices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account/devices/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The device's id, percent-encoded. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        get?: never;
        /**
         * Rename a device
         * @description Stores the name that the user gives a device, and replaces an earlier one. It is encrypted, so only the user's devices read it. It is deleted when the device is removed from the list.
         */
        put: operations["renameDevice"];
        post?: never;
        /**
         * Forget a device
         * @description Forgets how far a device has pulled, and removes it from the list. It is not signed out: if it pulls or pushes again, it is listed again. Its bookmarks stay.
         */
        delete: operations["forgetDevice"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the account
         * @description Returns the user, how much they store, and every limit that applies to them.
         */
        get: operations["getAccount"];
        put?: never;
        post?: never;
        /**
         * Delete the account
         * @description Deletes the account for good. From the response on, nobody can sign in to it, and signing in with the same identity
         *     makes a new, empty account. All sessions end, on every instance at once, as by [logout](#operation/logout). Then
         *     records, versions, keys, devices and export files are erased, which takes minutes for a large account. If a
         *     failure interrupts the erasure, it continues within the hour. Two hours later, the service does not even have
         *     the user's id any more, except in its log and in earlier backups.
         *
         *     The session must have begun with a sign-in within the last 10 minutes. Otherwise, start a sign-in with `prompt`
         *     `login`.
         */
        delete: operations["deleteAccount"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the health report
         * @description Always returns 200. See `status`. The database is probed every 2 s, the other components every 30 s.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description 1 to 128 printable ASCII characters, but neither `.` nor `..`, because neither can be a part of a URL's path. Prefer letters, digits, `-`, `_`, `.` and `~`, which a path does not have to encode (RFC 3986, section 2.3).
         * @example 0199f6a0-1c00-7000-8000-000000000002
         */
        Id: string;
        /**
         * @description The encrypted bookmark, as printable ASCII text. Opaque to the server, which never decodes it; the client package writes Base64.
         * @example AWVuY3J5cHRlZA==
         */
        EncryptedData: string;
        /**
         * @description SHA-256 of the plaintext that was encrypted. Opaque to the server; the client package writes lower-case hex.
         * @example e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
         */
        DataHash: string;
        /**
         * Format: int64
         * @description Unix time in ms.
         * @example 1763700000000
         */
        Milliseconds: number;
        /**
         * Format: int64
         * @description Unix time in **seconds**.
         * @example 1763700000
         */
        Seconds: number;
        /** @description An error. */
        Error: {
            /**
             * @description A human-readable sentence; those listed in this contract are exact.
             * @example Bookmark not found
             */
            error: string;
            /**
             * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
             * @example The database did not answer
             */
            details?: string;
        };
        /** @description It is done. */
        Done: {
            /**
             * @description Always true.
             * @example true
             */
            success: boolean;
            /**
             * @description As in getHealth. Shows that the service itself responded, and not, for example, a proxy's login page.
             * @example encrypted-bookmark-sync
             * @constant
             */
            name: "encrypted-bookmark-sync";
        };
        /** @description Options for signing in. */
        LoginRequest: {
            /**
             * @description The URL to go to after login. A path on the service's (or web app's) origin, a URL whose origin is on the CORS list, or one on the loopback interface that begins with `http://127.0.0.1:PORT` or `http://[::1]:PORT`. The identity provider gets it as `state`. Some (Authelia, Ory Hydra) refuse fewer than 8 characters, so send a short path with its origin.
             * @default /
             * @example /bookmarks
             */
            returnTo?: string;
            prompt?: components["schemas"]["LoginPrompt"];
        };
        /**
         * @description Makes the identity provider ask the user to sign in again, or to choose an account. For a program, it is always `login`. If the provider says that it last asked more than 10 minutes ago, a sign-in with `login` fails with `Identity provider did not ask you to sign in`.
         * @example select_account
         * @enum {string}
         */
        LoginPrompt: "login" | "select_account";
        /** @description Where to send the browser. */
        LoginResponse: {
            /**
             * @description The identity provider's URL. Send the browser there.
             * @example https://id.example/authorize?client_id=bookmarks
             */
            authorizationUrl: string;
        };
        /** @description The signed-in user. Claims that the identity provider does not supply are empty. */
        SessionUser: {
            /**
             * @description The user's id
             * @example 0199f6a0-1c00-7000-8000-000000000001
             */
            user_id: string;
            /**
             * @description E-mail address, or empty.
             * @example ada@example.org
             */
            email: string;
            /**
             * @description Display name, or empty.
             * @example Ada Lovelace
             */
            name: string;
            /**
             * @description URL of a picture, or empty.
             * @example https://example.org/ada.png
             */
            avatar_url: string;
            /**
             * @description Whether the identity provider has verified the address.
             * @example true
             */
            email_verified: boolean;
        };
        /** @description A valid session. */
        Session: {
            /**
             * @description Always true.
             * @example true
             */
            authenticated: boolean;
            user: components["schemas"]["SessionUser"];
            /**
             * @description Whether the user has a keyring. The user's first device finds none, and makes one.
             * @example true
             */
            has_keyring: boolean;
            authenticated_at: components["schemas"]["AuthenticatedAt"];
            /**
             * Format: int64
             * @description For how many seconds this sign-in stays recent, by the service's clock; 0 if it is not recent. Until then, no operation returns 403 `Sign in again`. If a person needs longer to type or to print something, start a sign-in with `prompt` `login` first. The clock of the device does not matter.
             * @example 540
             */
            recent_sign_in_seconds_left: number;
        };
        /**
         * Format: int64
         * @description When the identity provider last asked the user to sign in, if it reports that; never later than the sign-in (Unix ms). 0 if it is not known and the sign-in counts as old. Operations that require a recent sign-in check this time.
         * @example 1763700000000
         */
        AuthenticatedAt: number;
        /** @description No valid session. */
        NoSession: {
            /**
             * @description Always false.
             * @example false
             */
            authenticated: boolean;
        };
        /** @description The encrypted content of a bookmark. */
        BookmarkContent: {
            encrypted_data: components["schemas"]["EncryptedData"];
            data_hash: components["schemas"]["DataHash"];
        };
        /** @description A bookmark to create. */
        BookmarkToCreate: {
            id?: components["schemas"]["Id"];
            encrypted_data: components["schemas"]["EncryptedData"];
            data_hash: components["schemas"]["DataHash"];
        };
        /** @description A bookmark record as stored by the server. */
        Bookmark: {
            /**
             * @description Bookmark identifier.
             * @example 0199f6a0-1c00-7000-8000-000000000002
             */
            id: string;
            /**
             * @description The encrypted bookmark, as its client has written it (Base64, from the client package).
             * @example AWVuY3J5cHRlZA==
             */
            encrypted_data: string;
            /**
             * @description SHA-256 hash of the plaintext data.
             * @example e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
             */
            data_hash: string;
            /**
             * Format: int64
             * @description When the bookmark was created: the time of its first change, or the import's `date_added` (Unix ms). Never changes.
             * @example 1763700000000
             */
            created_at: number;
            /**
             * Format: int64
             * @description Time of the stored change (Unix ms).
             * @example 1763700000000
             */
            updated_at: number;
            /**
             * Format: int64
             * @description Null while live; set on soft delete (Unix ms).
             * @example null
             */
            deleted_at: number | null;
        };
        /** @description One page of bookmarks. */
        BookmarkPage: {
            /** @description The records on this page. */
            data: components["schemas"]["Bookmark"][];
            meta: components["schemas"]["PageMeta"];
        };
        /** @description Position of a page in the list. */
        PageMeta: {
            /**
             * Format: int32
             * @description Number of live bookmarks.
             * @example 250
             */
            total: number;
            /**
             * Format: int32
             * @description This page's number.
             * @example 1
             */
            page: number;
            /**
             * Format: int32
             * @description Bookmarks per page.
             * @example 100
             */
            limit: number;
        };
        /**
         * VersionReason
         * @description Why a version is not current. `superseded`: the device of the change that replaced it had seen or made it. `overwritten`: that device had not seen it. `rejected`: it lost when it arrived.
         * @example superseded
         * @enum {string}
         */
        VersionReason: "superseded" | "overwritten" | "rejected";
        /**
         * Version
         * @description A version of an entity that was replaced, or that lost when it arrived.
         */
        Version: {
            /**
             * @description Event id of the change that made it. Its client has chosen it, so other versions may have the same.
             * @example 0199f6a0-1c00-7000-8000-000000000003
             */
            version_id: string;
            entity_type: components["schemas"]["EntityType"];
            /**
             * @description The entity.
             * @example 0199f6a0-1c00-7000-8000-000000000002
             */
            entity_id: string;
            operation: components["schemas"]["Operation"];
            /**
             * Format: int64
             * @description When it was made (Unix ms, the device's clock).
             * @example 1763700000000
             */
            timestamp: number;
            /**
             * @description Device that made it.
             * @example laptop-7f3a
             */
            device_id: string;
            /**
             * @description Encrypted data; missing for a delete.
             * @example AWVuY3J5cHRlZA==
             */
            encrypted_data?: string;
            /**
             * @description Integrity hash; missing if the entity has only deletes without one.
             * @example e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
             */
            data_hash?: string;
            /**
             * Format: int64
             * @description When it became the current version (Unix ms, the service's clock); null if it never did.
             * @example 1763700000000
             */
            began: number | null;
            /**
             * Format: int64
             * @description When the change that replaced it, or to which it lost, was stored (Unix ms, the service's clock).
             * @example 1763700005000
             */
            ended: number;
            reason: components["schemas"]["VersionReason"];
            /**
             * @description Event id of that change.
             * @example 0199f6a0-1c00-7000-8000-000000000007
             */
            replaced_by: string;
            /**
             * Format: int64
             * @description When its conflict was settled (Unix ms); null if it is open or there was none.
             * @example null
             */
            settled_at: number | null;
            /**
             * Format: int64
             * @description It is erased within about an hour after this time (Unix ms). It is erased earlier if its room is needed, or if other versions of the record are kept in its place.
             * @example 1766292005000
             */
            erased_at: number;
        };
        /** @description One page of a bookmark's versions. */
        VersionPage: {
            /** @description Newest first. */
            versions: components["schemas"]["Version"][];
            next: components["schemas"]["NextPage"];
        };
        /** @description One page of open conflicts. */
        ConflictPage: {
            /** @description Newest first. */
            conflicts: components["schemas"]["Version"][];
            next: components["schemas"]["NextPage"];
        };
        /**
         * @description The `after` of the next page; null if this is the last.
         * @example 1763700000000
         */
        NextPage: string | null;
        /** @description A deleted bookmark that can be restored. */
        DeletedBookmark: {
            /**
             * @description Bookmark identifier.
             * @example 0199f6a0-1c00-7000-8000-000000000002
             */
            id: string;
            /**
             * @description The encrypted bookmark before it was deleted.
             * @example AWVuY3J5cHRlZA==
             */
            encrypted_data: string;
            /**
             * @description SHA-256 hash of the plaintext data.
             * @example e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
             */
            data_hash: string;
            /**
             * Format: int64
             * @description When the bookmark was created (Unix ms).
             * @example 1763700000000
             */
            created_at: number;
            /**
             * Format: int64
             * @description Time of the stored change (Unix ms).
             * @example 1763700000000
             */
            updated_at: number;
            /**
             * Format: int64
             * @description When it was deleted (Unix ms).
             * @example 1763700000000
             */
            deleted_at: number;
            /**
             * Format: int64
             * @description Its ciphertext is erased within about an hour after this time (Unix ms); earlier if its room is needed.
             * @example 1766292000000
             */
            erased_at: number;
        };
        /** @description One page of deleted bookmarks. */
        TrashPage: {
            /** @description The last deleted first. */
            bookmarks: components["schemas"]["DeletedBookmark"][];
            next: components["schemas"]["NextPage"];
        };
        /** @description Which version to restore. */
        RestoreRequest: {
            version_id?: components["schemas"]["Id"];
        };
        /** @description The time to go back to. */
        RewindRequest: {
            to: components["schemas"]["Milliseconds"];
            /**
             * @description True to count without changing anything.
             * @example true
             */
            dry_run: boolean;
            /**
             * @description The `next` of the previous request. The rewind keeps the time with which it began.
             * @example 1763699990000/bookmark/0199f6a0-1c00-7000-8000-000000000002
             */
            cursor?: string;
        };
        /** @description The outcome for the entities that one request looked at. With `dry_run`, the outcome of a rewind. */
        RewindResponse: {
            /**
             * Format: int32
             * @description Entities that have their content as of `to` again.
             * @example 120
             */
            restored: number;
            /**
             * Format: int32
             * @description Entities that were made after `to`, or that were already deleted at `to`.
             * @example 3
             */
            deleted: number;
            /**
             * Format: int32
             * @description Entities that are as they were at `to`, or whose ciphertext is still the same.
             * @example 9876
             */
            unchanged: number;
            /**
             * Format: int32
             * @description Entities whose version as of `to` is not kept any more. They stay as they are, even if older versions are kept.
             * @example 1
             */
            beyond_retention: number;
            /**
             * @description The `cursor` of the next request, to be sent as it is; null if this was the last.
             * @example 1763699990000/bookmark/0199f6a0-1c00-7000-8000-000000000002
             */
            next: string | null;
        };
        /**
         * EntityType
         * @description Kind of entity.
         * @example bookmark
         * @enum {string}
         */
        EntityType: "bookmark" | "history" | "group";
        /**
         * Operation
         * @description What the change does. Create and update are treated the same.
         * @example update
         * @enum {string}
         */
        Operation: "create" | "update" | "delete";
        /**
         * Change
         * @description A change made by a device. The server sets `conflict_resolved` and `resolution_strategy` of a sync event; in a change, they may be present, and are ignored. A create or an update needs `encrypted_data` and `data_hash`; a delete needs neither.
         */
        Change: {
            id: components["schemas"]["Id"];
            /**
             * @description The user who made the change. The default is the session's user; another user's change is rejected.
             * @example 0199f6a0-1c00-7000-8000-000000000001
             */
            user_id?: string;
            entity_type: components["schemas"]["EntityType"];
            entity_id: components["schemas"]["Id"];
            operation: components["schemas"]["Operation"];
            timestamp: components["schemas"]["Milliseconds"];
            device_id: components["schemas"]["Id"];
            encrypted_data?: components["schemas"]["EncryptedData"];
            data_hash?: components["schemas"]["DataHash"];
            /**
             * Format: int64
             * @description The device's cursor (Unix ms) when the edit was made. A change that overwrites another device's version with a greater sequence number is marked as a resolved conflict. The default is the cursor that the last pull of `device_id` returned, or 0 if that device has never pulled. Above the user's last sequence number it counts as 0.
             * @example 1763699990000
             */
            base?: number;
            /**
             * IfUnseen
             * @description What the service does with a change that would overwrite another device's version with a sequence number above `base`. `overwrite`, the default, stores it. `reject` reports it in `conflicts` and does not store it, so that its device can pull that version first and merge the two. A change that is rejected only for this reason is not among the conflicts of `listConflicts`.
             * @example reject
             * @enum {string}
             */
            if_unseen?: "overwrite" | "reject";
            /**
             * Format: int64
             * @description The device's cursor (Unix ms) when the edit was last merged with the versions of other devices. With `if_unseen: reject`, the change overwrites a version above `base` if its sequence number is not above `merged_up_to`. If the stored version is later, the change is rejected, so that its device can merge that version, too. The default is `base`. Above the user's last sequence number it counts as 0.
             * @example 1763699995000
             */
            merged_up_to?: number;
            /**
             * @description The `id` of the newest version of the entity that the device knew, null if it knew none. Another version of `device_id` was made by a copy of the device's store, and counts as another device's. Without `made_on`, the device counts as having seen all versions of its own id.
             * @example 0199f6a0-1c00-7000-8000-000000000003
             */
            made_on?: string | null;
            /**
             * @description For a version that the service has lost, and that a device sends again: the `overwritten` that the service had sent with it. Without it, the devices named there would not learn that their versions were replaced.
             * @example [
             *       {
             *         "device_id": "phone-2c",
             *         "timestamp": 1763699999000
             *       }
             *     ]
             */
            overwritten?: components["schemas"]["OverwrittenVersion"][];
            recovered?: components["schemas"]["RecoveredVersion"];
        };
        /**
         * SyncEvent
         * @description The newest change of an entity, as stored by the server.
         */
        SyncEvent: {
            /**
             * @description Unique sync event id.
             * @example 0199f6a0-1c00-7000-8000-000000000003
             */
            id: string;
            /**
             * @description User who made the change.
             * @example 0199f6a0-1c00-7000-8000-000000000001
             */
            user_id: string;
            entity_type: components["schemas"]["EntityType"];
            /**
             * @description Affected entity id.
             * @example 0199f6a0-1c00-7000-8000-000000000002
             */
            entity_id: string;
            operation: components["schemas"]["Operation"];
            /**
             * Format: int64
             * @description When the change occurred (Unix ms, the device's clock).
             * @example 1763700000000
             */
            timestamp: number;
            /**
             * @description Device that made the change.
             * @example laptop-7f3a
             */
            device_id: string;
            /**
             * @description Encrypted data; present for create and update.
             * @example AWVuY3J5cHRlZA==
             */
            encrypted_data?: string;
            /**
             * @description Integrity hash; missing if the entity has only deletes without one.
             * @example e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
             */
            data_hash?: string;
            /**
             * @description Whether this event resolved a conflict.
             * @example true
             */
            conflict_resolved: boolean;
            /**
             * @description How the conflict was resolved: `device_id` if the timestamps were equal, `last_write_wins` if the change overwrote a version that its device had not seen; null if there was no conflict.
             * @example last_write_wins
             */
            resolution_strategy: string | null;
            /**
             * @description Versions of the entity that this change, or an earlier one, replaced although its device had not seen them: the last version of each device, newest last. A device that finds its own last version here knows that its edit was overwritten, and can still merge it. Absent if there are none. The oldest are left out of a list of more than 1,700 characters, which device ids of more than 36 characters can cause.
             * @example [
             *       {
             *         "device_id": "phone-2c",
             *         "timestamp": 1763699999000
             *       }
             *     ]
             */
            overwritten?: components["schemas"]["OverwrittenVersion"][];
            recovered?: components["schemas"]["RecoveredVersion"];
        };
        /**
         * RecoveredVersion
         * @description A version that the service had lost, and that a device has sent again: this change, or one that it was made on. A device whose last version in that `epoch` is older knows that it was replaced there, and not only now.
         */
        RecoveredVersion: {
            epoch: components["schemas"]["LostEpoch"];
            timestamp: components["schemas"]["Milliseconds"];
        };
        /**
         * @description The `epoch` in which the service had stored the version.
         * @example 0199f6a0-1c00-7000-8000-000000000005
         */
        LostEpoch: string;
        /**
         * OverwrittenVersion
         * @description A version that was replaced without having been seen, by the device that made it and its time.
         */
        OverwrittenVersion: {
            device_id: components["schemas"]["Id"];
            timestamp: components["schemas"]["Milliseconds"];
            /**
             * @description True if the change that replaced it is a create, or if its device had seen no version of the entity, or had not seen an earlier version by another device, either. Then content from before this version may be lost, too. Absent otherwise.
             * @example true
             */
            made_on_unseen?: boolean;
        };
        /** @description A change that was not kept. */
        ConflictInfo: {
            /**
             * @description Entity whose change lost.
             * @example 0199f6a0-1c00-7000-8000-000000000002
             */
            entity_id: string;
            /**
             * @description Names the rule and the winner's time and device.
             * @example Last write wins: the version of 1763700000123 by phone-2c is newer
             */
            reason: string;
            resolution: components["schemas"]["Resolution"];
            /**
             * @description Id of the change that lost.
             * @example 0199f6a0-1c00-7000-8000-000000000003
             */
            event_id: string;
        };
        /**
         * Format: uuid
         * @description Names the history that the service's cursors belong to. It changes only when the operator has restored a backup, or a failover has lost changes. A client that finds a new epoch pulls from 0 and pushes again what the service has lost.
         * @example 0199f6a0-1c00-7000-8000-000000000006
         */
        Epoch: string;
        /**
         * @description The outcome of a change that lost.
         * @example rejected
         * @enum {string}
         */
        Resolution: "rejected";
        /** @description Where to continue from. */
        PullRequest: {
            /**
             * Format: int64
             * @description The cursor (Unix ms); changes after it are returned. Above the user's last sequence number it counts as 0.
             * @default 0
             * @example 1763700000000
             */
            since?: number;
            /**
             * Format: int32
             * @description Changes per page.
             * @default 1000
             * @example 1000
             */
            limit?: number;
            /** @description The entity types to return. Without it, all types are returned. */
            entity_types?: components["schemas"]["EntityType"][];
        };
        /** @description One page of changes. */
        PullResponse: {
            /** @description In order of sequence numbers. */
            changes: components["schemas"]["SyncEvent"][];
            /**
             * Format: int64
             * @description The cursor (Unix ms) to send as `since` next time.
             * @example 1763700000000
             */
            last_sync_timestamp: number;
            /**
             * @description Whether there are more changes after this page.
             * @example false
             */
            has_more: boolean;
            epoch: components["schemas"]["Epoch"];
        };
        /** @description Changes to apply. */
        PushRequest: {
            /** @description The changes, in any order. */
            changes: components["schemas"]["Change"][];
        };
        /** @description The outcome of a push. */
        PushResponse: {
            /**
             * Format: int32
             * @description Length of `accepted_ids`.
             * @example 1
             */
            accepted: number;
            /** @description Event ids of the accepted changes, in request order. */
            accepted_ids: string[];
            /** @description The changes that lost, in request order. */
            conflicts: components["schemas"]["ConflictInfo"][];
            /**
             * Format: int64
             * @description The server's time (Unix ms), for clients to measure their clock skew. Not a cursor.
             * @example 1763700000000
             */
            timestamp: number;
            /**
             * Format: int64
             * @description The user's last sequence number (Unix ms) before this push. A device with this cursor may continue from `last_sync_timestamp` without pulling, because only this push lies in between. Absent without `X-Device-ID`, if nothing was stored, and if the device must pull: because a change is in `conflicts`, or an entity has `overwritten`.
             * @example 1763699999000
             */
            previous_sync_timestamp?: number;
            /**
             * Format: int64
             * @description The user's last sequence number (Unix ms) after this push. Absent if `previous_sync_timestamp` is.
             * @example 1763700000001
             */
            last_sync_timestamp?: number;
            epoch: components["schemas"]["Epoch"];
        };
        /** @description A bookmark to import. */
        ImportBookmark: {
            id: components["schemas"]["Id"];
            encrypted_data: components["schemas"]["EncryptedData"];
            data_hash: components["schemas"]["DataHash"];
            date_added?: components["schemas"]["Seconds"];
            date_modified?: components["schemas"]["Seconds"];
        };
        /** @description Bookmarks to import. */
        ImportRequest: {
            /** @description The bookmarks. A missing or invalid id makes the whole request fail. Any other fault is reported only for that bookmark. */
            bookmarks: components["schemas"]["ImportBookmark"][];
        };
        /** @description A bookmark that was not imported. */
        ImportError: {
            /**
             * @description The element's id.
             * @example 0199f6a0-1c00-7000-8000-000000000002
             */
            id: string;
            /**
             * @description Why it was not imported.
             * @example Bookmark already exists
             */
            error: string;
        };
        /** @description The outcome of an import. */
        ImportResponse: {
            /**
             * Format: int32
             * @description Length of `imported_ids`.
             * @example 1
             */
            imported: number;
            /** @description Ids of the imported bookmarks, in request order. */
            imported_ids: string[];
            /** @description The bookmarks that were not imported, in request order. */
            errors: components["schemas"]["ImportError"][];
            /**
             * Format: int64
             * @description The server's time (Unix ms).
             * @example 1763700000000
             */
            timestamp: number;
            epoch: components["schemas"]["Epoch"];
        };
        /** @description Sync status of a device. */
        SyncStatus: {
            /**
             * @description The user.
             * @example 0199f6a0-1c00-7000-8000-000000000001
             */
            user_id: string;
            /**
             * Format: int64
             * @description Time of the last pull or push (Unix ms), 0 if none.
             * @example 1763700000000
             */
            last_sync: number;
            /**
             * Format: int32
             * @description Changes by other devices after the cursor, among the user's 10,000 newest of any type.
             * @example 3
             */
            pending_changes: number;
            /**
             * Format: int32
             * @description Conflicts that are not settled yet, as in `listConflicts`; 10000 means 10000 or more.
             * @example 0
             */
            conflict_count: number;
            /**
             * Format: int32
             * @description Live bookmarks.
             * @example 250
             */
            total_bookmarks: number;
            epoch: components["schemas"]["Epoch"];
            /**
             * @description A checksum of all live records, of any type or of those in `entity_types`: the sum modulo 2^128, in hexadecimal, of the first 32 digits of each `data_hash`. A `data_hash` that does not begin with 32 hexadecimal digits counts as its SHA-256. A device that has pulled everything, and computes another digest, should pull from 0.
             * @example 6cc3f5a1d0b94e27a8f1c2d3e4b5a697
             */
            digest: string;
        };
        /** @description A backup file, finished or being made. */
        Export: {
            /**
             * @description Export identifier.
             * @example 0199f6a0-1c00-7000-8000-000000000004
             */
            id: string;
            /**
             * Format: int64
             * @description When it was requested (Unix ms).
             * @example 1763700000000
             */
            created_at: number;
            status: components["schemas"]["ExportStatus"];
            /**
             * Format: int64
             * @description File size in bytes; null until known.
             * @example null
             */
            size_bytes: number | null;
            /**
             * Format: int32
             * @description Bookmarks in the export; null until known.
             * @example null
             */
            bookmark_count: number | null;
            /**
             * Format: int64
             * @description When the file expires (Unix ms); null until known.
             * @example null
             */
            expires_at: number | null;
        };
        /**
         * @description How far an export has got.
         * @example processing
         * @enum {string}
         */
        ExportStatus: "pending" | "processing" | "completed" | "failed";
        /** @description The user's exports. */
        ExportList: {
            /** @description Newest first. */
            exports: components["schemas"]["Export"][];
        };
        /** @description The key for backup files. */
        ExportKey: {
            /**
             * @description 32 bytes in base64.
             * @example AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=
             */
            key: string;
        };
        /** @description The user's wrapped keys. */
        Keyring: {
            /**
             * @description JSON of a `KeyringContent`. It contains the wrapped master key, which the server cannot open.
             * @example {"format":"ebs/keyring/1","passphrase":{"kdf":"argon2id","memory_kib":65536,"iterations":3,"parallelism":1,"salt":"Lj/Od8+MTHR4qW0gfBw5cQ==","nonce":"EzYWyvCjUE/1R7gLWm4H48+0opbqhD36","wrapped_key":"Z9kquab75rhYW2cSewkHHehP8A3YkKW60xFlyQgLJoWiS8871nJfhrYQTcWThPsL"},"recovery":{"kdf":"hkdf-sha256","nonce":"360IBgNmQRevxizZd8NB6KmGOj7DSadv","wrapped_key":"MlApQvDEHmm7m9G+RlauIyvJe07LShwPanRfYS4UN8R0dXDiRT3jyzMW6/CkfYzM"}}
             */
            keyring: string;
            /**
             * Format: int64
             * @description The keyring's revision. To store a keyring, send the stored revision plus 1; the first is 1.
             * @example 1
             */
            revision: number;
        };
        /** @description The text of a keyring, parsed as JSON. Bytes are in base64. `ebs/keyring/2` has `key_id` and `older`, and `ebs/keyring/1` needs neither. Clients of 3.0 and later write `mac`. Other fields are kept as they are. */
        KeyringContent: {
            /**
             * KeyringFormat
             * @description The format `ebs/keyring/2` is for keys that were rotated.
             * @example ebs/keyring/1
             * @enum {string}
             */
            format: "ebs/keyring/1" | "ebs/keyring/2";
            /**
             * @description 8 bytes, by which devices recognize the newest master key.
             * @example n0a0t/rIPhE=
             */
            key_id?: string;
            passphrase: components["schemas"]["PassphraseWrap"];
            recovery: components["schemas"]["RecoveryWrap"];
            older?: components["schemas"]["OlderWrap"];
            /**
             * @description HMAC-SHA-256 over the other fields, under a key that is derived from the newest master key. By it, a device that has the keys can check that the keyring was made with them.
             * @example wzYkOELAtuFN1pD2yV5S8gp/Xuj7taka8iBszXZp0xE=
             */
            mac?: string;
        };
        /** @description The newest master key, wrapped under the passphrase. */
        PassphraseWrap: {
            /**
             * @description How the wrapping key is derived.
             * @example argon2id
             * @constant
             */
            kdf: "argon2id";
            /**
             * Format: int32
             * @description Memory of Argon2id in KiB.
             * @example 65536
             */
            memory_kib: number;
            /**
             * Format: int32
             * @description Iterations of Argon2id.
             * @example 3
             */
            iterations: number;
            /**
             * Format: int32
             * @description Lanes of Argon2id.
             * @example 1
             */
            parallelism: number;
            /**
             * @description 16 bytes.
             * @example Lj/Od8+MTHR4qW0gfBw5cQ==
             */
            salt: string;
            /**
             * @description 24 bytes.
             * @example EzYWyvCjUE/1R7gLWm4H48+0opbqhD36
             */
            nonce: string;
            /**
             * @description 48 bytes.
             * @example Z9kquab75rhYW2cSewkHHehP8A3YkKW60xFlyQgLJoWiS8871nJfhrYQTcWThPsL
             */
            wrapped_key: string;
        };
        /** @description The newest master key, wrapped under the recovery code. */
        RecoveryWrap: {
            /**
             * @description How the wrapping key is derived.
             * @example hkdf-sha256
             * @constant
             */
            kdf: "hkdf-sha256";
            /**
             * @description 24 bytes.
             * @example 360IBgNmQRevxizZd8NB6KmGOj7DSadv
             */
            nonce: string;
            /**
             * @description 48 bytes.
             * @example MlApQvDEHmm7m9G+RlauIyvJe07LShwPanRfYS4UN8R0dXDiRT3jyzMW6/CkfYzM
             */
            wrapped_key: string;
        };
        /** @description The master keys before the newest, wrapped together under it. */
        OlderWrap: {
            /**
             * @description How the wrapping key is derived.
             * @example hkdf-sha256
             * @constant
             */
            kdf: "hkdf-sha256";
            /**
             * @description 24 bytes.
             * @example 360IBgNmQRevxizZd8NB6KmGOj7DSadv
             */
            nonce: string;
            /**
             * @description 32 bytes for each key, the latest first, and 16 bytes for the authentication tag.
             * @example MlApQvDEHmm7m9G+RlauIyvJe07LShwPanRfYS4UN8R0dXDiRT3jyzMW6/CkfYzM
             */
            wrapped_keys: string;
        };
        /** @description A message from one device to the other. */
        PairingMessage: {
            /**
             * Format: int32
             * @description 0 begins a pairing. Each further one is the step of the message that it answers, plus 1.
             * @example 0
             */
            step: number;
            /**
             * @description The message, which only the other device can decrypt, in base64.
             * @example EzYWyvCjUE/1R7gLWm4H48+0opbqhD36
             */
            message: string;
        };
        /** @description Whose pairing a device reserves. */
        PairingReservation: {
            user_id: components["schemas"]["Id"];
        };
        /** @description The last message of a pairing. */
        Pairing: {
            /**
             * Format: int32
             * @description The step of the message.
             * @example 0
             */
            step: number;
            /**
             * @description The message, which only the other device can decrypt, in base64.
             * @example EzYWyvCjUE/1R7gLWm4H48+0opbqhD36
             */
            message: string;
            /**
             * Format: int64
             * @description The time until which it can be read (Unix ms).
             * @example 1763700120000
             */
            expires_at: number;
            /**
             * @description Whether a device has reserved it by reservePairing.
             * @example false
             */
            reserved: boolean;
        };
        /** @description The keyrings that were replaced. */
        KeyringVersionList: {
            /** @description The last replaced first. */
            versions: components["schemas"]["KeyringVersion"][];
        };
        /** @description A keyring that was replaced. */
        KeyringVersion: {
            id: components["schemas"]["Id"];
            /**
             * Format: int64
             * @description The revision that it had.
             * @example 1
             */
            revision: number;
            /**
             * @description The id of its master key, as in `KeyringContent`; absent for the vault's first. A keyring with another key opens other records.
             * @example PbVGyB7PVNM=
             */
            key_id?: string;
            /**
             * Format: int64
             * @description When it was replaced (Unix ms).
             * @example 1763700000000
             */
            replaced_at: number;
            /**
             * Format: int64
             * @description When it can no longer be restored (Unix ms), and is erased within about an hour. Both come earlier if 20 later ones are kept.
             * @example 1766292000000
             */
            erased_at: number;
        };
        /** @description The user's account. */
        Account: {
            user: components["schemas"]["SessionUser"];
            usage: components["schemas"]["AccountUsage"];
            limits: components["schemas"]["AccountLimits"];
        };
        /** @description How much the user stores. */
        AccountUsage: {
            /**
             * Format: int64
             * @description Bytes of `encrypted_data`, kept versions and deleted records included, and 512 for each record and each version.
             * @example 1048576
             */
            bytes: number;
            /**
             * Format: int64
             * @description Records, including deleted ones. At the limit, a new record takes the place of the oldest deleted record of which nothing is kept.
             * @example 1200
             */
            records: number;
            /**
             * Format: int64
             * @description The bytes of kept versions and deleted records, which can be erased to make room.
             * @example 65536
             */
            version_bytes: number;
            /**
             * Format: int64
             * @description Bytes of the export files.
             * @example 4194304
             */
            export_bytes: number;
            /**
             * Format: int64
             * @description Devices that are known.
             * @example 3
             */
            devices: number;
        };
        /** @description The limits that apply to the user. Operators can set their own values for some. */
        AccountLimits: {
            /**
             * Format: int64
             * @description Bytes of `encrypted_data`, kept versions and deleted records included, and 512 for each record and each version.
             * @example 2147483648
             */
            stored_bytes: number;
            /**
             * Format: int64
             * @description Records, including deleted ones. Beyond it, a new record replaces a deleted one of which nothing can be restored any more. If there is none, it is refused.
             * @example 1000000
             */
            stored_records: number;
            /**
             * Format: int64
             * @description For how many days replaced and deleted versions are kept.
             * @example 30
             */
            version_days: number;
            /**
             * Format: int64
             * @description Kept versions of one record.
             * @example 50
             */
            versions_of_record: number;
            /**
             * Format: int64
             * @description Bytes of export files; a single file may have more.
             * @example 4294967296
             */
            export_bytes: number;
            /**
             * Format: int64
             * @description Exports that a user can have.
             * @example 10
             */
            exports_kept: number;
            /**
             * Format: int64
             * @description Exports that are being made at once.
             * @example 3
             */
            exports_unfinished: number;
            /**
             * Format: int64
             * @description Devices; beyond the limit, the one seen least recently is forgotten.
             * @example 1000
             */
            devices: number;
            /**
             * Format: int64
             * @description Sessions; beyond the limit, the oldest ends.
             * @example 1000
             */
            sessions: number;
            /**
             * Format: int64
             * @description Open sockets on one instance of the service.
             * @example 256
             */
            sockets_per_instance: number;
            /**
             * Format: int64
             * @description Requests and socket messages in a minute on one instance of the service.
             * @example 1200
             */
            requests_per_minute: number;
            /**
             * Format: int64
             * @description Changes of a pull.
             * @example 10000
             */
            pull_changes: number;
            /**
             * Format: int64
             * @description Changes of a push.
             * @example 500
             */
            push_changes: number;
            /**
             * Format: int64
             * @description Bookmarks of an import.
             * @example 500
             */
            import_bookmarks: number;
            /**
             * Format: int64
             * @description Bytes of the body of a push or an import.
             * @example 4194304
             */
            batch_body_bytes: number;
            /**
             * Format: int64
             * @description Bytes of any other body that needs a session.
             * @example 1048576
             */
            body_bytes: number;
            /**
             * Format: int64
             * @description Bytes of one `encrypted_data`.
             * @example 262144
             */
            encrypted_data_bytes: number;
            /**
             * Format: int64
             * @description Bytes of the keyring.
             * @example 16384
             */
            keyring_bytes: number;
        };
        /** @description A session, which begins with one sign-in. */
        AccountSession: {
            /**
             * @description Session identifier.
             * @example 0199f6a0-1c00-7000-8000-000000000007
             */
            id: string;
            /**
             * Format: int64
             * @description When the user signed in (Unix ms).
             * @example 1763700000000
             */
            created_at: number;
            authenticated_at: components["schemas"]["AuthenticatedAt"];
            /**
             * Format: int64
             * @description The hour of its last request (Unix ms, a multiple of 3,600,000), stored up to a minute later.
             * @example 1763697600000
             */
            last_used_at: number;
            /**
             * @description The first 200 characters of `User-Agent` at the sign-in, as sent; empty if none was, or if it is not known.
             * @example Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0
             */
            user_agent: string;
            /**
             * @description Whether this request belongs to it.
             * @example true
             */
            current: boolean;
            /**
             * Format: int32
             * @description Its open sockets on the instance that answers; it may have others on other instances.
             * @example 1
             */
            sockets: number;
        };
        /** @description One page of the sessions. */
        SessionPage: {
            /** @description The newest sign-in first. */
            sessions: components["schemas"]["AccountSession"][];
            next: components["schemas"]["NextPage"];
        };
        /** @description A device that has pulled or pushed. */
        Device: {
            /**
             * @description The device's `X-Device-ID`.
             * @example laptop-7f3a
             */
            id: string;
            /**
             * Format: int64
             * @description When it last pulled or pushed (Unix ms), to the minute.
             * @example 1763700000000
             */
            last_seen: number;
            /**
             * Format: int32
             * @description Changes of other devices that it has not pulled yet, among the user's 10,000 newest.
             * @example 2
             */
            pending_changes: number;
            /**
             * @description Whether it made this request.
             * @example true
             */
            current: boolean;
            /**
             * @description The name that the user gave it, as sent; null without one.
             * @example AWVuY3J5cHRlZA==
             */
            encrypted_name: string | null;
        };
        /** @description A device's name. */
        DeviceName: {
            /**
             * EncryptedName
             * @description The name, which only the user's devices can decrypt, in base64; null removes it.
             * @example AWVuY3J5cHRlZA==
             */
            encrypted_name: string | null;
        };
        /** @description One page of the devices. */
        DevicePage: {
            /** @description In the order of their ids, by bytes. */
            devices: components["schemas"]["Device"][];
            next: components["schemas"]["NextPage"];
        };
        /** @description Health of the service. */
        Health: {
            /**
             * @description API package name.
             * @example encrypted-bookmark-sync
             */
            name: string;
            /**
             * @description API version.
             * @example 3.0.0
             */
            version: string;
            environment: components["schemas"]["Environment"];
            status: components["schemas"]["HealthStatus"];
            /**
             * Format: date-time
             * @description ISO 8601 time of the response.
             * @example 2026-11-21T08:00:00.000Z
             */
            timestamp: string;
        };
        /**
         * @description Where the service runs.
         * @example production
         * @enum {string}
         */
        Environment: "development" | "staging" | "production";
        /**
         * @description `healthy`: everything works. `degraded`: some features may not work, because the object store or the identity provider is unreachable, a clock is wrong or has jumped, or a part of the database is damaged. `unhealthy`: most features may not work, because the database cannot be reached, its disk is full or fails, or no notifications arrive from other instances.
         * @example healthy
         * @enum {string}
         */
        HealthStatus: "healthy" | "degraded" | "unhealthy";
        /**
         * @description A bookmark in plaintext, and also a record of the other entity types. Exists only on the client, inside
         *     `encrypted_data`. Edits keep unknown fields.
         *
         *     - `bookmark` (`source` is `bookmarks` or `stars`): a link, a folder or a separator.
         *     - `group` (`source` is `groups`): a tab group has a `title`, a `color` and a `position`, and no `url`. A tab has a `url`,
         *       its group as `parentId`, and a `position` in it.
         *     - `history` (`source` is `history`): one entry for each address (`url`). `dateAdded` is its first visit, `dateVisited`
         *       its last one, and `visits` the last 20 of `visitCount`. `dateModified` is when a person last removed the page
         *       from a browser's history, by the service's clock: all visits of the entry are later. An entry without `url` has
         *       no visits, and apps do not show it.
         */
        PlaintextBookmark: {
            /**
             * @description Unique identifier; equals the record's id.
             * @example 0199f6a0-1c00-7000-8000-000000000002
             */
            id: string;
            /**
             * @description Title.
             * @example MDN Web Docs
             */
            title: string;
            /**
             * @description Address. Folders have none.
             * @example https://developer.mozilla.org/
             */
            url?: string;
            /**
             * @description Parent folder id.
             * @example 0199f6a0-1c00-7000-8000-000000000005
             */
            parentId?: string;
            /**
             * @description ISO 8601.
             * @example 2026-11-21T08:00:00.000Z
             */
            dateAdded?: string;
            /**
             * @description ISO 8601.
             * @example 2026-11-21T08:00:00.000Z
             */
            dateModified?: string;
            /**
             * @description Folder name.
             * @example Web
             */
            folder?: string;
            /**
             * @description Full path.
             * @example Reading/Web
             */
            path?: string;
            /** @description User-defined. */
            tags?: string[];
            /**
             * @description URL or data URI.
             * @example https://developer.mozilla.org/favicon.ico
             */
            favicon?: string;
            /**
             * @description Extracted domain.
             * @example developer.mozilla.org
             */
            domain?: string;
            /**
             * BookmarkSource
             * @description Where the bookmark comes from.
             * @example bookmarks
             * @enum {string}
             */
            source: "bookmarks" | "history" | "groups" | "stars";
            /**
             * @description Repository name (starred repositories).
             * @example kysely
             */
            name?: string;
            /**
             * @description owner/repo form (starred repositories).
             * @example kysely-org/kysely
             */
            full_name?: string;
            /**
             * @description Star count (starred repositories).
             * @example 12000
             */
            stargazers_count?: number;
            /**
             * @description Repository description (starred repositories) or the bookmark's note.
             * @example A type-safe query builder
             */
            description?: string | null;
            /**
             * RepositoryOwner
             * @description Repository owner (starred repositories).
             */
            owner?: {
                /**
                 * @description Account name.
                 * @example kysely-org
                 */
                login?: string;
                /**
                 * @description URL of a picture.
                 * @example https://example.org/kysely.png
                 */
                avatar_url?: string;
            };
            /**
             * @description Order among its siblings (a fractional index; compares by bytes).
             * @example a1
             */
            position?: string;
            /**
             * @description Colour of a tab group: grey, blue, red, yellow, green, pink, purple, cyan or orange. Others are kept.
             * @example blue
             */
            color?: string;
            /**
             * @description Last visit (ISO 8601).
             * @example 2026-11-21T09:30:00.000Z
             */
            dateVisited?: string;
            /** @description The last 20 visits (ISO 8601), newest first. */
            visits?: string[];
            /**
             * @description Number of visits, a whole number.
             * @example 3
             */
            visitCount?: number;
            /**
             * LineBetween
             * @description A `separator` is a line between bookmarks. An entry with neither `url` nor `type` is a folder.
             * @example separator
             * @enum {string}
             */
            type?: "separator";
            /**
             * FileAttributes
             * @description Attributes of a bookmark file that have no field of their own, by lower-case name.
             * @example {
             *       "personal_toolbar_folder": "true"
             *     }
             */
            attributes?: {
                [key: string]: string;
            };
            /**
             * OwnFields
             * @description An app's own fields.
             * @example {
             *       "color": "red"
             *     }
             */
            extra?: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        /** @description An export file after decryption with both keys (`openExport`). */
        OpenedExport: {
            /**
             * @description Version of the layout.
             * @example 1
             */
            version: string;
            /**
             * @description ISO 8601.
             * @example 2026-11-21T08:00:00.000Z
             */
            exported_at: string;
            /**
             * Format: int32
             * @description Length of `bookmarks`.
             * @example 1
             */
            bookmark_count: number;
            /** @description The bookmarks in plaintext. */
            bookmarks: components["schemas"]["PlaintextBookmark"][];
        };
    };
    responses: {
        /** @description The request is malformed. The error names the part and the fault, if it has a name. */
        BadRequest: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body or a parameter is malformed. For a parameter, the error names it. */
        InvalidBody: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The session is missing, invalid or expired, or the request has valid sessions of several users. Refresh once and repeat the request. If that fails, sign in again. */
        Unauthorized: {
            headers: {
                "Set-Cookie": components["headers"]["ClearedCookies"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Authentication required
                     * @enum {string}
                     */
                    error: "Authentication required" | "Invalid or expired session";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
        /** @description The session is not of the user whom `X-User-ID` names. Nothing was read or changed. */
        ForbiddenUser: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Forbidden user
                     * @enum {string}
                     */
                    error: "Forbidden user";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
        /** @description The Origin is not on the CORS list, or the session is not of the user whom `X-User-ID` names. Nothing was changed. */
        ForbiddenOrigin: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Forbidden origin
                     * @enum {string}
                     */
                    error: "Forbidden origin" | "Forbidden user";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
        /** @description The origin is not on the CORS list, the session is not of the user whom `X-User-ID` names, or the operation requires a session that began with a sign-in within the last 10 minutes, and this session did not. Nothing was changed. In the last case, start a sign-in with `prompt` `login`, and repeat the request. */
        ForbiddenOrOld: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Forbidden origin
                     * @enum {string}
                     */
                    error: "Forbidden origin" | "Forbidden user" | "Sign in again";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
        /** @description The user has no live bookmark with this id. */
        BookmarkNotFound: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Bookmark not found
                     * @enum {string}
                     */
                    error: "Bookmark not found";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
        /** @description The user has no export with this id, or it has expired. */
        ExportNotFound: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Export not found
                     * @enum {string}
                     */
                    error: "Export not found";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
        /** @description The user has no pairing with this id, it was ended, or the time for which its last message can be read has passed. */
        PairingNotFound: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Pairing not found
                     * @enum {string}
                     */
                    error: "Pairing not found";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
        /** @description The URL and headers are larger than 32 KiB. If cookies made them too large, the response tells the browser to clear all cookies of the domain, including those of the sign-in. Otherwise it would get this response to every request. */
        HeadersTooLarge: {
            headers: {
                "Clear-Site-Data": components["headers"]["Clear-Site-Data"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Request headers too large
                     * @enum {string}
                     */
                    error: "Request headers too large";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
        /** @description The body did not arrive within 20 s, or within 60 s if it is larger than 1 MiB. The connection is closed. */
        RequestTimeout: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Request timeout
                     * @enum {string}
                     */
                    error: "Request timeout";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
        /** @description The body is larger than the operation accepts: 4 MiB for push and import, 8 KiB for signing in and out and for refreshing, 1 MiB for all others. */
        TooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Request body too large
                     * @enum {string}
                     */
                    error: "Request body too large";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
        /** @description The body is larger than 1 MiB (4 MiB for push and import), or storing it would exceed the user's quota. Nothing was applied. */
        TooMuch: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Request body too large
                     * @enum {string}
                     */
                    error: "Request body too large" | "Storage quota exceeded";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
        /** @description The body is not JSON (UTF-8, not compressed). */
        UnsupportedMediaType: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Unsupported media type
                     * @enum {string}
                     */
                    error: "Unsupported media type";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
        /** @description The user's rate limit is used up, or that of an address that keeps sending wrong cookies, or starting or failing sign-ins. A request with a valid session is never refused because of its address. A rate limit refills evenly, so `Retry-After` is short. If a request costs more than is left, it is still handled, and later ones are refused until the difference is made up. Ending sessions costs nothing. While the limit is used up, each session can still list sessions and refresh itself, at a twentieth of the rate. */
        TooManyRequests: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Too many requests
                     * @enum {string}
                     */
                    error: "Too many requests";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
        /** @description An internal error. The service logs it under the request's id. */
        Internal: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Internal server error
                     * @enum {string}
                     */
                    error: "Internal server error";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
        /** @description A component of the service is unreachable, or this instance is overloaded: the request has waited 10 s for its turn, or 512 requests of its user wait already. The service handles a limited number of slow uploads and long responses at once. If there are too many, it ends the oldest one of the user who has the most: an upload gets this response, and the connection of a response is closed. Nothing was changed: try again. */
        Unavailable: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Error-Code": components["headers"]["X-Error-Code"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A human-readable sentence; those listed in this contract are exact.
                     * @example Service unavailable
                     * @enum {string}
                     */
                    error: "Service unavailable";
                    /**
                     * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                     * @example The database did not answer
                     */
                    details?: string;
                };
            };
        };
    };
    parameters: {
        /** @description The bookmark's id, percent-encoded. */
        BookmarkId: components["schemas"]["Id"];
        /** @description Elements per page. */
        Limit: number;
        /** @description The `next` of the previous page. Without it, the list starts with its first page. */
        After: string;
        /** @description The `next` of the previous page. Without it, the list starts with its first page. */
        AfterId: components["schemas"]["Id"];
        /** @description Entity types, separated by commas. Without it, all types count. */
        EntityTypes: string;
        /** @description The device that makes the request. `unknown` does not count as a device, and its changes are broadcast to all devices. */
        DeviceId: string;
    };
    requestBodies: never;
    headers: {
        /** @description The request's id in the service's log. */
        "X-Request-Id": string;
        /** @description The error as one word for programs, which never changes: the name of its text among the response's examples, or `BadRequest` if the text names a fault. A later service may use others. */
        "X-Error-Code": string;
        /** @description The session may be sent as a bearer token. `error="invalid_token"` if the token or cookie in the request is not valid (RFC 6750). */
        "WWW-Authenticate": string;
        /** @description Present if cookies made the headers too large. Browsers obey it over https and on localhost. */
        "Clear-Site-Data": "\"cookies\"";
        /** @description Both session cookies with Max-Age 0, if the request has valid cookies, or a valid token and cookie, of more than one user. Another host of the domain may have set one of them, so the service accepts none. Otherwise absent. */
        ClearedCookies: string;
        /** @description Seconds to wait before trying again. */
        "Retry-After": number;
        /** @description An attachment with a file name that ends in `.dat`. */
        "Content-Disposition": string;
        /** @description Length of the body in bytes. */
        "Content-Length": number;
        /** @description Byte ranges are supported. */
        "Accept-Ranges": "bytes";
        /** @description Identifies the file's content. */
        ETag: string;
        /** @description No cache may store the response. */
        "Cache-Control": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    startLogin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Where to go after the sign-in. Optional. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LoginRequest"];
            };
        };
        responses: {
            /** @description The URL to send the browser to. */
            200: {
                headers: {
                    /** @description The sealed cookie of the attempt (HttpOnly, SameSite=Lax, 600 s; over https also Secure, with Path / and no Domain). */
                    "Set-Cookie": string;
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginResponse"];
                };
            };
            /** @description The return URL is not allowed, or the body is malformed. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Invalid returnTo
                         * @enum {string}
                         */
                        error: "Invalid returnTo";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            403: components["responses"]["ForbiddenOrigin"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            /** @description The identity provider did not respond as expected. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Failed to initiate login
                         * @enum {string}
                         */
                        error: "Failed to initiate login" | "Internal server error";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            503: components["responses"]["Unavailable"];
        };
    };
    completeLogin: {
        parameters: {
            query?: {
                /** @description Authorization code from the identity provider. If it is missing, the sign-in failed. */
                code?: string;
                /** @description The return URL that the sign-in was started with. */
                state?: string;
                /** @description The identity provider's issuer (RFC 9207). */
                iss?: string;
                /** @description The identity provider's error code (RFC 6749, section 4.1.2.1). */
                error?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Redirect to the return URL with both cookies set. Otherwise, without cookies, to `/login?error=<message>` or to the program that has started the sign-in. */
            302: {
                headers: {
                    /** @description The return URL, with this request's query if it is another program's, or `/login?error=<message>`. */
                    Location: string;
                    /** @description Exactly two on success, `service_session` (604800 s) and `service_refresh` (2592000 s); otherwise none. */
                    "Set-Cookie"?: string;
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    logout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Signed out; both cookies are cleared. */
            200: {
                headers: {
                    /** @description Two, both with Max-Age 0. */
                    "Set-Cookie": string;
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["ForbiddenOrigin"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            /** @description The login could not be ended. The cookies are not cleared. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Failed to logout
                         * @enum {string}
                         */
                        error: "Failed to logout" | "Internal server error";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            503: components["responses"]["Unavailable"];
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Signed in. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description Not signed in, or the session has ended. Unlike in other operations, the body has no error text; `X-Error-Code` says which of the two it is. */
            401: {
                headers: {
                    "Set-Cookie": components["headers"]["ClearedCookies"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NoSession"];
                };
            };
            403: components["responses"]["ForbiddenUser"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    refreshSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A new session cookie is set. */
            200: {
                headers: {
                    /** @description The new `service_session` (604800 s). */
                    "Set-Cookie": string;
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            400: components["responses"]["BadRequest"];
            /** @description The login has ended, or the request has valid cookies of several users. The user must sign in again. */
            401: {
                headers: {
                    "Set-Cookie": components["headers"]["ClearedCookies"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example No refresh token
                         * @enum {string}
                         */
                        error: "No refresh token" | "Failed to refresh token";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            403: components["responses"]["ForbiddenOrigin"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listBookmarks: {
        parameters: {
            query?: {
                /** @description Page number, starting at 1. */
                page?: number;
                /** @description Bookmarks per page. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of bookmarks. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BookmarkPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    createBookmark: {
        parameters: {
            query?: never;
            header?: {
                /** @description The device that makes the request. `unknown` does not count as a device, and its changes are broadcast to all devices. */
                "x-device-id"?: components["parameters"]["DeviceId"];
                /** @description New for each bookmark, such as a UUID. It is valid as long as the service has a record of that bookmark, deleted or not. It is ignored if there is an `id`. */
                "idempotency-key"?: components["schemas"]["Id"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description The encrypted bookmark. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["BookmarkToCreate"];
            };
        };
        responses: {
            /** @description The record as stored. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Bookmark"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            408: components["responses"]["RequestTimeout"];
            /** @description A live or deleted bookmark already has this id, or the bookmark that was created with this `Idempotency-Key` was changed or deleted since. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Bookmark already exists
                         * @enum {string}
                         */
                        error: "Bookmark already exists";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            413: components["responses"]["TooMuch"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description The `Idempotency-Key` has created a bookmark with another body. */
            422: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Idempotency key already used
                         * @enum {string}
                         */
                        error: "Idempotency key already used";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getBookmark: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The bookmark's id, percent-encoded. */
                id: components["parameters"]["BookmarkId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Bookmark"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            404: components["responses"]["BookmarkNotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateBookmark: {
        parameters: {
            query?: never;
            header?: {
                /** @description The device that makes the request. `unknown` does not count as a device, and its changes are broadcast to all devices. */
                "x-device-id"?: components["parameters"]["DeviceId"];
            };
            path: {
                /** @description The bookmark's id, percent-encoded. */
                id: components["parameters"]["BookmarkId"];
            };
            cookie?: never;
        };
        /** @description The encrypted bookmark. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["BookmarkContent"];
            };
        };
        responses: {
            /** @description The record as stored. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Bookmark"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            404: components["responses"]["BookmarkNotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooMuch"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteBookmark: {
        parameters: {
            query?: never;
            header?: {
                /** @description The device that makes the request. `unknown` does not count as a device, and its changes are broadcast to all devices. */
                "x-device-id"?: components["parameters"]["DeviceId"];
            };
            path: {
                /** @description The bookmark's id, percent-encoded. */
                id: components["parameters"]["BookmarkId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            404: components["responses"]["BookmarkNotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listVersions: {
        parameters: {
            query?: {
                /** @description Elements per page. */
                limit?: components["parameters"]["Limit"];
                /** @description The `next` of the previous page. Without it, the list starts with its first page. */
                after?: components["parameters"]["After"];
            };
            header?: never;
            path: {
                /** @description The bookmark's id, percent-encoded. */
                id: components["parameters"]["BookmarkId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of versions. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            /** @description The user has no bookmark with this id, live or deleted. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Bookmark not found
                         * @enum {string}
                         */
                        error: "Bookmark not found";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    restoreBookmark: {
        parameters: {
            query?: never;
            header?: {
                /** @description The device that makes the request. `unknown` does not count as a device, and its changes are broadcast to all devices. */
                "x-device-id"?: components["parameters"]["DeviceId"];
            };
            path: {
                /** @description The bookmark's id, percent-encoded. */
                id: components["parameters"]["BookmarkId"];
            };
            cookie?: never;
        };
        /** @description Which version to restore. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RestoreRequest"];
            };
        };
        responses: {
            /** @description The record as stored. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Bookmark"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            /** @description The user has no bookmark with this id, live or deleted, or no kept version with data has this `version_id`. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Bookmark not found
                         * @enum {string}
                         */
                        error: "Bookmark not found" | "Version not found";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listTrash: {
        parameters: {
            query?: {
                /** @description Elements per page. */
                limit?: components["parameters"]["Limit"];
                /** @description The `next` of the previous page. Without it, the list starts with its first page. */
                after?: components["parameters"]["After"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of deleted bookmarks. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrashPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    purgeBookmark: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The bookmark's id, percent-encoded. */
                id: components["parameters"]["BookmarkId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Nothing of it is stored. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrOld"];
            /** @description The user has no deleted bookmark with this id. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Bookmark not found
                         * @enum {string}
                         */
                        error: "Bookmark not found";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getSyncStatus: {
        parameters: {
            query?: {
                /** @description Entity types, separated by commas. Without it, all types count. */
                entity_types?: components["parameters"]["EntityTypes"];
            };
            header?: {
                /** @description The device to report on. Without it, `last_sync` is the latest of any device and `pending_changes` counts from the furthest cursor. */
                "x-device-id"?: components["schemas"]["Id"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The status. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SyncStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            429: components["responses"]["TooManyRequests"];
            /** @description The status could not be read. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Failed to get sync status
                         * @enum {string}
                         */
                        error: "Failed to get sync status" | "Internal server error";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            503: components["responses"]["Unavailable"];
        };
    };
    pullChanges: {
        parameters: {
            query?: never;
            header?: {
                /** @description The device that makes the request. `unknown` does not count as a device, and its changes are broadcast to all devices. */
                "x-device-id"?: components["parameters"]["DeviceId"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description Where to continue from. Without a body, pulling starts from the beginning. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PullRequest"];
            };
        };
        responses: {
            /** @description One page of changes. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PullResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    pushChanges: {
        parameters: {
            query?: never;
            header?: {
                /** @description The device that makes the request. `unknown` does not count as a device, and its changes are broadcast to all devices. */
                "x-device-id"?: components["parameters"]["DeviceId"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description The changes, at most 500 and 4 MiB. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PushRequest"];
            };
        };
        responses: {
            /** @description The outcome for each change. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PushResponse"];
                };
            };
            /** @description A change, or the request itself, is malformed. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooMuch"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    importBookmarks: {
        parameters: {
            query?: never;
            header?: {
                /** @description The device that makes the request. `unknown` does not count as a device, and its changes are broadcast to all devices. */
                "x-device-id"?: components["parameters"]["DeviceId"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description The bookmarks, at most 500 and 4 MiB. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ImportRequest"];
            };
        };
        responses: {
            /** @description The outcome for each bookmark. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportResponse"];
                };
            };
            /** @description The body or another part of the request is malformed, or a bookmark has no id. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooMuch"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listConflicts: {
        parameters: {
            query?: {
                /** @description Elements per page. */
                limit?: components["parameters"]["Limit"];
                /** @description The `next` of the previous page. Without it, the list starts with its first page. */
                after?: components["parameters"]["After"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of conflicts. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConflictPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    settleConflict: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The conflict's `version_id`, percent-encoded. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Settled. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            /** @description No open conflict has this id. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Conflict not found
                         * @enum {string}
                         */
                        error: "Conflict not found";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    rewindBookmarks: {
        parameters: {
            query?: never;
            header?: {
                /** @description The device that makes the request. `unknown` does not count as a device, and its changes are broadcast to all devices. */
                "x-device-id"?: components["parameters"]["DeviceId"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description The time to go back to. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["RewindRequest"];
            };
        };
        responses: {
            /** @description The counts of the entities that this request looked at. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RewindResponse"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    openRealtime: {
        parameters: {
            query?: {
                /** @description Used in place of `X-User-ID`. */
                user_id?: string;
                /** @description Used in place of `X-Device-ID`. */
                device_id?: components["schemas"]["Id"];
                /** @description The cursor (Unix ms) to replay missed changes from; above the user's last sequence number it counts as 0. Without it the channel starts with the next change. */
                since?: number;
                /** @description Entity types, separated by commas. Without it, all types count. */
                entity_types?: components["parameters"]["EntityTypes"];
            };
            header?: {
                /** @description Must be `websocket` (any case). */
                upgrade?: string;
                /** @description The signed-in user's id. */
                "x-user-id"?: string;
                /** @description The device that opens the channel. */
                "x-device-id"?: components["schemas"]["Id"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Switching protocols. */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description An id is missing, or a parameter is malformed. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            /** @description The origin is not on the CORS list, or the user id is not the signed-in user's. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Forbidden origin
                         * @enum {string}
                         */
                        error: "Forbidden origin" | "Forbidden user";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            /** @description The request is not a WebSocket upgrade. */
            426: {
                headers: {
                    /** @description The protocol to upgrade to. */
                    Upgrade: "websocket";
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example WebSocket upgrade required
                         * @enum {string}
                         */
                        error: "WebSocket upgrade required";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            /** @description The user has 256 open sockets on this instance, or the rate limit is exceeded. */
            429: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Too many sockets
                         * @enum {string}
                         */
                        error: "Too many sockets" | "Too many requests";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listExports: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The exports. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    createExport: {
        parameters: {
            query?: never;
            header?: {
                /** @description New for each export, such as a UUID. */
                "idempotency-key"?: components["schemas"]["Id"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The export, with status `processing`. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Export"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Too many exports are unfinished, the kept exports are too many or too large, or the rate limit is exceeded. For kept exports, `Retry-After` is the time until the first of them expires; deleting one is quicker. */
            429: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Too many exports in progress
                         * @enum {string}
                         */
                        error: "Too many exports in progress" | "Too many exports kept" | "Too many requests";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    downloadExport: {
        parameters: {
            query?: never;
            header?: {
                /** @description A single byte range. Anything else is ignored and the whole file is sent. */
                range?: string;
                /** @description The ETag of the file that the range belongs to. If it does not match, the whole file is sent. */
                "if-range"?: string;
            };
            path: {
                /** @description The export's id. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    "Content-Disposition": components["headers"]["Content-Disposition"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "Accept-Ranges": components["headers"]["Accept-Ranges"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The requested part of the file. */
            206: {
                headers: {
                    /** @description The range that is sent, and the size of the file in bytes. */
                    "Content-Range": string;
                    "Content-Disposition": components["headers"]["Content-Disposition"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "Accept-Ranges": components["headers"]["Accept-Ranges"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The export is not completed (pending, processing or failed), or the request is malformed. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            404: components["responses"]["ExportNotFound"];
            /** @description The range lies outside the file. */
            416: {
                headers: {
                    /** @description The size of the file in bytes. */
                    "Content-Range": string;
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Range not satisfiable
                         * @enum {string}
                         */
                        error: "Range not satisfiable";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteExport: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The export's id. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted; the file has been removed. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            404: components["responses"]["ExportNotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getExportKey: {
        parameters: {
            query?: {
                /** @description The id of an export whose file's key to return. */
                export?: components["schemas"]["Id"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key. */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportKey"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            404: components["responses"]["ExportNotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    setExportKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The new key. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExportKey"];
            };
        };
        responses: {
            /** @description Replaced. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            /** @description The key is malformed. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Invalid export key
                         * @enum {string}
                         */
                        error: "Invalid export key";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrOld"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getKeyring: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keyring and its revision. */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Keyring"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            /** @description No keyring has been stored yet. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Keyring not found
                         * @enum {string}
                         */
                        error: "Keyring not found";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    setKeyring: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The keyring and its new revision. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["Keyring"];
            };
        };
        responses: {
            /** @description What was stored. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Keyring"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrOld"];
            408: components["responses"]["RequestTimeout"];
            /** @description The revision is not the stored revision plus 1. Get the keyring and decide again. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Keyring was changed
                         * @enum {string}
                         */
                        error: "Keyring was changed";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listKeyringVersions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The earlier keyrings. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyringVersionList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    eraseKeyringVersions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Erased. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrOld"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    restoreKeyring: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an earlier keyring. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keyring and its new revision. */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Keyring"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrOld"];
            /** @description The user has no earlier keyring with this id, or not any more. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Keyring not found
                         * @enum {string}
                         */
                        error: "Keyring not found";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    reservePairing: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The pairing's id, which the first device derives. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        /** @description Whose pairing it is. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PairingReservation"];
            };
        };
        responses: {
            /** @description Reserved. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            400: components["responses"]["InvalidBody"];
            403: components["responses"]["ForbiddenOrigin"];
            404: components["responses"]["PairingNotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getPairing: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The pairing's id, which the first device derives. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The last message. */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pairing"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            404: components["responses"]["PairingNotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    sendToPairing: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The pairing's id, which the first device derives. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        /** @description The message and its step. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PairingMessage"];
            };
        };
        responses: {
            /** @description What was stored. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pairing"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            404: components["responses"]["PairingNotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description Another message was sent in place of this one. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Pairing was changed
                         * @enum {string}
                         */
                        error: "Pairing was changed";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    endPairing: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The pairing's id, which the first device derives. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Erased. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            /** @description The id has a form that no pairing has. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Pairing not found
                         * @enum {string}
                         */
                        error: "Pairing not found";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSessions: {
        parameters: {
            query?: {
                /** @description Elements per page. */
                limit?: components["parameters"]["Limit"];
                /** @description The `next` of the previous page. Without it, the list starts with its first page. */
                after?: components["parameters"]["AfterId"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of sessions. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    endOtherSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session of this request is the only one. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrOld"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    endSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ended. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            /** @description The user has no session with this id. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Session not found
                         * @enum {string}
                         */
                        error: "Session not found";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listDevices: {
        parameters: {
            query?: {
                /** @description Elements per page. */
                limit?: components["parameters"]["Limit"];
                /** @description The `next` of the previous page. Without it, the list starts with its first page. */
                after?: components["parameters"]["AfterId"];
            };
            header?: {
                /** @description The device that makes the request. `unknown` does not count as a device, and its changes are broadcast to all devices. */
                "x-device-id"?: components["parameters"]["DeviceId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of devices. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DevicePage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    renameDevice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The device's id, percent-encoded. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        /** @description The name. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeviceName"];
            };
        };
        responses: {
            /** @description Renamed. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            /** @description The user has no device with this id. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Device not found
                         * @enum {string}
                         */
                        error: "Device not found";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    forgetDevice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The device's id, percent-encoded. */
                id: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Forgotten. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrigin"];
            /** @description The user has no device with this id. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Error-Code": components["headers"]["X-Error-Code"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description A human-readable sentence; those listed in this contract are exact.
                         * @example Device not found
                         * @enum {string}
                         */
                        error: "Device not found";
                        /**
                         * @description The kind of failure; always present with `Failed to get sync status`. Reveals nothing internal.
                         * @example The database did not answer
                         */
                        details?: string;
                    };
                };
            };
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getAccount: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The account. */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenUser"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteAccount: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted; both cookies are cleared. */
            200: {
                headers: {
                    /** @description Two, both with Max-Age 0. */
                    "Set-Cookie": string;
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrOld"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The report. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            500: components["responses"]["Internal"];
        };
    };
}
