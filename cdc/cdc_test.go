package cdc

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"leat/cdc/mysqlrow"
)

func TestMarksOrderPlacesOfOneServer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file   string
		offset uint64
		want   int
	}{
		{"binlog.000009", 4, -1},
		{"binlog.000010", 99, -1},
		{"binlog.000010", 100, 0},
		{"binlog.000010", 101, 1},
		{"binlog.000011", 4, 1},
		{"binlog.1000000", 4, 1},
		{"other.000001", 4, 1},
	} {
		if got := (mark{file: "binlog.000010", offset: 100}).compare(tt.file, tt.offset); got != tt.want {
			t.Errorf("%s:%d: %d, want %d", tt.file, tt.offset, got, tt.want)
		}
	}
}

func TestGTIDSetGrowsAsTheServersDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		a, err := ParseGTIDSet("11111111-2222-3333-4444-555555555555:1-3:7-9,\n99999999-2222-3333-4444-555555555555:1")
		if err != nil {
			rt.Fatal(err)
		}
		sids := []uuid.UUID{uuid.MustParse("11111111-2222-3333-4444-555555555555"), uuid.MustParse("99999999-2222-3333-4444-555555555555"), uuid.MustParse("aaaaaaaa-2222-3333-4444-555555555555")}
		plain := a.Clone()
		for range rapid.IntRange(0, 30).Draw(rt, "count") {
			id := gtid{sid: rapid.SampledFrom(sids).Draw(rt, "sid"), gno: rapid.Int64Range(1, 20).Draw(rt, "gno")}
			had := a.Has(id)
			if want := plain.Contains(single(id)); had != want {
				rt.Fatalf("%v in %s: %v, want %v", id, a, had, want)
			}
			if had {
				continue // a server sends no transaction twice
			}
			a.Add(id)
			plain.set.AddGTIDWithTag(id.sid, id.tag, id.gno)
			if !a.Has(id) {
				rt.Fatalf("%v is not in %s", id, a)
			}
		}
		if a.String() != plain.String() {
			rt.Fatalf("%s, want %s", a, plain)
		}
	})
}

func single(id gtid) *GTIDSet {
	s, err := ParseGTIDSet("")
	if err != nil {
		return nil
	}
	s.Add(id)
	return s
}

func TestGTIDSetNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	a, err := ParseGTIDSet("11111111-2222-3333-4444-555555555555:1-10:20")
	if err != nil {
		t.Fatal(err)
	}
	b, err := ParseGTIDSet("11111111-2222-3333-4444-555555555555:1-3:5")
	if err != nil {
		t.Fatal(err)
	}
	if got := a.minus(b); got != "11111111-2222-3333-4444-555555555555:4:6-10:20" {
		t.Error(got)
	}
	if got := b.minus(a); got != "" {
		t.Error(got)
	}
}

func TestRangeSetSurvivesItsState(t *testing.T) {
	t.Parallel()
	tb, _ := twoColumns(t, true, true)
	edge := func(n int) mysqlrow.Edge { return edgeOf(t, tb, int64(n)) }
	rapid.Check(t, func(rt *rapid.T) {
		var s rangeSet
		var later []keyRange
		from := mysqlrow.Edge{}
		for n := -40; ; {
			gap, ok := s.gap(from)
			if !ok {
				rt.Fatalf("no gap above %v in %+v", from.Texts, s)
			}
			n += rapid.IntRange(1, 30).Draw(rt, "width")
			if len(later) < 6 {
				gap.hi = edge(n)
			}
			later = append(later, gap)
			if gap.hi.Open() {
				break
			}
			from = gap.hi
		}
		for i, r := range rapid.Permutation(later).Draw(rt, "order") {
			inside := r.hi
			if inside.Open() {
				inside = edge(1000)
			}
			if s.has([]byte(inside.Order)) {
				rt.Fatalf("%v is in %+v", inside.Texts, s)
			}
			s.add(r)
			text, err := json.Marshal(s)
			if err != nil {
				rt.Fatal(err)
			}
			var state rangeState
			if err := json.Unmarshal(text, &state); err != nil {
				rt.Fatal(err)
			}
			back, err := state.set(tb.plan)
			if err != nil {
				rt.Fatal(err)
			}
			if !s.has([]byte(inside.Order)) || !cmp.Equal(s, back, cmp.AllowUnexported(rangeSet{}, keyRange{}, mysqlrow.Edge{}), cmpopts.EquateEmpty()) {
				rt.Fatalf("%+v became %+v by %s", s, back, text)
			}
			if gap, ok := s.gap(mysqlrow.Edge{}); ok == s.all || ok && !gap.hi.Open() && s.has([]byte(gap.hi.Order)) {
				rt.Fatalf("the first gap of %+v is %+v", s, gap)
			}
			if s.all != (i == len(later)-1) {
				rt.Fatalf("%+v after %d of %d ranges", s, i+1, len(later))
			}
		}
	})
}

// TestStatesOfVersion1 goes on from states that have no range in the middle.
func TestStatesOfVersion1(t *testing.T) {
	t.Parallel()
	tb, _ := twoColumns(t, true, true)
	for text, want := range map[string]string{`{"done":true}`: `{"done":true}`, `{"edge":"0"}`: `{}`, `{"edge":"77"}`: "an earlier version of this program"} {
		var state rangeState
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			t.Fatal(err)
		}
		set, err := state.set(tb.plan)
		got, _ := json.Marshal(set)
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestEffectsOfStatements(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		kind  effect
		names []name
	}{
		{"ALTER TABLE orders ADD COLUMN x INT", altered, []name{{"shop", "orders"}}},
		{"/* tool */ alter table `other`.`or``ders` rename column a to b", altered, []name{{"other", "or`ders"}}},
		{"ALTER /*!50000 ONLINE */ TABLE IF EXISTS a.b ADD x INT", altered, []name{{"a", "b"}}},
		{"ALTER TABLE a ADD x INT, RENAME TO `other`.b", renamed, []name{{"shop", "a"}, {"other", "b"}}},
		{"ALTER TABLE a RENAME AS b, RENAME COLUMN c TO d", renamed, []name{{"shop", "a"}, {"shop", "b"}}},
		{"ALTER TABLE a RENAME = `to`", renamed, []name{{"shop", "a"}, {"shop", "to"}}},
		{"ALTER TABLE a RENAME b", renamed, []name{{"shop", "a"}, {"shop", "b"}}},
		{"ALTER TABLE a RENAME INDEX x TO y, RENAME KEY y TO z, COMMENT 'RENAME TO b'", altered, []name{{"shop", "a"}}},
		{"ALTER TABLE a RENAME", altered, []name{{"shop", "a"}}},
		{"ALTER USER x IDENTIFIED BY 'orders'", noEffect, nil},
		{"/*!40000 ALTER TABLE `orders` DISABLE KEYS */", noEffect, nil},
		{"ALTER TABLE orders enable keys", noEffect, nil},
		{"ALTER TABLE orders DISABLE KEYS, ADD x INT", altered, []name{{"shop", "orders"}}},
		{"TRUNCATE orders", truncated, []name{{"shop", "orders"}}},
		{"truncate table other.orders", truncated, []name{{"other", "orders"}}},
		{"DROP TABLE IF EXISTS a, b.c /* generated by server */", dropped, []name{{"shop", "a"}, {"b", "c"}}},
		{"DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `orders`", noEffect, nil},
		{"DROP DATABASE IF EXISTS shop", dropped, []name{{"shop", ""}}},
		{"RENAME TABLE a TO b, c TO d.e", renamed, []name{{"shop", "a"}, {"shop", "TO"}, {"shop", "b"}, {"shop", "c"}, {"shop", "TO"}, {"d", "e"}}},
		{"CREATE TABLE orders (id INT)", created, []name{{"shop", "orders"}}},
		{"CREATE OR REPLACE TABLE IF NOT EXISTS x.orders (id INT)", dropped, []name{{"x", "orders"}}},
		{"INSERT IGNORE INTO x.orders SELECT * FROM y", written, []name{{"x", "orders"}}},
		{"UPDATE a, b SET orders = 1", written, []name{{"shop", "a"}, {"shop", "b"}}},
		{"--\r\n-- x\r\nTRUNCATE\r\nTABLE orders", truncated, []name{{"shop", "orders"}}},
		{"/*M!100500 TRUNCATE TABLE orders */", truncated, []name{{"shop", "orders"}}},
		{"ALTER TABLE a DROP PARTITION IF EXISTS p0", refilled, []name{{"shop", "a"}}},
		{"ALTER TABLE a TRUNCATE PARTITION ALL", refilled, []name{{"shop", "a"}}},
		{"ALTER TABLE x.a EXCHANGE PARTITION p WITH TABLE `y`.b WITHOUT VALIDATION", refilled, []name{{"x", "a"}, {"y", "b"}}},
		{"ALTER TABLE a CONVERT PARTITION p TO TABLE b", refilled, []name{{"shop", "a"}, {"shop", "b"}}},
		{"ALTER TABLE a CONVERT TABLE x.b TO PARTITION p VALUES LESS THAN (9)", refilled, []name{{"shop", "a"}, {"x", "b"}}},
		{"ALTER TABLE a CONVERT TO CHARACTER SET utf8mb4", altered, []name{{"shop", "a"}}},
		{"ALTER TABLE a IMPORT TABLESPACE", refilled, []name{{"shop", "a"}}},
		{"ALTER TABLE a REORGANIZE PARTITION p INTO (PARTITION q VALUES LESS THAN (9))", altered, []name{{"shop", "a"}}},
		{"ALTER IGNORE TABLE a ADD UNIQUE (v)", refilled, []name{{"shop", "a"}}},
		{"ALTER TABLE a ADD COLUMN w INT, ENGINE = BLACKHOLE", refilled, []name{{"shop", "a"}}},
		{"ALTER TABLE a ENGINE=InnoDB COMMENT 'DROP PARTITION p'", altered, []name{{"shop", "a"}}},
		{"ALTER TABLE a ENGINE", altered, []name{{"shop", "a"}}},
		{"ALTER TABLE a CONVERT TABLE", refilled, []name{{"shop", "a"}}},
		{"-- ends\n", noEffect, nil},
		{"'", noEffect, nil},
		{"/*", noEffect, nil},
		{"", noEffect, nil},
	} {
		kind, names := effects(tt.text, "shop")
		if kind != tt.kind {
			t.Errorf("%q: effect %d, want %d", tt.text, kind, tt.kind)
		}
		if diff := cmp.Diff(tt.names, names, cmp.AllowUnexported(name{})); diff != "" {
			t.Errorf("%q: %s", tt.text, diff)
		}
	}
}

// TestSessions brings statements of any session into one form.
func TestSessions(t *testing.T) {
	t.Parallel()
	const ansi, noBackslash = modeANSIQuotes, modeNoBackslash
	for _, tt := range []struct {
		mode       uint64
		text, want string
	}{
		{0, `ALTER TABLE t COMMENT 'it\'s \\'`, `ALTER TABLE t COMMENT 'it\'s \\'`},
		{noBackslash, `ALTER TABLE t COMMENT 'c:\', RENAME TO u`, `ALTER TABLE t COMMENT 'c:\\', RENAME TO u`},
		{noBackslash, "ALTER TABLE `a\\` COMMENT 'x''\\'", "ALTER TABLE `a\\` COMMENT 'x''\\\\'"},
		{ansi, `ALTER TABLE "a\" COMMENT 'it\'s'`, `ALTER TABLE "a\\" COMMENT 'it\'s'`},
		{noBackslash, `'\`, `'\\`},
	} {
		if got := (session{mode: tt.mode}).plain(tt.text); got != tt.want {
			t.Errorf("%s under %d: got %s, want %s", tt.text, tt.mode, got, tt.want)
		}
	}
	for text, want := range map[string]string{
		"SET STATEMENT max_statement_time=1, lock_wait_timeout=9 FOR TRUNCATE TABLE a": " TRUNCATE TABLE a",
		"set /* x */ statement a='FOR' for alter table a add b int":                    " alter table a add b int",
		"SET STATEMENT a=1": "SET STATEMENT a=1", "SET @a = 1": "SET @a = 1", "SET": "SET", "TRUNCATE a": "TRUNCATE a",
	} {
		if got := withoutSettings(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	vars := []byte{0, 1, 2, 3, 4, 1, 0, 0, 0x70, 0, 0, 0, 0, 0, 6, 3, 's', 't', 'd', 3, 1, 0, 1, 0, 4, 28, 0, 45, 0, 8, 0, 5, 3, 'U', 'T', 'C', 128, 1, 2, 3}
	if got := sessionOf(vars); got.charset != 28 || !got.strict() || got.mode&noBackslash == 0 {
		t.Errorf("%+v", got)
	}
	for n := range vars {
		sessionOf(vars[:n]) // shortened, it must not fail
	}
}

func FuzzEffects(f *testing.F) {
	f.Add("ALTER TABLE `a`.b ADD x INT /*! c */", "d")
	f.Fuzz(func(_ *testing.T, text, schema string) {
		effects(withoutSettings(session{mode: modeNoBackslash}.plain(text)), schema)
	})
}

func TestQueueIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	q := newQueue(1000)
	ctx := t.Context()
	big := event{kind: evRows, rows: mysqlrow.Rows{Data: make([]byte, 5000)}}
	if err := q.put(ctx, big); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- q.put(ctx, event{kind: evCommit}) }()
	select {
	case err := <-done:
		t.Fatalf("the queue takes more than its limit: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	<-q.ready
	if got := q.take(nil); len(got) != 1 || got[0].kind != evRows {
		t.Fatalf("took %d events", len(got))
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	<-q.ready
	if got := q.take(nil); len(got) != 1 || got[0].kind != evCommit {
		t.Fatalf("took %d events", len(got))
	}
}

func TestPayloadHeadIsBounded(t *testing.T) {
	t.Parallel()
	good := []byte{1, 1, 3, 2, 1, 0, 3, 1, 9, 0, 'a', 'b', 'c'}
	p, err := readPayload(bytes.NewReader(good))
	if err != nil || string(good[p.at:]) != "abc" || p.compression != 0 || p.size != 9 {
		t.Fatalf("%+v %v", p, err)
	}
	for n := range len(good) - 3 {
		if _, err := readPayload(bytes.NewReader(good[:n])); err == nil {
			t.Errorf("%d bytes are taken", n)
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		version string
		want    bool
	}{{"8.0.36-debian", false}, {"8.2.0", true}, {"8.4.1", true}, {"9.7.4-2", true}, {"5.7.44", false}, {"x", false}} {
		if got := versionAtLeast(tt.version, 8, 2); got != tt.want {
			t.Errorf("%s: %v", tt.version, got)
		}
	}
}
