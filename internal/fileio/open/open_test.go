package open_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"leat/internal/diag"
	"leat/internal/fileio/open"
)

func TestFromURL(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ location, want, wantErr string }{
		{"/data/lake", "/data/lake", ""},
		{"/data//lake/", "/data/lake", ""},
		{"./lake", here + "/lake", ""},
		{"lake", here + "/lake", ""},
		{"file:///data/lake", "/data/lake", ""},
		{"file:/data/lake/", "/data/lake", ""},
		{"file://localhost/data", "/data", ""},
		{"file:///with%20space", "/with space", ""},
		{"/with space/a:b", "/with space/a:b", ""},
		{"", "", "empty"},
		{"s3://bucket/lake", "", "cannot open s3://"},
		{"file://data/lake", "", "names host 'data'"},
		{"file:///a?b", "", "%3F"},
	}
	for _, tt := range tests {
		fs, p, err := open.FromURL(tt.location)
		if tt.wantErr != "" {
			var e *diag.Error
			if !errors.As(err, &e) || !strings.Contains(e.Msg, tt.wantErr) || e.Hint == "" {
				t.Errorf("%q: error %v, want %q with a hint", tt.location, err, tt.wantErr)
			}
			continue
		}
		if err != nil || p != tt.want || fs == nil {
			t.Errorf("%q: %q, %v, want %q", tt.location, p, err, tt.want)
		}
	}
}
