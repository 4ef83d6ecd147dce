package expr

import "time"

// zone converts between instants and wall clocks, remembering the offset of the
// last period between two changes of the clocks.
type zone struct {
	loc        *time.Location
	start, end int64 // seconds of the instants for which offset holds
	offset     int64
	known      bool
}

// offsetAt gives the offset east of UTC, in seconds, at an instant.
func (z *zone) offsetAt(instant int64) int64 {
	if z.known && instant >= z.start && instant < z.end {
		return z.offset
	}
	t := time.Unix(instant, 0).In(z.loc)
	_, off := t.Zone()
	from, to := t.ZoneBounds()
	z.start, z.end = -1<<62, 1<<62
	if !from.IsZero() {
		z.start = from.Unix()
	}
	if !to.IsZero() {
		z.end = to.Unix()
	}
	z.offset, z.known = int64(off), true
	return z.offset
}

// instant gives the instant at which clocks show local. A wall clock that comes
// twice is the earlier instant; one that is left out counts on from before the gap.
func (z *zone) instant(local int64) int64 {
	if z.loc == time.UTC {
		return local
	}
	// Away from a change the offset a day earlier and a day later are the same.
	before := z.offsetAt(local - secondsPerDay)
	change := z.end
	if local+secondsPerDay < change {
		return local - before
	}
	after := z.offsetAt(local + secondsPerDay)
	if before == after || local-before < change || local-after < change {
		return local - before
	}
	return local - after
}
