package configs

import (
	"strings"
	"testing"
	"time"

	"leat/internal/diag"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	good := map[string]time.Duration{
		"5": 5 * time.Millisecond, "10 s": 10 * time.Second, "120s": 2 * time.Minute, "1M": time.Minute, "2 days": 48 * time.Hour,
		"250ms": 250 * time.Millisecond, " 3 h ": 3 * time.Hour, "7ns": 7, "9 micros": 9 * time.Microsecond,
	}
	for in, want := range good {
		if got, err := ParseDuration(in); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-1 s", "1.5 s", "1 h 30 min", "PT1H", "3 weeks", "4 us", "99999999999999 d"} {
		if got, err := ParseDuration(in); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", in, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	good := map[string]int64{"7": 7, "64 kb": 64 << 10, "256mb": 256 << 20, "1G": 1 << 30, "2 kibibytes": 2048, "3 bytes": 3}
	for in, want := range good {
		if got, err := ParseSize(in); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-1 mb", "1.5 mb", "1 mib", "99999999999 tb"} {
		if got, err := ParseSize(in); err == nil {
			t.Errorf("ParseSize(%q) = %v, want an error", in, got)
		}
	}
}

func TestFormatRoundTrip(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, 1, time.Millisecond, 90 * time.Second, 48 * time.Hour, 1500 * time.Microsecond} {
		if got, err := ParseDuration(FormatDuration(d)); err != nil || got != d {
			t.Errorf("duration %v reads back as %v, %v", d, got, err)
		}
	}
	for _, n := range []int64{0, 1, 1023, 1024, 192 << 20, 5 << 40} {
		if got, err := ParseSize(FormatSize(n)); err != nil || got != n {
			t.Errorf("size %d reads back as %d, %v", n, got, err)
		}
	}
}

func TestCheckFindings(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, key, value string
		set              *Set
		wantErr          string
		wantCode         diag.Code
		wantHint         string
		wantNotice       string
	}{
		{name: "typo", set: Session, key: "execution.checkpointing.intervall", value: "1 s", wantErr: "no such option", wantCode: diag.CodeUnknownOption, wantHint: "'execution.checkpointing.interval'"},
		{name: "bad duration", set: Session, key: "execution.checkpointing.interval", value: "bogus", wantErr: "not a duration", wantCode: diag.CodeBadOption, wantHint: "the default is '10 s'"},
		{name: "too short", set: Session, key: "execution.checkpointing.interval", value: "99 ms", wantErr: "at least 100 ms", wantCode: diag.CodeBadOption},
		{name: "two at a time", set: Session, key: "execution.checkpointing.max-concurrent-checkpoints", value: "2", wantErr: "only 1", wantCode: diag.CodeBadOption},
		{name: "old name", set: Session, key: "state.backend", value: "rocksdb", wantNotice: "no keyed state"},
		{name: "family", set: Session, key: "taskmanager.numberOfTaskSlots", value: "2", wantNotice: "one process"},
		{name: "known to Flink", set: Session, key: "table.optimizer.join-reorder-enabled", value: "true", wantNotice: "known to Flink"},
		{name: "refused word", set: LakeTable, key: "file.format", value: "csv", wantErr: "not run by this version", wantCode: diag.CodeRefusedOption, wantHint: "write 'parquet'"},
		{name: "bad word", set: LakeTable, key: "file.format", value: "parqet", wantErr: "is not one of", wantCode: diag.CodeBadOption, wantHint: "write 'parquet'"},
		{name: "dead key", set: LakeTable, key: "write-mode", value: "append-only", wantNotice: "removed"},
		{name: "good", set: LakeTable, key: "bucket", value: "16"},
		{name: "no buckets", set: LakeTable, key: "bucket", value: "0", wantErr: "must be -1", wantCode: diag.CodeBadOption},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			notices, errs := c.set.Check(Values{c.key: {Text: c.value}}, CheckOptions{})
			if c.wantErr == "" && len(errs) > 0 {
				t.Fatalf("unexpected error: %v", errs)
			}
			if c.wantErr != "" {
				if len(errs) != 1 {
					t.Fatalf("got %d errors, want 1: %v", len(errs), errs)
				}
				e := errs[0]
				if !strings.Contains(e.Msg, c.wantErr) || e.Code != c.wantCode || !strings.Contains(e.Hint, c.wantHint) || e.Hint == "" {
					t.Errorf("got %v (do: %s), want code %v, text %q, hint %q", e, e.Hint, c.wantCode, c.wantErr, c.wantHint)
				}
			}
			if c.wantNotice != "" && (len(notices) != 1 || !strings.Contains(notices[0].Msg, c.wantNotice)) {
				t.Errorf("got notices %v, want %q", notices, c.wantNotice)
			}
		})
	}
}

func TestContradictingNames(t *testing.T) {
	t.Parallel()
	v := Values{"execution.checkpointing.dir": {Text: "/a"}, "state.checkpoints.dir": {Text: "/b"}}
	if _, errs := Session.Check(v, CheckOptions{}); len(errs) != 1 || !strings.Contains(errs[0].Msg, "contradicts") {
		t.Fatalf("got %v, want one contradiction", errs)
	}
	v["state.checkpoints.dir"] = Value{Text: "/a"}
	if _, errs := Session.Check(v, CheckOptions{}); len(errs) != 0 {
		t.Fatalf("equal values under two names: %v", errs)
	}
}

func TestEveryDefaultIsValid(t *testing.T) {
	t.Parallel()
	for _, s := range []*Set{Session, LakeTable, Catalog} {
		for _, d := range s.Defs() {
			if d.NoDefault || d.check == nil || d.Default == "" {
				continue
			}
			if err := d.check(d.Default); err != nil {
				t.Errorf("%s: default of %s: %v", s.What, d.Key, err)
			}
			if d.Text == "" {
				t.Errorf("%s: %s has no text", s.What, d.Key)
			}
		}
	}
}

func TestParseZone(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{"UTC": 0, "GMT+08:00": 8 * 3600, "UTC+8": 8 * 3600, "-05:30": -(5*3600 + 30*60), "Asia/Shanghai": 8 * 3600} {
		loc, err := ParseZone(in)
		if err != nil {
			t.Errorf("ParseZone(%q): %v", in, err)
			continue
		}
		if _, off := time.Date(2026, 1, 1, 0, 0, 0, 0, loc).Zone(); off != want {
			t.Errorf("ParseZone(%q) has offset %d, want %d", in, off, want)
		}
	}
	for _, in := range []string{"CST", "", "Mars/Olympus", "EST"} {
		if _, err := ParseZone(in); err == nil {
			t.Errorf("ParseZone(%q) is accepted", in)
		}
	}
}
