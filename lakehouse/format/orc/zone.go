package orc

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// zone is the time zone of a stripe's writer. TIMESTAMP columns hold instants
// counted from 2015-01-01T00:00:00 there, and mean the wall clock that the
// writer saw.
type zone struct {
	// base is that start in seconds since 1970 UTC.
	base int64
	// location is nil for UTC.
	location *time.Location
	// raw is the zone's standard offset, which Java takes for all times before 1900.
	raw int64
	// from, to and at cache the last answer: the offset at holds from from to to-1.
	from, to, at int64
}

// javaEpoch is the start of 1900 UTC, from when on Java's zones have a history.
const javaEpoch = -2208988800

// javaIDs are the three-letter names of Java that the time zone database lacks.
var javaIDs = map[string]string{
	"ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
	"ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
	"CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
	"EAT": "Africa/Addis_Ababa", "IET": "America/Indiana/Indianapolis",
	"ECT": "Europe/Paris", //nolint:misspell // A name of Java.
	"IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan",
	"NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico",
	"PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
}

// newZone finds a zone by the name that a writer gave; "" is UTC.
func newZone(name string) (*zone, error) {
	switch name {
	case "", "UTC", "GMT", "Z", "UCT", "Zulu", "Etc/UTC", "Etc/GMT", "Etc/UCT":
		return &zone{base: baseSeconds}, nil
	}
	loc, err := location(name)
	if err != nil {
		return nil, err
	}
	z := &zone{location: loc}
	z.base = time.Date(2015, time.January, 1, 0, 0, 0, 0, loc).Unix()
	for _, month := range []time.Month{time.January, time.July} {
		t := time.Date(2024, month, 1, 0, 0, 0, 0, loc)
		if _, off := t.Zone(); !t.IsDST() {
			z.raw = int64(off)
		}
	}
	return z, nil
}

func location(name string) (*time.Location, error) {
	if id, ok := javaIDs[name]; ok {
		name = id
	}
	if off, ok := fixedOffset(name); ok {
		return time.FixedZone(name, off), nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("the writer's time zone %q: %w", name, &UnsupportedError{Feature: "that time zone"})
	}
	return loc, nil
}

// fixedOffset reads GMT+8, GMT-03:30, UTC+01:00 and +08:00.
func fixedOffset(name string) (seconds int, ok bool) {
	rest := name
	for _, prefix := range []string{"GMT", "UTC", "UT"} {
		if r, found := strings.CutPrefix(name, prefix); found {
			rest = r
			break
		}
	}
	if len(rest) < 2 || rest[0] != '+' && rest[0] != '-' {
		return 0, false
	}
	hours, minutes, _ := strings.Cut(rest[1:], ":")
	h, err := strconv.Atoi(hours)
	if err != nil || h > 23 {
		return 0, false
	}
	m := 0
	if minutes != "" {
		if m, err = strconv.Atoi(minutes); err != nil || m > 59 {
			return 0, false
		}
	}
	if seconds = h*3600 + m*60; rest[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// offset gives how far the wall clock is ahead of UTC at sec.
func (z *zone) offset(sec int64) int64 {
	if sec >= z.from && sec < z.to {
		return z.at
	}
	if sec < javaEpoch {
		return z.raw
	}
	t := time.Unix(sec, 0).In(z.location)
	_, off := t.Zone()
	start, end := t.ZoneBounds()
	z.at, z.from, z.to = int64(off), javaEpoch, 1<<62
	if !start.IsZero() {
		z.from = max(javaEpoch, start.Unix())
	}
	if !end.IsZero() {
		z.to = end.Unix()
	}
	return z.at
}
