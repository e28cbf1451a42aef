// The story of ../README.md, with the client of oapi-codegen.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	api "story/client"
)

func main() {
	ctx := context.Background()
	userId := ""
	withSession := func(_ context.Context, request *http.Request) error {
		request.AddCookie(&http.Cookie{Name: "service_session", Value: os.Getenv("SESSION")})
		if userId != "" {
			request.Header.Set("X-User-ID", userId)
		}
		return nil
	}
	service, err := api.NewClientWithResponses(os.Getenv("BASE_URL"), api.WithRequestEditorFn(withSession))
	must(err)

	laptop, data, hash, one := "laptop", "opaque, not base64", "e3b0c442", "one"
	now := time.Now().UnixMilli()

	// From here on, each call names the user of the session.
	session, err := service.GetSessionWithResponse(ctx)
	must(err)
	userId = session.JSON200.User.UserId

	created, err := service.CreateBookmarkWithResponse(ctx, &api.CreateBookmarkParams{XDeviceId: &laptop},
		api.BookmarkToCreate{Id: &one, EncryptedData: data, DataHash: hash})
	must(err)
	is(created.StatusCode(), 201)
	is(created.JSON201.CreatedAt >= now-60_000, true)
	is(created.JSON201.DeletedAt == nil, true)
	page, err := service.ListBookmarksWithResponse(ctx, &api.ListBookmarksParams{})
	must(err)
	is(len(page.JSON200.Data), 1)
	is(page.JSON200.Data[0].EncryptedData, data)

	// The edit of `one` is older than the stored version.
	edit := func(entityId string, timestamp int64) api.Change {
		return api.Change{Id: "edit of " + entityId, EntityType: api.EntityTypeBookmark, EntityId: entityId,
			Operation: api.Update, Timestamp: timestamp, DeviceId: laptop, EncryptedData: &data, DataHash: &hash}
	}
	pushed, err := service.PushChangesWithResponse(ctx, &api.PushChangesParams{XDeviceId: &laptop},
		api.PushRequest{Changes: []api.Change{edit("one", 1000), edit("two", now)}})
	must(err)
	is(pushed.JSON200.AcceptedIds, []string{"edit of two"})
	is(len(pushed.JSON200.Conflicts), 1)
	is(pushed.JSON200.Conflicts[0].EntityId, "one")
	is(pushed.JSON200.Conflicts[0].Resolution, "rejected")

	pulled := []string{}
	since, limit := int64(0), int32(1)
	for more := true; more; {
		answer, err := service.PullChangesWithResponse(ctx, &api.PullChangesParams{XDeviceId: &laptop},
			api.PullRequest{Since: &since, Limit: &limit})
		must(err)
		for _, change := range answer.JSON200.Changes {
			pulled = append(pulled, change.EntityId, *change.EncryptedData)
		}
		since, more = answer.JSON200.LastSyncTimestamp, answer.JSON200.HasMore
	}
	is(pulled, []string{"one", data, "two", data})

	// `one` exists already, and the date of `four` is in milliseconds, not seconds.
	seconds, milliseconds := int64(1_700_000_000), int64(1_700_000_000_000)
	imported, err := service.ImportBookmarksWithResponse(ctx, &api.ImportBookmarksParams{XDeviceId: &laptop},
		api.ImportRequest{Bookmarks: []api.ImportBookmark{
			{Id: "three", EncryptedData: data, DataHash: hash, DateAdded: &seconds},
			{Id: "one", EncryptedData: data, DataHash: hash},
			{Id: "four", EncryptedData: data, DataHash: hash, DateAdded: &milliseconds},
		}})
	must(err)
	is(imported.JSON200.ImportedIds, []string{"three"})
	is(len(imported.JSON200.Errors), 2)
	is(imported.JSON200.Errors[0].Id, "one")
	is(imported.JSON200.Errors[1].Id, "four")
	three, err := service.GetBookmarkWithResponse(ctx, "three")
	must(err)
	is(three.JSON200.CreatedAt, milliseconds)

	started, err := service.CreateExportWithResponse(ctx, &api.CreateExportParams{})
	must(err)
	is(started.JSON201.SizeBytes == nil, true)
	finished := *started.JSON201
	for finished.Status != api.Completed {
		time.Sleep(100 * time.Millisecond)
		list, err := service.ListExportsWithResponse(ctx)
		must(err)
		finished = list.JSON200.Exports[0]
	}
	is(*finished.BookmarkCount, 3)
	file, err := service.DownloadExportWithResponse(ctx, finished.Id, &api.DownloadExportParams{})
	must(err)
	is(len(file.Body), *finished.SizeBytes)
	is(string(file.Body[:5]), "EBSX\x01")

	deleted, err := service.DeleteBookmarkWithResponse(ctx, "three", &api.DeleteBookmarkParams{XDeviceId: &laptop})
	must(err)
	is(deleted.JSON200.Success, true)
	status, err := service.GetSyncStatusWithResponse(ctx, &api.GetSyncStatusParams{XDeviceId: &laptop})
	must(err)
	is(status.JSON200.TotalBookmarks, 2)
	is(status.JSON200.LastSync >= now-60_000, true)
	session, err = service.GetSessionWithResponse(ctx)
	must(err)
	is(session.JSON200.User.UserId, status.JSON200.UserId)

	// Refused: a bookmark that does not exist, and a call that names another user than the session's.
	nothing, err := service.GetBookmarkWithResponse(ctx, "nothing")
	must(err)
	is(nothing.StatusCode(), 404)
	is(nothing.JSON404.Error, "Bookmark not found")
	userId = "somebody-else"
	forbidden, err := service.ListBookmarksWithResponse(ctx, &api.ListBookmarksParams{})
	must(err)
	is(forbidden.StatusCode(), 403)
	is(forbidden.JSON403.Error, "Forbidden user")
	userId = status.JSON200.UserId

	ended, err := service.LogoutWithResponse(ctx)
	must(err)
	is(ended.JSON200.Success, true)
	refused, err := service.GetSessionWithResponse(ctx)
	must(err)
	is(refused.StatusCode(), 401)
}

func must(err error) {
	if err != nil {
		log.Panic(err)
	}
}

// Generators choose different types for numbers and texts, so values are compared by their printed form.
func is(value any, expected any) {
	if fmt.Sprint(value) != fmt.Sprint(expected) {
		log.Panicf("%v instead of %v", value, expected)
	}
}
