package sqlfront

import (
	"fmt"
	"strconv"
	"strings"
)

// timeFields are the fields of intervals in seconds, largest first.
var timeFields = []struct {
	unit    string
	seconds int64
}{{"DAY", 86400}, {"HOUR", 3600}, {"MINUTE", 60}, {"SECOND", 1}}

// readInterval reads the text of an interval. problem is empty if it is one. A
// negative interval with a fraction has its nanoseconds counted upwards from the
// next lower second, so that they are never negative.
func readInterval(text string, unit IntervalUnit) (months, seconds int64, nanos int32, problem string) {
	digits, negative := strings.CutPrefix(text, "-")
	if !negative {
		digits = strings.TrimPrefix(text, "+")
	}
	lead := unit.Lead
	if lead == 0 {
		lead = 2
	}
	switch unit.To {
	case "MONTH":
		years, rest, ok := strings.Cut(digits, "-")
		y, m := intervalField(years, lead), intervalField(rest, 2)
		if !ok || y < 0 || m < 0 || m > 11 {
			return 0, 0, 0, "it needs years-months, months up to 11"
		}
		months = y*12 + m
	case "":
		months, seconds, nanos, problem = singleField(digits, unit.From, lead)
	default:
		seconds, nanos, problem = timeRange(digits, unit, lead)
	}
	if negative && problem == "" {
		months, seconds = -months, -seconds
		if nanos > 0 {
			seconds, nanos = seconds-1, 1_000_000_000-nanos
		}
	}
	return months, seconds, nanos, problem
}

// intervalField reads up to n digits; -1 if it is no such number.
func intervalField(s string, n int) int64 {
	if !isDigits(s) || len(strings.TrimLeft(s, "0")) > n {
		return -1
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return v
}

func singleField(digits, unit string, lead int) (months, seconds int64, nanos int32, problem string) {
	whole, fraction, hasFraction := strings.Cut(digits, ".")
	n := intervalField(whole, lead)
	if n < 0 {
		return 0, 0, 0, fmt.Sprintf("it needs a number of at most %d digits", lead)
	}
	if hasFraction {
		if unit != "SECOND" || !isDigits(fraction) || len(fraction) > 9 {
			return 0, 0, 0, "only seconds have a fraction, of at most 9 digits"
		}
		nanos = fractionNanos(fraction)
	}
	switch unit {
	case "YEAR":
		months = n * 12
	case "QUARTER":
		months = n * 3
	case "MONTH":
		months = n
	case "WEEK":
		seconds = n * 7 * 86400
	}
	for _, f := range timeFields {
		if f.unit == unit {
			seconds = n * f.seconds
		}
	}
	return months, seconds, nanos, ""
}

// timeRange reads d h:m:s from the field From to the field To.
func timeRange(digits string, unit IntervalUnit, lead int) (seconds int64, nanos int32, problem string) {
	rest := digits
	var fields []int64
	from := intervalRank[unit.From]
	to := intervalRank[unit.To]
	for rank := from; rank <= to; rank++ {
		separator := ":"
		if rank == intervalRank["DAY"] {
			separator = " "
		}
		field := rest
		if rank < to {
			var ok bool
			if field, rest, ok = strings.Cut(rest, separator); !ok {
				return 0, 0, "a field is missing"
			}
		} else if rank == intervalRank["SECOND"] {
			var fraction string
			var ok bool
			if field, fraction, ok = strings.Cut(field, "."); ok {
				if !isDigits(fraction) || len(fraction) > 9 {
					return 0, 0, "a fraction has at most 9 digits"
				}
				nanos = fractionNanos(fraction)
			}
		}
		size := 2
		if rank == from {
			size = lead
		}
		n := intervalField(field, size)
		if n < 0 || rank > from && n >= map[bool]int64{true: 24, false: 60}[rank == intervalRank["HOUR"]] {
			return 0, 0, "the field '" + field + "' is out of range"
		}
		fields = append(fields, n)
	}
	for i, n := range fields {
		seconds += n * timeFields[from-intervalRank["DAY"]+i].seconds
	}
	return seconds, nanos, ""
}

// fractionNanos reads up to nine digits behind the point.
func fractionNanos(fraction string) int32 {
	n, _ := strconv.Atoi((fraction + "000000000")[:9])
	return int32(n)
}
