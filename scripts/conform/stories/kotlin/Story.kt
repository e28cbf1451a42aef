import okhttp3.OkHttpClient
import org.openapitools.client.apis.AuthApi
import org.openapitools.client.apis.BookmarksApi
import org.openapitools.client.apis.ExportsApi
import org.openapitools.client.apis.SyncApi
import org.openapitools.client.infrastructure.ApiClient
import org.openapitools.client.infrastructure.ClientError
import org.openapitools.client.infrastructure.ClientException
import org.openapitools.client.models.*

/** The story of ../README.md, with the kotlin client of openapi-generator. */
fun main() {
    val baseUrl = System.getenv("BASE_URL")
    val session = "service_session=${System.getenv("SESSION")}"
    val http = OkHttpClient.Builder()
        .addInterceptor { chain -> chain.proceed(chain.request().newBuilder().header("Cookie", session).build()) }
        .build()
    val bookmarks = BookmarksApi(baseUrl, http)
    val sync = SyncApi(baseUrl, http)
    val exports = ExportsApi(baseUrl, http)
    val auth = AuthApi(baseUrl, http)
    val now = System.currentTimeMillis()

    // From here on, each call names the user of the session.
    ApiClient.apiKey["X-User-ID"] = auth.getSession().user.userId

    val created = bookmarks.createBookmark(BookmarkToCreate(id = "one", encryptedData = data, dataHash = hash), laptop)
    require(created.createdAt >= now - 60_000)
    require(created.deletedAt == null)
    val page = bookmarks.listBookmarks(limit = 10)
    require(page.data == listOf(created))

    // The edit of `one` is older than the stored version.
    val pushed = sync.pushChanges(PushRequest(listOf(edit("one", 1000), edit("two", now))), laptop)
    require(pushed.acceptedIds == listOf("edit of two"))
    require(pushed.conflicts.map { it.entityId to it.resolution.value } == listOf("one" to "rejected"))

    val pulled = mutableListOf<Pair<String, String?>>()
    var since = 0L
    do {
        val answer = sync.pullChanges(laptop, PullRequest(since = since, limit = 1))
        pulled += answer.changes.map { it.entityId to it.encryptedData }
        since = answer.lastSyncTimestamp
    } while (answer.hasMore)
    require(pulled == listOf("one" to data, "two" to data))

    // `one` exists already, and the date of `four` is in milliseconds, not seconds.
    val imported = sync.importBookmarks(
        ImportRequest(
            listOf(
                ImportBookmark("three", data, hash, dateAdded = 1_700_000_000),
                ImportBookmark("one", data, hash),
                ImportBookmark("four", data, hash, dateAdded = 1_700_000_000_000),
            ),
        ),
        laptop,
    )
    require(imported.importedIds == listOf("three"))
    require(imported.errors.map { it.id } == listOf("one", "four"))
    require(bookmarks.getBookmark("three").createdAt == 1_700_000_000_000)

    var export = exports.createExport()
    require(export.sizeBytes == null)
    while (export.status != ExportStatus.completed) {
        Thread.sleep(100)
        export = exports.listExports().exports.first()
    }
    require(export.bookmarkCount?.toInt() == 3)
    val file = exports.downloadExport(export.id)
    require(file.length() == export.sizeBytes)
    require(file.inputStream().use { String(it.readNBytes(5)) } == "EBSX\u0001")

    require(bookmarks.deleteBookmark("three", laptop).success)
    val status = sync.getSyncStatus(laptop)
    require(status.totalBookmarks.toInt() == 2)
    require(status.lastSync >= now - 60_000)
    require(auth.getSession().user.userId == status.userId)

    // Refused: a bookmark that does not exist, and a call that names another user than the session's.
    val error = runCatching { bookmarks.getBookmark("nothing") }.exceptionOrNull() as ClientException
    require(error.statusCode == 404)
    require((error.response as ClientError<*>).body == "{\"error\":\"Bookmark not found\"}")
    ApiClient.apiKey["X-User-ID"] = "somebody-else"
    val forbidden = runCatching { bookmarks.listBookmarks() }.exceptionOrNull() as ClientException
    require(forbidden.statusCode == 403)
    require((forbidden.response as ClientError<*>).body == "{\"error\":\"Forbidden user\"}")
    ApiClient.apiKey["X-User-ID"] = status.userId

    require(auth.logout().success)
    val refusal = runCatching { auth.getSession() }.exceptionOrNull() as ClientException
    require(refusal.statusCode == 401)
}

private const val data = "opaque, not base64"
private const val hash = "e3b0c442"
private const val laptop = "laptop"

private fun edit(entityId: String, timestamp: Long) = Change(
    id = "edit of $entityId",
    entityType = EntityType.bookmark,
    entityId = entityId,
    operation = Operation.update,
    timestamp = timestamp,
    deviceId = laptop,
    encryptedData = data,
    dataHash = hash,
)
