package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"leat/configs"
	"leat/internal/diag"
)

// TestSyncHelp shows every flag once, each in a group.
func TestSyncHelp(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	root := newApp().root()
	root.SetArgs([]string{"sync", "mysql", "--help"})
	root.SetOut(&out)
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	c, _, err := root.Find([]string{"sync", "mysql"})
	if err != nil {
		t.Fatal(err)
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if n := strings.Count(out.String(), " --"+f.Name+" "); n == 0 {
			t.Errorf("--%s is not shown", f.Name)
		}
	})
	_, others, ok := strings.Cut(out.String(), "\nOthers:\n")
	if others, _, _ = strings.Cut(others, "\n\n"); !ok || strings.Count(others, "--") != 1 || !strings.Contains(others, "--help") {
		t.Errorf("flags of no group: %s", others)
	}
	for _, bad := range []string{"--frsh", "--include_", "--primary-key"} {
		root := newApp().root()
		root.SetArgs([]string{"sync", "mysql", bad, "x"})
		var told *diag.Error
		if err := root.Execute(); !errors.As(err, &told) || !strings.HasPrefix(told.Hint, "did you mean --") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestMySQLURLs(t *testing.T) {
	t.Parallel()
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"WORD": "a@b:c/d%2", "HOST": "db.example", "A:B": "odd"}[name]
		return v, ok
	}
	for _, tt := range []struct {
		url  string
		want map[string]string
		db   string
	}{
		{"mysql://leat:pw@db:3307/", map[string]string{"hostname": "db", "port": "3307", "username": "leat", "password": "pw"}, ""},
		{"mysql://leat@db", map[string]string{"hostname": "db", "username": "leat"}, ""},
		{"mysql://leat:@db/shop/", map[string]string{"hostname": "db", "username": "leat", "password": ""}, "shop"},
		{"mysql://db/shop", map[string]string{"hostname": "db"}, "shop"},
		{"mysql://leat:${WORD}@${HOST}:3306", map[string]string{"hostname": "db.example", "port": "3306", "username": "leat", "password": "a@b:c/d%2"}, ""},
		{"mysql://${A:B}:x${WORD}y@db", map[string]string{"hostname": "db", "username": "odd", "password": "xa@b:c/d%2y"}, ""},
		{"mysql://leat:a%40b%3ac%2F@db", map[string]string{"hostname": "db", "username": "leat", "password": "a@b:c/"}, ""},
		{"mysql://leat:a@b/c@db/", map[string]string{"hostname": "db", "username": "leat", "password": "a@b/c"}, ""},
		{"mysql://leat@[::1]:3306/", map[string]string{"hostname": "::1", "port": "3306", "username": "leat"}, ""},
		{"mysql://leat@[::1]/", map[string]string{"hostname": "::1", "username": "leat"}, ""},
	} {
		u, err := parseMySQLURL(tt.url, env)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		v := configs.Values{}
		u.options(v)
		got := map[string]string{}
		for k, x := range v {
			got[k] = x.Text
		}
		if d := cmp.Diff(tt.want, got); d != "" || u.database != tt.db {
			t.Errorf("%s: database %q, %s", tt.url, u.database, d)
		}
	}
	for _, bad := range []string{"", "mysql:/db", "mysql://secret@", "mysql://u:secret@db:0", "mysql://u:secret@db:x", "mysql://u:secret%@db", "mysql://u:secret${@db", "mysql://u:secret${NONE}@db", "mysql://u:secret@db/?a=b"} {
		_, err := parseMySQLURL(bad, env)
		if err == nil {
			t.Errorf("%s: no error", bad)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the password: %v", bad, err)
		}
	}
}

func TestTablePatterns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"shop.orders":             "shop.orders",
		"shop.orders, shop.users": "shop.orders|shop.users",
		"shop.*":                  "shop.*",
		"orders,x.y":              "here.orders|x.y",
		"*":                       "here.*",
		"`my.db`.`a,b``c`,x.y":    "my.db.a,b`c|x.y",
		"my-db.t-1":               "my-db.t-1",
		"größe.ü":                 "größe.ü",
	} {
		list, err := patterns("--include", []string{text}, "here")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, p := range list {
			got = append(got, p.String())
		}
		if g := strings.Join(got, "|"); g != want {
			t.Errorf("%s: %s, want %s", text, g, want)
		}
	}
	for _, bad := range []string{"", ",", "a.", ".a", "a.b,", "a.b.c", "a.b+", "a$.b", "*.t", "`a.b", "``.t", "`a`x", "a b.c", "a.b c"} {
		if list, err := patterns("--include", []string{bad}, "here"); err == nil {
			t.Errorf("%q: %v, want an error", bad, list)
		}
	}
}
