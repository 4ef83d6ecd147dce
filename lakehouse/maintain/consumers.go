package maintain

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// Consumer is a streaming reader's mark: snapshots from Next on are kept for it.
type Consumer struct {
	ID       string
	Next     int64
	Modified time.Time
}

// Consumers lists the consumers of the table or branch in directory home.
func Consumers(ctx context.Context, fs fileio.FS, home string) ([]Consumer, error) {
	infos, err := fs.List(ctx, fs.Join(home, spec.ConsumerDir))
	if err != nil {
		return nil, fmt.Errorf("listing consumers: %w", err)
	}
	var out []Consumer
	for _, i := range infos {
		id, ok := strings.CutPrefix(i.Name, spec.ConsumerPrefix)
		if !ok || i.IsDir {
			continue
		}
		b, err := fs.ReadFile(ctx, i.Path)
		if err != nil {
			return nil, fmt.Errorf("reading consumer %s: %w", id, err)
		}
		var c struct {
			Next int64 `json:"nextSnapshot"`
		}
		if err := json.Unmarshal(b, &c); err != nil {
			return nil, fmt.Errorf("reading consumer %s: %w", i.Path, err)
		}
		out = append(out, Consumer{ID: id, Next: c.Next, Modified: i.ModTime})
	}
	return out, nil
}

func consumerPath(fs fileio.FS, home, id string) (string, error) {
	if strings.TrimSpace(id) == "" || strings.ContainsAny(id, "/\\\x00") {
		return "", &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Msg: fmt.Sprintf("'%s' cannot be the id of a consumer", id), Hint: "see the system table $consumers"}
	}
	return fs.Join(home, spec.ConsumerDir, spec.ConsumerPrefix+id), nil
}

// ResetConsumer sets the snapshot that a consumer reads next.
func ResetConsumer(ctx context.Context, fs fileio.FS, home, id string, next int64) error {
	path, err := consumerPath(fs, home, id)
	if err != nil {
		return err
	}
	if err := fs.Replace(ctx, path, fmt.Appendf(nil, "{\n  \"nextSnapshot\" : %d\n}", next)); err != nil {
		return fmt.Errorf("resetting consumer %s: %w", id, err)
	}
	return nil
}

// DeleteConsumer removes a consumer; one that is not there is no error.
func DeleteConsumer(ctx context.Context, fs fileio.FS, home, id string) error {
	path, err := consumerPath(fs, home, id)
	if err == nil {
		err = fs.Remove(ctx, path)
	}
	if err != nil {
		return fmt.Errorf("deleting consumer %s: %w", id, err)
	}
	return nil
}

// ExpireConsumers removes consumers that were not written since before, as
// option consumer.expiration-time asks. It gives their ids.
func ExpireConsumers(ctx context.Context, fs fileio.FS, home string, before time.Time) ([]string, error) {
	all, err := Consumers(ctx, fs, home)
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, c := range all {
		if !c.Modified.Before(before) {
			continue
		}
		if err := DeleteConsumer(ctx, fs, home, c.ID); err != nil {
			return gone, err
		}
		gone = append(gone, c.ID)
	}
	return gone, nil
}
