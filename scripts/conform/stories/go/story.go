// The story of ../README.md, with the go client of openapi-generator.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	api "story/client"
)

const laptop, data, hash = "laptop", "opaque, not base64", "e3b0c442"

func main() {
	configuration := api.NewConfiguration()
	configuration.Servers = api.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	service := api.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), api.ContextAccessToken, os.Getenv("SESSION"))
	now := time.Now().UnixMilli()

	// From here on, each call names the user of the session.
	ctx = actFor(ctx, ok(service.AuthAPI.GetSession(ctx).Execute()).User.UserId)

	first := api.NewBookmarkToCreate(data, hash)
	first.SetId("one")
	created := ok(service.BookmarksAPI.CreateBookmark(ctx).BookmarkToCreate(*first).XDeviceId(laptop).Execute())
	is(created.CreatedAt >= now-60_000, true)
	is(created.DeletedAt.Get() == nil, true)
	page := ok(service.BookmarksAPI.ListBookmarks(ctx).Limit(10).Execute())
	is(len(page.Data), 1)
	is(page.Data[0].EncryptedData, data)
	is(page.Meta.Total, 1)

	// The edit of `one` is older than the stored version.
	changes := api.PushRequest{Changes: []api.Change{edit("one", 1000), edit("two", now)}}
	pushed := ok(service.SyncAPI.PushChanges(ctx).PushRequest(changes).XDeviceId(laptop).Execute())
	is(pushed.AcceptedIds, []string{"edit of two"})
	is(len(pushed.Conflicts), 1)
	is(pushed.Conflicts[0].EntityId, "one")
	is(pushed.Conflicts[0].Resolution, "rejected")

	pulled := []string{}
	since, limit := int64(0), int32(1)
	for more := true; more; {
		wanted := api.PullRequest{Since: &since, Limit: &limit}
		answer := ok(service.SyncAPI.PullChanges(ctx).PullRequest(wanted).XDeviceId(laptop).Execute())
		for _, change := range answer.Changes {
			pulled = append(pulled, change.EntityId, change.GetEncryptedData())
		}
		since, more = answer.LastSyncTimestamp, answer.HasMore
	}
	is(pulled, []string{"one", data, "two", data})

	// `one` exists already, and the date of `four` is in milliseconds, not seconds.
	seconds, milliseconds := int64(1_700_000_000), int64(1_700_000_000_000)
	found := api.ImportRequest{Bookmarks: []api.ImportBookmark{
		{Id: "three", EncryptedData: data, DataHash: hash, DateAdded: &seconds},
		{Id: "one", EncryptedData: data, DataHash: hash},
		{Id: "four", EncryptedData: data, DataHash: hash, DateAdded: &milliseconds},
	}}
	imported := ok(service.SyncAPI.ImportBookmarks(ctx).ImportRequest(found).XDeviceId(laptop).Execute())
	is(imported.ImportedIds, []string{"three"})
	is(len(imported.Errors), 2)
	is(imported.Errors[0].Id, "one")
	is(imported.Errors[1].Id, "four")
	is(ok(service.BookmarksAPI.GetBookmark(ctx, "three").Execute()).CreatedAt, milliseconds)

	export := *ok(service.ExportsAPI.CreateExport(ctx).Execute())
	is(export.SizeBytes.Get() == nil, true)
	for export.Status != api.COMPLETED {
		time.Sleep(100 * time.Millisecond)
		export = ok(service.ExportsAPI.ListExports(ctx).Execute()).Exports[0]
	}
	is(*export.BookmarkCount.Get(), 3)
	file, err := io.ReadAll(ok(service.ExportsAPI.DownloadExport(ctx, export.Id).Execute()))
	must(err)
	is(len(file), *export.SizeBytes.Get())
	is(string(file[:5]), "EBSX\x01")

	is(ok(service.BookmarksAPI.DeleteBookmark(ctx, "three").XDeviceId(laptop).Execute()).Success, true)
	status := ok(service.SyncAPI.GetSyncStatus(ctx).XDeviceId(laptop).Execute())
	is(status.TotalBookmarks, 2)
	is(status.LastSync >= now-60_000, true)
	is(ok(service.AuthAPI.GetSession(ctx).Execute()).User.UserId, status.UserId)

	// Refused: a bookmark that does not exist, and a call that names another user than the session's.
	_, nothing, err := service.BookmarksAPI.GetBookmark(ctx, "nothing").Execute()
	is(nothing.StatusCode, 404)
	is(err.(*api.GenericOpenAPIError).Model().(api.Error).Error, "Bookmark not found")
	_, forbidden, err := service.BookmarksAPI.ListBookmarks(actFor(ctx, "somebody-else")).Execute()
	is(forbidden.StatusCode, 403)
	is(err.(*api.GenericOpenAPIError).Model().(api.Error).Error, "Forbidden user")

	is(ok(service.AuthAPI.Logout(ctx).Execute()).Success, true)
	_, refused, _ := service.AuthAPI.GetSession(ctx).Execute()
	is(refused.StatusCode, 401)
}

func actFor(ctx context.Context, userId string) context.Context {
	return context.WithValue(ctx, api.ContextAPIKeys, map[string]api.APIKey{"userId": {Key: userId}})
}

func edit(entityId string, timestamp int64) api.Change {
	change := api.NewChange("edit of "+entityId, api.BOOKMARK, entityId, api.UPDATE, timestamp, laptop)
	change.SetEncryptedData(data)
	change.SetDataHash(hash)
	return *change
}

func ok[T any](answer T, _ *http.Response, err error) T {
	must(err)
	return answer
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
